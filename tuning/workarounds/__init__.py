# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What IREE 3.13 has wrong, or does not do: a file per defect."""
