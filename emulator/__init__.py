# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs compiled kernels of CDNA and RDNA, from their assembly text, on NumPy arrays."""
