# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions, matmuls and masks of a program, before IREE forms dispatches."""
