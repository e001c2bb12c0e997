# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bankwise: conflict-free shared-memory layouts as MLIR passes inside an IREE compile."""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

# This is what `typing` has, whose import takes as long as all else before a tool can hear a signal.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .iree_plugin.compile import compile
    from .iree_plugin.pipeline_edit import PipelineEdit
    from .iree_plugin.stepped_compile import CompileError

__all__ = ["CompileError", "PipelineEdit", "__version__", "compile"]

_HOMES = {
    "CompileError": ".iree_plugin.stepped_compile",
    "PipelineEdit": ".iree_plugin.pipeline_edit",
    "compile": ".iree_plugin.compile",
}


def __getattr__(name: str) -> Any:
    # The compiler's shared library is 330 MB: it is loaded by the first name that needs it.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
