# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Digests of tables that are too long to be kept."""

from __future__ import annotations

import hashlib
import json


def digest(numbers: object) -> str:
    """Returns a digest of nested lists of numbers."""
    return hashlib.sha256(json.dumps(numbers).encode()).hexdigest()[:16]
