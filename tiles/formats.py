# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of formats and of kinds of pictures."""

FORMATS = ("text", "json", "markdown", "html")
"""Formats of an answer about a tile."""
PICTURES = ("banks", "lanes")
"""Pictures of the whole tile: by the bank of each element, or by the lane of each word."""
