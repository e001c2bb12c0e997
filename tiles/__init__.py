# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tile without a kernel: what its accesses cost, and its best layout in all notations."""
