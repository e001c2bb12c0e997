# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How matmuls are spread over workgroups, warps and lanes."""
