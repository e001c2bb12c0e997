# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted times of tiles and of what is beside them."""
