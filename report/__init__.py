# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is shown of a kernel: its contents once, and a renderer for each format."""
