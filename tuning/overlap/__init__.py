# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies and loads that run while the matrix units work on earlier ones."""
