# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One kernel with one of several tiles, to be compiled and timed by somebody else.

`bankwise-retile` asks for the times while it runs. Each kernel becomes an executable of its own,
as text, in the configuration that it had before any pass of ours ran on it. Who predicts its time
compiles that text in the same mode, with the tile forced in the place of that pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from iree.compiler import ir

from .. import __version__
from ..dialect_utils.diagnostics import Refusal
from ..dialect_utils.element_types import element_bits
from ..dialect_utils.operations import (
    children,
    defining_operation,
    operations_in,
    parents_of,
    symbol_of,
)
from ..passes.tile_times import AnyTile, TileTime
from .compile_settings import AFTER_LLVM, BEFORE_CODEGEN, CompileSettings
from .embedding import compiler_version
from .forced_tile import ForceTile
from .pipeline_edit import PipelineEdit
from .plugins import installed_plugins
from .recording import codegen_flags

_SUBSPAN, _CONSTANT = "hal.interface.binding.subspan", "hal.interface.constant.load"
_EXECUTABLE, _VARIANT, _FUNCTION = "hal.executable", "hal.executable.variant", "func.func"
_ROOMS = ("bank_model", "dialect_utils", "emulator", "iree_plugin", "passes", "runtime")
"""What a kernel's code, and the prediction of its time, depend on."""


@dataclass(frozen=True)
class TileCandidate:
    """A kernel whose time with one tile is wanted.

    Attributes:
        executable: the text of its executable, configured by IREE.
        function: its name there.
        tile: the tile.
        settings: how it is compiled, up to the LLVM dialect.
        flags: the flags of the compiler's session.
        edits: what is spliced in beside the edits of the mode and of installed plugins.
        bindings: the bytes of the buffers that it is given.
        constants: how many 32-bit values it is given beside them, which may all be zero.
    """

    executable: str
    function: str
    tile: AnyTile
    settings: CompileSettings
    flags: tuple[str, ...]
    edits: Sequence[PipelineEdit]
    bindings: tuple[int, ...]
    constants: int

    @property
    def force(self) -> ForceTile:
        """Returns a new pass that gives the function the tile."""
        return ForceTile(self.tile, self.function)

    @property
    def key(self) -> str:
        """Returns all that the kernel's code and its predicted time depend on, as one text."""
        settings = self.settings
        edits = [
            (each.anchor, each.position.name, [str(step) for step in each.passes])
            for each in (*installed_plugins(), *self.edits)
        ]
        depends = (
            *(__version__, _sources(), compiler_version(), str(settings.mode)),
            *(settings.process_flags, edits, self.function, repr(self.tile), self.executable),
        )
        return repr(depends)


TilePredictor = Callable[[TileCandidate], TileTime]
"""Predicts what a kernel takes. Raises a Refusal that says why it cannot."""


@dataclass(frozen=True)
class TileSearch:
    """Has the kernels of a compile timed.

    Attributes:
        predictor: predicts their times.
        settings, flags, edits: how they are compiled, as for `TileCandidate`.
    """

    predictor: TilePredictor
    settings: CompileSettings
    flags: tuple[str, ...]
    edits: Sequence[PipelineEdit]

    def times(
        self, function: ir.Operation, before: ir.Operation, tiles: Sequence[AnyTile]
    ) -> list[TileTime | Refusal]:
        """Returns what a function takes with each of the tiles, or why that is not known.

        Args:
            before: the function before any pass of ours ran on it.

        Raises:
            Refusal: it is not known of what size its buffers are.
        """
        settings = CompileSettings(
            mitigation=self.settings.mitigation,
            level=self.settings.level,
            compile_from=BEFORE_CODEGEN,
            compile_to=AFTER_LLVM,
            verify=self.settings.verify,
            process_flags=codegen_flags(self.settings.process_flags),
        )
        text, name = _executable_of(function, before), symbol_of(function)
        buffers = (_binding_bytes(before), len(operations_in(before, _CONSTANT)))
        kernels = (
            TileCandidate(text, name, each, settings, self.flags, self.edits, *buffers)
            for each in tiles
        )
        return [self._time(each) for each in kernels]

    def _time(self, kernel: TileCandidate) -> TileTime | Refusal:
        try:
            return self.predictor(kernel)
        except Refusal as refusal:
            return refusal


def _executable_of(function: ir.Operation, before: ir.Operation) -> str:
    """Returns the text of an executable that has one variant, and a function as it was before."""
    around = {each.name: each for each in parents_of(function)}
    executable = around[_EXECUTABLE].clone(ip=False).operation  # pyright: ignore[reportArgumentType]
    # One that nobody refers to would be dropped.
    if "sym_visibility" in executable.attributes:
        del executable.attributes["sym_visibility"]
    wanted = symbol_of(around[_VARIANT])
    for variant in children(executable):
        if variant.name == _VARIANT and symbol_of(variant) != wanted:
            variant.erase()
    for copy in operations_in(executable, _FUNCTION):
        if symbol_of(copy) == symbol_of(function):
            block = copy.block
            copy.erase()
            block.append(before.clone(ip=False))  # pyright: ignore[reportArgumentType]
            break
    return executable.get_asm(use_local_scope=True)


def _binding_bytes(function: ir.Operation) -> tuple[int, ...]:
    """Returns the bytes of the buffers that a function is given, in the order of their numbers.

    Raises:
        Refusal: the program computes one of them.
    """
    found: dict[int, int] = {}
    for subspan in operations_in(function, _SUBSPAN):
        number = ir.IntegerAttr(subspan.attributes["binding"]).value
        kind = subspan.results[0].type
        if not isinstance(kind, ir.MemRefType) or not kind.has_static_shape:
            raise Refusal(f"a buffer of it is a {kind}")
        bits = element_bits(kind.element_type)
        if bits is None:
            raise Refusal(f"elements of its buffers are {kind.element_type}")
        elements = 1
        for size in kind.shape:
            elements *= size
        end = _offset(subspan) + -(-elements * bits // 8)
        found[number] = max(end, found.get(number, 0))
    return tuple(found.get(number, 1) for number in range(max(found, default=-1) + 1))


def _offset(subspan: ir.Operation) -> int:
    """Returns where a buffer begins in its binding: at 0 where the program says it."""
    definition = defining_operation(subspan.operands[0])
    if definition is None or definition.name != "arith.constant":
        return 0
    return ir.IntegerAttr(definition.attributes["value"]).value


@cache
def _sources() -> str:
    """Returns what changes with each line of the code that makes and times kernels."""
    import hashlib

    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
