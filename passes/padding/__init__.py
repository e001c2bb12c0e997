# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paddings of LDS tiles, where no swizzle is chosen, and warnings where there is neither."""
