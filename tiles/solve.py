# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise.solve`, `bankwise.count` and `bankwise.targets`: one tile, without a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import InvalidParameterError
from ..bank_model.issue import LayoutCosts
from ..bank_model.layouts import Layout, PlainLayout, misaligned_element
from ..bank_model.lds_rules import AccessKind, Lds
from ..bank_model.lds_tables import UnknownTargetError, known_targets, lds_of
from ..bank_model.targets import arch_named
from .answers import TileCount, TileSolution
from .counts import Question
from .lanes import Lanes
from .layout_text import layout_of, other_reading
from .memory_order import MemoryOrder
from .patterns import WGMMA, pattern_names
from .rules import rules_of
from .tile_accesses import AccessArgument, AccessReader, may_name_lanes
from .tile_errors import AccessError, TileArgumentError, shortened, whole_number
from .tile_text import NamedTile

Accesses = AccessArgument | Sequence[AccessArgument]
"""One access, or a list of them."""


def targets() -> tuple[Lds, ...]:
    """Returns the GPUs whose LDS is known: banks, phases of each instruction, and their sources."""
    return tuple(map(lds_of, known_targets()))


def solve(
    target: str | Lds,
    tile: str | LdsTile,
    *,
    write: Accesses | None = None,
    read: Accesses | None = None,
    threads: int | None = None,
    max_lds_bytes: int | None = None,
) -> TileSolution:
    """Returns the layout of a tile in the LDS (shared memory) whose accesses cost least.

    The costs are LDS cycles, and an issue slot for every instruction, by exact count. Example, a
    tile of 64 x 64 f16 that is written by rows, 16 bytes a lane, and read by columns:

        bankwise.solve("gfx942", "64x64xf16", write="rows:128", read="columns")

    Args:
        target: a GPU, as `gfx942` or `sm_90`; `targets()` lists them.
        tile: sizes, row-major, and an element type: `64x64xf16`.
        write: what the lanes write: a pattern's name, a formula of lane and register such as
            `(lane%16, lane//16*4 + reg)`, a function of `lane`, `wave`, `thread` or `reg` that
            takes and returns NumPy arrays, an `LdsAccess`, or a list of them.
        read: what they read, likewise.
        threads: the threads of the workgroup, by default those of a layout of registers among the
            accesses, or else one wave (64 on AMD, 32 on NVIDIA).
        max_lds_bytes: the most bytes that the tile may take, padding included; by default what a
            workgroup can have.

    Returns:
        The costs of the plain layout, of the best padding and of the best swizzle, the choice among
        them with its proof, the choice as C and in the words of other frameworks. In a notebook it
        shows itself, with the bank maps before and after.

    Raises:
        TileArgumentError: an argument that cannot be used; a ValueError that names it.
    """
    # A count of one layout does not need it.
    from .best_layout import BestLayout

    lds = _lds(target)
    question = _question(lds, NamedTile.of(tile, lds), write, read, threads)
    _check_searchable(question)
    limit = _limit(max_lds_bytes, question)
    try:
        costs = LayoutCosts(question.lds, question.named.tile, question.flat)
        return BestLayout(question, costs, limit).solution()
    except InvalidParameterError as error:
        raise TileArgumentError("tile", f"its accesses cannot be counted: {error}") from error


def _check_searchable(question: Question) -> None:
    """Raises TileArgumentError where an access takes few layouts, none of which is searched."""
    if any(access.instruction == WGMMA for access in question.flat):
        raise TileArgumentError(
            "read", "descriptors of wgmma know few swizzles; count each with layout='128B' and such"
        )


def count(
    target: str | Lds,
    tile: str | LdsTile,
    *,
    write: Accesses | None = None,
    read: Accesses | None = None,
    layout: str | Layout = "plain",
    threads: int | None = None,
) -> TileCount:
    """Returns what the accesses to a tile cost in a given layout, by exact count.

    Args:
        target, tile, write, read, threads: as in `solve`.
        layout: `plain`, `padded:8` (elements behind each row), `xor_shuffle<64, 8>`,
            `rotate_rows<64, 8>`, CuTe's `Swizzle<3, 3, 3>` (of elements), a chain of these joined
            by ` of `, a layout of CuTe's such as `(64,64):(1,64)`, any other notation that an
            answer prints, or a layout of the bank model.

    Returns:
        LDS cycles, conflict cycles among them, instructions, and bytes. In a notebook it shows
        itself, with the bank maps.

    Raises:
        TileArgumentError: an argument that cannot be used; a ValueError that names it.
    """
    lds = _lds(target)
    named = NamedTile.of(tile, lds)
    found = layout_of(layout, named.tile, lds)
    order = MemoryOrder.of(found, named.tile)
    question = _question(lds, named, write, read, threads, order)
    _check_whole(question, found)
    try:
        costs = LayoutCosts(lds, question.tile, question.flat)
        counted = TileCount.of(question, found, costs.of(question.counted(found)))
    except InvalidParameterError as error:
        raise TileArgumentError("tile", f"its accesses cannot be counted: {error}") from error
    other = other_reading(layout, named.tile)
    if other is None or other[1] == found:
        return counted
    again = count(lds, tile, write=write, read=read, layout=other[1], threads=threads)
    remark = (
        "its swizzle is read in elements, as CuTe counts a composed layout; where a kernel takes "
        "it as a pair of a layout and a swizzle, it moves bytes, and there are "
        f"{again.conflict_cycles:,} conflict cycles: count that as '{other[0]}'"
    )
    return replace(counted, remarks=(remark,))


def _check_described(named: NamedTile, layout: Layout) -> None:
    """Raises TileArgumentError where no descriptor gives the layout to `wgmma`."""
    from .instruction_patterns import why_not_described

    reason = why_not_described(named, layout)
    if reason:
        raise TileArgumentError("layout", f"{shortened(str(layout))}: {reason}")


def _check_whole(question: Question, layout: Layout) -> None:
    """Raises TileArgumentError where a layout splits or misaligns what its instruction cannot."""
    tile, lies = question.tile, question.counted(layout)
    for access in question.flat:
        if access.instruction == WGMMA:
            _check_described(question.named, layout)
        split = access.instruction and lies.group_elements(tile) % access.count
        if split or misaligned_element(tile, lies, access) is not None:
            raise TileArgumentError(
                "layout",
                f"{layout} splits or misaligns what {access.instruction or 'an access'} reads: "
                f"{access.count} elements; move groups of a multiple of {access.count}",
            )


def patterns(target: str | Lds) -> tuple[str, ...]:
    """Returns how the access patterns of a GPU are written, its matrix instructions among them.

    Raises:
        TileArgumentError: an unknown GPU.
    """
    return pattern_names(_lds(target))


def rules(target: str | Lds) -> tuple[str, ...]:
    """Returns the lines of a table of the rules by which everything is counted on a GPU.

    Raises:
        TileArgumentError: an unknown GPU.
    """
    return tuple(rules_of(_lds(target)))


def _lds(target: str | Lds) -> Lds:
    try:
        return target if isinstance(target, Lds) else lds_of(arch_named(target))
    except UnknownTargetError as error:
        raise TileArgumentError(
            "target",
            f"{shortened(str(error.value))} is not known; there are {error.allowed}",
        ) from None


def _limit(max_lds_bytes: int | None, question: Question) -> int:
    """Returns the most bytes of the tile, which are not more than a workgroup has.

    Raises TileArgumentError where the plain tile takes more.
    """
    lds, named = question.lds, question.named
    most = lds.workgroup_bytes
    limit = most if max_lds_bytes is None else whole_number("max_lds_bytes", max_lds_bytes)
    if limit > most:
        raise TileArgumentError(
            "max_lds_bytes",
            f"{limit} bytes are more than the {most} of a workgroup on {lds.arch}",
        )
    size = PlainLayout().size_bytes(named.tile)
    if size > limit:
        raise TileArgumentError(
            "max_lds_bytes", f"{named.text} takes {size} bytes, more than {limit}"
        )
    return limit


def _question(
    lds: Lds,
    named: NamedTile,
    write: Accesses | None,
    read: Accesses | None,
    threads: int | None,
    order: MemoryOrder | None = None,
) -> Question:
    if threads is None:
        threads = _named_threads((write, read), lds)
    lanes = Lanes.of(threads, lds)
    reader = AccessReader(lds, named, lanes, order)
    accesses = (*reader.read(AccessKind.WRITE, write), *reader.read(AccessKind.READ, read))
    if not accesses:
        raise TileArgumentError("read", "nothing reads or writes the tile; give read or write")
    return Question(lds, named, lanes, accesses, order)


def _named_threads(given: Sequence[Accesses | None], lds: Lds) -> int | None:
    """Returns the threads that layouts of registers have; None where none is given."""
    each = [one for many in given for one in (many if isinstance(many, list | tuple) else [many])]
    texts = [" ".join(one.split()) for one in each if isinstance(one, str)]
    texts = [text for text in texts if may_name_lanes(text)]
    if not texts:
        return None
    # Most questions do not need it.
    from .lane_layouts import threads_of

    try:
        found = {threads_of(text, lds.wave_size) for text in texts}
    except AccessError:
        # Whoever reads the accesses says which of them is wrong.
        return None
    most = max(found)
    return None if most % lds.wave_size else most
