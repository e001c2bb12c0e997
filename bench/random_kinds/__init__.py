# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of the kinds that IREE 3.13 computes wrongly, a file for related kinds."""
