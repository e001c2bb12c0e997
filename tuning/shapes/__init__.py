# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions and contractions of sizes that IREE's own rules do not divide."""
