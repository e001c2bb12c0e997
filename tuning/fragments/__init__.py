# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fragments that lanes hold of matrix operands: how they are kept and ordered."""
