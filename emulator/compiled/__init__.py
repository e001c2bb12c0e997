# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code of the hot parts of a kernel; `regions.py` says how it is made and when it runs."""
