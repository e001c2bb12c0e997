# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights as a file of parameters, in the format of safetensors, which IREE's runtime reads."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from pathlib import Path

from .exported import ModelInput

_TYPES = {"f16": ("F16", 2), "bf16": ("BF16", 2), "f32": ("F32", 4)}
_ALIGNMENT = 64
"""Of the header's end, and so of every tensor whose bytes are a multiple of it."""


def write_parameters(path: Path, weights: Sequence[ModelInput]) -> None:
    """Writes weights, each drawn from its seed.

    Raises:
        OSError: the file cannot be written.
    """
    header: dict[str, dict[str, object]] = {}
    end = 0
    for each in weights:
        *shape, dtype = each.operand.split("x")
        kind, size = _TYPES[dtype]
        start, end = end, end + size * math.prod(map(int, shape))
        header[each.name] = {
            "dtype": kind,
            "shape": [*map(int, shape)],
            "data_offsets": [start, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for each in weights:
            file.write(each.data())
