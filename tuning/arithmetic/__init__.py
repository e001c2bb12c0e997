# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic of vectors by the instructions that a GPU has for it."""
