# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An empty Python module for each dialect that the compiler's package has none for.

To hand out an operation, MLIR's bindings import the Python module of its dialect. A module that
exists is imported once. One that does not is searched for again at every operation, in all of
Python's import paths, 0.05 to 0.3 ms each time (`lookupOperationClass` in MLIR's
`lib/Bindings/Python/Globals.cpp`). With an empty module an operation is the same plain `OpView`.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

_PACKAGE = "iree.compiler.dialects"
_NAMES = (
    *("bufferization", "hal", "iree_encoding", "iree_linalg_ext", "iree_vector_ext", "nvgpu"),
    *("stream", "ub", "util"),
)
"""Dialects that have no module in some version of the compiler's package."""


def add_empty_modules() -> None:
    """Adds the modules that are missing; changes nothing when it is called again."""
    for name in _NAMES:
        module = f"{_PACKAGE}.{name}"
        if module not in sys.modules and importlib.util.find_spec(module) is None:
            sys.modules[module] = ModuleType(module)
