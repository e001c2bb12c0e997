# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations, transposes, copies and reductions of rows."""
