# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How buffers in memory flow through a function, and who accesses which of their elements."""
