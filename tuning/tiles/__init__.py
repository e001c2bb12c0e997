# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all choices of tiles have in common."""
