# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the dimensions of a function's vectors have to do with each other, before distribution."""
