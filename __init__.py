# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bankwise: conflict-free shared-memory layouts as MLIR passes inside an IREE compile.

`compile` and `decisions` work on MLIR. `solve`, `count` and `targets` work on one tile and its
accesses, whoever's kernel it is in, and load no compiler. Neither does `run_assembly`, which runs
anybody's AMD kernel from its assembly. All that can go wrong as a kernel runs is an
`EmulationError`: `LaunchError`, `GlobalAccessError`, `LdsRaceError` and the others derive from it.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.2.0"

# This is what `typing` has, whose import takes as long as all else before a tool can hear a signal.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .bank_model.accesses import LdsAccess, LdsTile
    from .emulator.emulation_errors import (
        EmulationError,
        GlobalAccessError,
        LaunchError,
        LdsAddressError,
        LdsRaceError,
        MissingWaitError,
        StepLimitError,
        UndefinedReadError,
        UnknownInstructionError,
    )
    from .emulator.instruction_text import AssemblyError
    from .iree_plugin.python_compile import compile
    from .iree_plugin.stepped_compile import CompileError
    from .passes.pipeline_edit import PipelineEdit
    from .report.compile_decisions import decisions
    from .runtime.argument_values import ArgumentError, LdsBytes
    from .runtime.assembly_run import AssemblyRun, run_assembly
    from .tiles.answers import TileCount, TileSolution
    from .tiles.solve import count, solve, targets
    from .tiles.tile_errors import TileArgumentError

__all__ = [
    "ArgumentError",
    "AssemblyError",
    "AssemblyRun",
    "CompileError",
    "EmulationError",
    "GlobalAccessError",
    "LaunchError",
    "LdsAccess",
    "LdsAddressError",
    "LdsBytes",
    "LdsRaceError",
    "LdsTile",
    "MissingWaitError",
    "PipelineEdit",
    "StepLimitError",
    "TileArgumentError",
    "TileCount",
    "TileSolution",
    "UndefinedReadError",
    "UnknownInstructionError",
    "__version__",
    "compile",
    "count",
    "decisions",
    "run_assembly",
    "solve",
    "targets",
]

_HOMES = {
    "ArgumentError": ".runtime.argument_values",
    "AssemblyError": ".emulator.instruction_text",
    "AssemblyRun": ".runtime.assembly_run",
    "CompileError": ".iree_plugin.stepped_compile",
    "EmulationError": ".emulator.emulation_errors",
    "GlobalAccessError": ".emulator.emulation_errors",
    "LaunchError": ".emulator.emulation_errors",
    "LdsAccess": ".bank_model.accesses",
    "LdsAddressError": ".emulator.emulation_errors",
    "LdsBytes": ".runtime.argument_values",
    "LdsRaceError": ".emulator.emulation_errors",
    "LdsTile": ".bank_model.accesses",
    "MissingWaitError": ".emulator.emulation_errors",
    "PipelineEdit": ".passes.pipeline_edit",
    "StepLimitError": ".emulator.emulation_errors",
    "TileArgumentError": ".tiles.tile_errors",
    "TileCount": ".tiles.answers",
    "TileSolution": ".tiles.answers",
    "UndefinedReadError": ".emulator.emulation_errors",
    "UnknownInstructionError": ".emulator.emulation_errors",
    "compile": ".iree_plugin.python_compile",
    "count": ".tiles.solve",
    "decisions": ".report.compile_decisions",
    "run_assembly": ".runtime.assembly_run",
    "solve": ".tiles.solve",
    "targets": ".tiles.solve",
}


def __getattr__(name: str) -> Any:
    # The compiler's shared library is 330 MB: it is loaded by the first name that needs it.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
