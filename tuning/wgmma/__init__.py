# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products by `wgmma`, which reads from the LDS itself."""
