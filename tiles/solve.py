# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise.solve`, `bankwise.count` and `bankwise.targets`: one tile, without a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

from ..bank_model import targets as chips
from ..bank_model.accesses import LdsTile
from ..bank_model.errors import InvalidParameterError
from ..bank_model.issue import LayoutCosts
from ..bank_model.layouts import (
    Layout,
    LayoutKind,
    PaddedLayout,
    PlainLayout,
    SwizzledLayout,
    misaligned_element,
)
from ..bank_model.paddings import padding_amounts, padding_choices
from ..bank_model.proof import Optimality
from ..bank_model.solver import LayoutDecision, SolverOptions
from ..bank_model.solver import solve as solve_layout
from ..bank_model.strided_layout import Mode, StridedLayout
from ..bank_model.swizzle_legality import HintRules
from ..bank_model.targets import AccessKind, Target
from .accesses import AccessArgument, AccessReader, may_name_lanes
from .answers import TileCount, TileSolution
from .counts import Question
from .errors import AccessError, TileArgumentError, shortened, whole_number
from .lanes import Lanes
from .layout_text import layout_of, other_reading
from .memory_order import MemoryOrder
from .patterns import WGMMA, pattern_names
from .rules import rules_of
from .tile_text import NamedTile
from .vector_moves import WholeVectors, keeps_vectors

Accesses = AccessArgument | Sequence[AccessArgument]
"""One access, or a list of them."""

_SWIZZLES = frozenset({LayoutKind.XOR_SHUFFLE, LayoutKind.CHAIN, LayoutKind.ROTATE_ROWS})


def targets() -> tuple[Target, ...]:
    """Returns the GPUs whose LDS is known: banks, phases of each instruction, and their sources."""
    return tuple(chips.target(arch) for arch in chips.known_targets())


def solve(
    target: str | Target,
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
    chip = _chip(target)
    question = _question(chip, NamedTile.of(tile, chip), write, read, threads)
    _check_searchable(question)
    limit = _limit(max_lds_bytes, question.target)
    named, flat = question.named, question.flat
    if PlainLayout().size_bytes(named.tile) > limit:
        raise TileArgumentError(
            "max_lds_bytes",
            f"{named.text} takes {PlainLayout().size_bytes(named.tile)} bytes, more than {limit}",
        )
    try:
        return _Solving(question, LayoutCosts(question.target, named.tile, flat), limit).solution()
    except InvalidParameterError as error:
        raise TileArgumentError("tile", f"its accesses cannot be counted: {error}") from error


def _check_searchable(question: Question) -> None:
    """Raises TileArgumentError where an access takes few layouts, none of which is searched."""
    if any(access.instruction == WGMMA for access in question.flat):
        raise TileArgumentError(
            "read", "descriptors of wgmma know few swizzles; count each with layout='128B' and such"
        )


def count(
    target: str | Target,
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
    chip = _chip(target)
    named = NamedTile.of(tile, chip)
    found = layout_of(layout, named.tile, chip)
    order = MemoryOrder.of(found, named.tile)
    question = _question(chip, named, write, read, threads, order)
    _check_whole(question, found)
    try:
        costs = LayoutCosts(chip, question.tile, question.flat)
        counted = TileCount.of(question, found, costs.of(question.counted(found)))
    except InvalidParameterError as error:
        raise TileArgumentError("tile", f"its accesses cannot be counted: {error}") from error
    other = other_reading(layout, named.tile)
    if other is None or other[1] == found:
        return counted
    again = count(chip, tile, write=write, read=read, layout=other[1], threads=threads)
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


def patterns(target: str | Target) -> tuple[str, ...]:
    """Returns how the access patterns of a GPU are written, its matrix instructions among them.

    Raises:
        TileArgumentError: an unknown GPU.
    """
    return pattern_names(_chip(target))


def rules(target: str | Target) -> tuple[str, ...]:
    """Returns the lines of a table of the rules by which everything is counted on a GPU.

    Raises:
        TileArgumentError: an unknown GPU.
    """
    return tuple(rules_of(_chip(target)))


def _chip(target: str | Target) -> Target:
    try:
        return target if isinstance(target, Target) else chips.target_named(target)
    except chips.UnknownTargetError as error:
        raise TileArgumentError(
            "target",
            f"{shortened(str(error.value))} is not known; there are {error.allowed}, and products "
            "such as mi300x and h100",
        ) from None


def _limit(max_lds_bytes: int | None, chip: Target) -> int:
    """Returns the most bytes of the tile, which are not more than a workgroup has."""
    if max_lds_bytes is None:
        return chip.lds_bytes
    limit = whole_number("max_lds_bytes", max_lds_bytes)
    if limit > chip.lds_bytes:
        raise TileArgumentError(
            "max_lds_bytes",
            f"{limit} bytes are more than the {chip.lds_bytes} of a workgroup on {chip.arch}",
        )
    return limit


def _question(
    chip: Target,
    named: NamedTile,
    write: Accesses | None,
    read: Accesses | None,
    threads: int | None,
    order: MemoryOrder | None = None,
) -> Question:
    if threads is None:
        threads = _named_threads((write, read), chip)
    lanes = Lanes.of(threads, chip)
    reader = AccessReader(chip, named, lanes, order)
    accesses = (*reader.read(AccessKind.WRITE, write), *reader.read(AccessKind.READ, read))
    if not accesses:
        raise TileArgumentError("read", "nothing reads or writes the tile; give read or write")
    return Question(chip, named, lanes, accesses, order)


def _found(decision: LayoutDecision) -> LayoutDecision:
    """Returns a decision without a claim on swizzles that were not searched: those of parts."""
    if decision.optimality is not Optimality.LINEAR_MINIMUM:
        return decision
    claims = replace(decision.proof, optimality=Optimality.BEST_FOUND)
    return decision._replace(optimality=Optimality.BEST_FOUND, proof=claims)


_WORTH_PARTING = 7, 8
"""What a layout may cost of the cost of one that keeps vectors whole, for it to part them.

The functions that store and load the parts compute a place for each of them, which is not counted.
"""


def _named_threads(given: Sequence[Accesses | None], chip: Target) -> int | None:
    """Returns the threads that layouts of registers have; None where none is given."""
    each = [one for many in given for one in (many if isinstance(many, list | tuple) else [many])]
    texts = [" ".join(one.split()) for one in each if isinstance(one, str)]
    texts = [text for text in texts if may_name_lanes(text)]
    if not texts:
        return None
    # Most questions do not need it.
    from .lane_layouts import threads_of

    try:
        found = {threads_of(text, chip.wave_size) for text in texts}
    except AccessError:
        # Whoever reads the accesses says which of them is wrong.
        return None
    most = max(found)
    return None if most % chip.wave_size else most


class _Solving:
    """The steps of one answer.

    Layouts keep the vectors of the accesses whole, so that `*(vector *)&tile[place(row, column)]`
    moves them, unless it costs a good deal less to part them.
    """

    def __init__(self, question: Question, costs: LayoutCosts, limit: int) -> None:
        self.question = question
        self.costs = costs
        self.limit = limit
        self.plain = costs.of(PlainLayout())
        self.vectors = [each for each in costs.accesses if each.count > 1 or each.instruction]
        self.whole = [access for access in costs.accesses if access.instruction]
        """Accesses that cannot be split."""
        self.parts = True
        """Whether layouts may part other vectors."""
        self.row_paddings: dict[bool, int] = {}
        """`row_padding` where vectors may be parted, and where not."""

    def solution(self) -> TileSolution:
        """Returns the whole answer."""
        decision = self.with_planes(self.decision())
        best = decision.layout
        padding = self.padding()
        swizzle = best if isinstance(best, SwizzledLayout) and not best.padding_elements else None
        if swizzle is None and self.plain.conflict_cycles:
            found = self.solve(SolverOptions(kinds=_SWIZZLES)).layout
            swizzle = found if isinstance(found, SwizzledLayout) else None
        return TileSolution(
            question=self.question,
            plain=self.counted(PlainLayout()),
            padded=None if padding is None else self.counted(padding),
            swizzled=None if swizzle is None else self.counted(swizzle),
            best=self.counted(best),
            decision=decision,
            costs=self.costs,
        )

    def decision(self) -> LayoutDecision:
        """Returns the best layout, and decides whether layouts may part vectors."""
        parting = self.solve(SolverOptions())
        self.parts = not keeps_vectors(self.question.tile, parting.layout, self.vectors)
        if not self.parts:
            return parting
        self.parts = False
        whole = _found(self.solve(SolverOptions()))
        worth, of = _WORTH_PARTING
        saves = self.cost(parting) * of < self.cost(whole) * worth
        self.parts = saves and self.is_written(parting.layout)
        return parting if self.parts else whole

    def with_planes(self, decision: LayoutDecision) -> LayoutDecision:
        """Returns a decision, or that for padded planes where these cost less or take less LDS."""
        spent = decision.lds_bytes > decision.plain_lds_bytes
        planes = self.planes if decision.conflict_cycles or spent else None
        if planes is None or self.rank(decision.layout) <= self.rank(planes.layout):
            return decision
        return planes

    @cached_property
    def planes(self) -> LayoutDecision | None:
        """Returns the best padding of planes, of whatever rank; None without one that helps.

        Elements have the same numbers in a tile whose rows are the planes of this one.
        """
        ranks = range(1, len(self.question.named.tile.shape) - 1)
        found = [each for each in map(self.padded_planes, ranks) if each is not None]
        return min(found, key=lambda each: self.rank(each.layout), default=None)

    def padded_planes(self, rank: int) -> LayoutDecision | None:
        """Returns the decision for padding behind each index of the first `rank` dimensions."""
        question = self.question
        shape, bits = question.named.tile.shape, question.named.tile.element_bits
        planes = LdsTile((prod(shape[:rank]), prod(shape[rank:])), bits)
        amounts = padding_amounts(question.target, planes, self.limit)
        legal = [
            PaddedLayout(each) for each in amounts if self.is_legal(PaddedLayout(each), planes)
        ]
        if not legal:
            return None
        options = SolverOptions(
            kinds=frozenset({LayoutKind.PADDING}),
            max_lds_bytes=self.limit,
            paddings=tuple(each.padding_elements for each in legal),
        )
        found = solve_layout(question.target, planes, self.costs.accesses, options)
        if not isinstance(found.layout, PaddedLayout):
            return None
        strides = [prod(shape[dimension + 1 :]) for dimension in range(len(shape))]
        for dimension in range(rank):
            below = prod(shape[dimension + 1 : rank])
            strides[dimension] = below * (planes.row_elements + found.layout.padding_elements)
        modes = tuple((Mode(*each),) for each in zip(shape, strides, strict=True))
        layout = StridedLayout(modes)
        return found._replace(layout=layout, lds_bytes=layout.size_bytes(question.named.tile))

    def rank(self, layout: Layout) -> tuple[int, int, int]:
        """Returns what a layout costs, of which less is better: cycles first, then bytes."""
        return (*self.costs.of(layout).rank, layout.size_bytes(self.question.named.tile))

    def cost(self, decision: LayoutDecision) -> int:
        """Returns LDS cycles and issue slots."""
        return self.costs.of(decision.layout).rank[0]

    def is_written(self, layout: Layout) -> bool:
        """Returns whether there is code that moves all vectors as they are counted."""
        code = self.counted(layout).code
        return all(code.mover(move) for move in code.moves)

    def counted(self, layout: Layout) -> TileCount:
        """Returns the costs of a layout."""
        return TileCount.of(self.question, layout, self.costs.of(layout))

    def solve(self, options: SolverOptions) -> LayoutDecision:
        """Returns the layout that the solver chooses.

        No access that must stay whole or aligned is split or moved to a less aligned address.
        """
        tile, target = self.question.named.tile, self.question.target
        options = options._replace(max_lds_bytes=self.limit)
        if self.whole or (self.vectors and not self.parts):
            if self.parts:
                amounts = padding_amounts(target, tile, self.limit)
                legal = tuple(amount for amount in amounts if self.is_legal(PaddedLayout(amount)))
                rules = HintRules.of(tile, self.whole)
            else:
                legal = (self.row_padding,)
                rules = WholeVectors.of_vectors(tile, self.vectors)
            options = options._replace(rules=rules, paddings=legal)
        return solve_layout(target, tile, self.costs.accesses, options, self.costs)

    def padding(self) -> Layout | None:
        """Returns the padded rows or planes that cost least, if padding helps at all."""
        rows = PaddedLayout(self.row_padding) if self.row_padding else None
        if self.planes is None or not self.plain.conflict_cycles:
            return rows
        both = [self.planes.layout] if rows is None else [rows, self.planes.layout]
        return min(both, key=self.rank)

    @property
    def row_padding(self) -> int:
        """Returns the elements behind each row that cost least, 0 where padding does not help."""
        if self.parts not in self.row_paddings:
            tile, target = self.question.named.tile, self.question.target
            *_, best = padding_choices(
                target, tile, self.costs.accesses, self.limit, self.is_legal, self.costs
            )
            self.row_paddings[self.parts] = best.padding_elements
        return self.row_paddings[self.parts]

    def is_legal(self, layout: PaddedLayout, tile: LdsTile | None = None) -> bool:
        """Returns whether accesses that need it stay aligned, and vectors whole."""
        tile = tile or self.question.named.tile
        aligned = all(misaligned_element(tile, layout, access) is None for access in self.whole)
        return aligned and (self.parts or keeps_vectors(tile, layout, self.vectors))
