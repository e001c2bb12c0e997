# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products that are distributed to lanes, and how their indices are renamed."""
