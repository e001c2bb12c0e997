# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Typed, immutable views of IREE and MLIR attributes and ops, and small rewriting helpers."""
