# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits that give a function a tile of our choice, and a pass that asks what tiles are to take.

Both stand where `bankwise-retile` does in the mode whose tiles are tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from iree.compiler import ir
from iree.compiler.api import Session

from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...iree_plugin.mitigation import mitigation_edits
from ...iree_plugin.python_compile import compile, open_source, settings_of
from ...iree_plugin.stepped_compile import SteppedCompile
from ...passes.base import FunctionPass, PassContext
from ...passes.mode import Mode
from ...passes.pipeline_edit import PipelineEdit
from ...sweep.cases import target_flags
from ...tuning.forced_tile import ForceTile
from ...tuning.retile import Retile, tiled_operation
from ...tuning.tiles.tile_choice import tile_time
from .pairs import TiledKernel, Tiling


class TileError(RuntimeError):
    """A tile that a kernel cannot have; the message says why."""


@dataclass(frozen=True)
class PredictTiles(FunctionPass):
    """Asks what tiles are predicted to take, and changes nothing.

    Attributes:
        retile: the pass whose predictions are wanted.
        tiles: the tiles to ask for.
        microseconds: the answers, in the order of `tiles`; infinite for what does not fit.
    """

    name: ClassVar[str] = "bench-predict-tiles"
    summary: ClassVar[str] = "say what tiles are predicted to take"

    retile: Retile
    tiles: tuple[Tiling, ...]
    microseconds: list[float] = field(default_factory=list, compare=False)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Predicts the times of all tiles."""
        function = function.operation
        try:
            operation = tiled_operation(function)
            circumstances = self.retile.circumstances(function, context)
        except Refusal as refusal:
            raise PassFailure(function.location, refusal.reason) from refusal
        if operation is None or circumstances is None:
            raise PassFailure(function.location, "the model knows neither operation nor GPU")
        self.microseconds.extend(tile_time(operation, each, circumstances) for each in self.tiles)


def _edit_of(mode: str) -> tuple[PipelineEdit, Retile]:
    """Returns the edit that replaces tiles in a mode, and its pass."""
    for edit in mitigation_edits(Mode.parse(mode)):
        for step in edit.loaded_passes:
            if isinstance(step, Retile):
                return edit, step
    raise ValueError(f"mode {mode} replaces no tiles")


def forcing_edits(mode: str, force: ForceTile) -> list[PipelineEdit]:
    """Returns the edits that force a tile beside those of a mode."""
    edit, _ = _edit_of(mode)
    return [replace(edit, passes=(force,), optional=False)]


def compile_tiled(kernel: TiledKernel, tile: Tiling, target: str, mode: str) -> bytes:
    """Returns a kernel's module with a tile.

    Raises:
        TileError: the kernel cannot have it.
        CompileError: the kernel does not compile with it.
    """
    force = ForceTile(tile)
    edits = forcing_edits(mode, force)
    vmfb = compile(kernel.kernel.source(), target_flags(target), mode, edits=edits)
    if force.refusals:
        raise TileError(force.refusals[0])
    return vmfb


def predicted_microseconds(
    kernel: TiledKernel, tiles: Sequence[Tiling], target: str, mode: str
) -> list[float]:
    """Returns what tiles of a kernel are predicted to take in a mode.

    Raises:
        CompileError: the model knows nothing of the kernel, or it does not compile.
    """
    edit, retile = _edit_of(mode)
    asking = PredictTiles(retile, tuple(tiles))
    edits = [replace(edit, passes=(asking,), optional=False)]
    flags, session = target_flags(target), Session()
    session.set_flags(*flags)
    try:
        with SteppedCompile(session, settings_of(flags, "stock"), edits, console=False) as steps:
            # Of the code that would follow nothing is asked.
            steps.replay(steps.configured_module(open_source(session, kernel.kernel.source())))
    finally:
        session.close()
    return asking.microseconds
