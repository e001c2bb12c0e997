# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs compiled gfx9 kernels, from their assembly text, on NumPy arrays."""
