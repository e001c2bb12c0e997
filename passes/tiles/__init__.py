# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tile that a workgroup computes of an attention or a contraction."""
