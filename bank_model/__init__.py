# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hardware truth and mathematics of LDS banks. NumPy only, no MLIR."""
