# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How tiles are copied from global memory to the LDS."""
