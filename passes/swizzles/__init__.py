# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swizzles of LDS tiles: choosing them, carrying them as hints, and resolving the hints."""
