# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the indices of contractions that are distributed to lanes already are renamed."""
