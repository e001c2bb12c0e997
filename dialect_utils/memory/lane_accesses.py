# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From one operation on one view to what each lane touches: the accesses of the bank model.

A transfer of several rows is one access per row, because that is how the compiler unrolls it:
reading `vector<4x1xf16>` from `memref<64x64xf16>` is four accesses of one element, 64 elements
apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from math import gcd, prod

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import CopySources, LdsAccess, LdsTile, bytes_of_rows
from ...bank_model.distinct_numbers import distinct_numbers
from ...bank_model.layouts import SwizzledLayout
from ...bank_model.lds_rules import AccessKind
from ...bank_model.quick_dataclass import dataclass, replace
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzle_legality import DirectStore, contiguous_run
from ..diagnostics import Refusal
from ..index.lane_values import (
    LaneEvaluator,
    LaneValues,
    Loop,
    Unknown,
    align,
    combine,
)
from ..index.workgroups import WORKGROUP_DEPTH
from .copied_addresses import CopiedLanes
from .lds_ops import Footprint, access_row, in_elements, required_alignment
from .surroundings import Surroundings
from .traced_views import TracedView
from .vector_masks import Limits, mask_limits


class Overrun(Refusal):
    """An access that leaves its memref, its row, or the allocation in some lane.

    What it meets there depends on the layout, so that the layout must not change at all.
    """


@dataclass(frozen=True, eq=False)
class MovedVector:
    """Where else in its memory a transfer could find its vector, cut otherwise.

    Attributes:
        shift: the elements by which the vector begins behind the place where it does.
        extents, strides: its elements along each dimension, and how far apart they lie.
    """

    shift: LaneValues
    extents: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TracedAccess:
    """An access with the operation that makes it, and the iteration of the loop right around that.

    The iteration is 0 unless the loop was unrolled in the trace. An access that the operation would
    make to a vector that were `moved` is not one of the program.
    """

    access: LdsAccess
    operation: ir.Operation
    iteration: int = 0
    moved: MovedVector | None = None


class _Issues(NamedTuple):
    """Where the lanes of an operation begin, each time that a wave issues it.

    Arrays are [issues, lanes]; issues are the waves in each combination of iterations.
    """

    starts: np.ndarray
    """The first element that a lane touches."""
    active: np.ndarray
    """Whether the lane takes part."""
    loops: tuple[Loop, ...]
    """The loops whose iterations are told apart."""
    weight: int
    """How often each issue occurs, by the loops whose iterations are not told apart."""
    copied: CopySources | None = None
    """Where the lanes of a `cp.async` read."""
    kept: tuple[tuple[int, np.ndarray], ...] = ()
    """Dimensions of the memref, with how many elements lanes access along them, where these are
    not all in each lane."""

    def of_iteration(self, iteration: int, waves: int) -> _Issues:
        """Returns the issues in one iteration of the innermost loop."""
        shape = (-1, self.loops[-1].iterations, waves)
        chosen = np.arange(len(self.starts)).reshape(shape)[:, iteration].reshape(-1)
        return self.of(chosen)._replace(loops=self.loops[:-1])

    def of_worst_workgroup(self, width_bytes: int) -> _Issues:
        """Returns the issues of the workgroup whose lanes are most in each other's way.

        That is where they read, and if this one reads without conflicts, so do all others.

        Args:
            width_bytes: what a lane copies.
        """
        assert self.copied is not None
        number = self.loops[0].iterations
        conflicts = self.copied.read_conflicts(width_bytes).reshape(number, -1).sum(axis=1)
        chosen = np.arange(len(self.starts)).reshape(number, -1)[conflicts.argmax()]
        return self.of(chosen)._replace(loops=self.loops[1:])

    def reaching(self, position: tuple[int, ...], run_dimension: int | None) -> _Issues | None:
        """Returns the issues, with the lanes that access a run of their vectors; None without any.

        Args:
            position: where in the vectors the run begins.
            run_dimension: that along which all of a run is accessed.
        """
        active = self.active
        for dimension, count in self.kept:
            if dimension != run_dimension:
                active = active & (count > position[dimension])
        issued = np.flatnonzero(active.any(axis=1))
        return self._replace(active=active).of(issued) if issued.size else None

    def of(self, issues: np.ndarray) -> _Issues:
        """Returns some of the issues."""
        copied = None if self.copied is None else self.copied.of_issues(issues)
        starts, active = self.starts[issues], self.active[issues]
        kept = tuple((dimension, count[issues]) for dimension, count in self.kept)
        return self._replace(starts=starts, active=active, copied=copied, kept=kept)


@dataclass(frozen=True)
class LaneAccesses:
    """What the lanes do in one operation on one view."""

    tile: LdsTile
    view: TracedView
    around: Surroundings
    evaluator: LaneEvaluator
    operation: ir.Operation
    footprint: Footprint
    location: str = ""
    """Where in the source the operation stands."""
    moved: MovedVector | None = None
    copied: CopiedLanes | None = None
    """Where in global memory a `cp.async` reads, if that is known."""
    in_all_workgroups: bool = False
    """Whether a `cp.async` is issued in all workgroups that `copied` tells apart, so that weights
    are not those of one workgroup. Else it is that which reads with most conflicts."""

    def traced(self, unroll: int) -> tuple[list[TracedAccess], int | None]:
        """Returns the accesses of an ordinary operation: one per contiguous run of its elements.

        Each iteration of the loop right around it has its own, if the operation differs between
        iterations and the loop has at most `unroll` of them. Also returns how many these are, None
        where the operation does not differ between them.

        Raises:
            Refusal: it is not known what some lane touches.
        """
        issues = self._issues()
        if issues is None:
            return [], None
        loops = issues.loops
        is_innermost = bool(loops) and loops[-1].depth == self.around.loops - 1
        iterations = loops[-1].iterations if is_innermost else None
        if iterations is None or iterations > unroll:
            return [self._traced(access) for access in self._runs(issues)], iterations
        waves = self.evaluator.launch.waves
        return [
            self._traced(access, iteration)
            for iteration in range(iterations)
            for access in self._runs(issues.of_iteration(iteration, waves))
        ], iterations

    def _traced(self, access: LdsAccess, iteration: int = 0) -> TracedAccess:
        return TracedAccess(access, self.operation, iteration, self.moved)

    def stored_directly(self) -> tuple[DirectStore, list[LdsAccess]] | None:
        """Returns what a direct store does, at the addresses that the hardware gives it.

        Returns None if it does nothing.

        Raises:
            Refusal: it is not known what some lane touches.
        """
        issues, footprint = self._issues(), self.footprint
        if issues is None:
            return None
        count, issued = footprint.wave_elements, issues.active.any(axis=1)
        starts, active = issues.starts[issued], issues.active[issued]
        firsts, runs = _gathered(self.tile, self.view, count, starts, active)
        mask = None if active.all() else active
        written = [
            LdsAccess(
                self._kind,
                elements,
                length,
                issues.weight,
                mask,
                self.location,
                # Where a swizzle parts what a lane stores, only the first part is as aligned.
                alignment=1 if number else self._alignment,
            )
            for number, (elements, length) in enumerate(runs)
        ]
        store = DirectStore(distinct_numbers(firsts), count, starts.shape[1], mask is not None)
        return store, list(map(without_repetition, written) if issues.loops else written)

    @cached_property
    def _kind(self) -> AccessKind:
        row = access_row(self.operation)
        assert row is not None
        assert row.kind is not None
        return row.kind

    @cached_property
    def _alignment(self) -> int:
        """Returns elements of which the first offset must be a multiple in every layout."""
        return in_elements(required_alignment(self.operation), self.tile.element_bits)

    def _first(self) -> LaneValues:
        """Returns the first element that each lane touches."""
        view = self.view
        first = self.evaluator.element(self.footprint.indices, view.strides, view.offset)
        if isinstance(first, Unknown):
            raise Refusal(f"offset depends on the {first.reason}")
        if self.moved is not None:
            first = combine(np.add, first, self.moved.shift)
            if isinstance(first, Unknown):
                raise Refusal(first.reason)
        return first

    def _issues(self) -> _Issues | None:
        """Returns the lanes that take part; None where none ever does."""
        view, evaluator, footprint = self.view, self.evaluator, self.footprint
        indices = [evaluator.known(index, "index") for index in footprint.indices]
        first = self._first()
        everywhere = self.around.running
        if isinstance(everywhere, Unknown):
            raise Refusal(everywhere.reason)
        copied = self._copied(everywhere)
        limits = self._limits
        known = [] if isinstance(limits, Unknown) else limits
        # Where all lanes access all of their vectors, indices need not be known lane by lane.
        is_plain = not (known or footprint.cut or everywhere.loops) and everywhere.values.all()
        values = [first] if is_plain else [first, everywhere, *indices]
        values += [limit for _, limit in known]
        values += [] if copied is None else copied.values
        loops, arrays = _same_shape(values, evaluator)
        starts, lanes = arrays[0], arrays[1:]
        active: np.ndarray = np.ones(starts.shape, bool) if is_plain else lanes[0] != 0
        lane_indices = [each.values for each in indices]
        if not is_plain:
            lanes = lanes[1:]
            lane_indices, lanes = lanes[: len(indices)], lanes[len(indices) :]
        sizes = [(dimension, limit) for (dimension, _), limit in zip(known, lanes, strict=False)]
        touched, kept = self._touched(lane_indices, sizes)
        for _, count in kept:
            active = active & (count > 0)
        depths = {loop.depth for loop in loops}
        weight = prod(n for depth, n in self.around.iterations.items() if depth not in depths)
        everything = _everywhere(active)
        if weight == 0 or not (everything or active.any()):
            return None
        where = slice(None) if everything else active
        for begin, end, size in zip(lane_indices, touched, view.sizes, strict=True):
            if begin[where].min() < 0 or end[where].max() > size:
                raise Overrun(f"index outside the view's bounds{self._why_unmasked}")
        if 0 < footprint.lanes < active.shape[1]:
            active = active & (np.arange(active.shape[1]) < footprint.lanes)
            if not active.any():
                return None
        sources = lanes[len(known) :]
        found = None if copied is None else copied.sources(active, *sources)
        issues = _Issues(starts, active, loops, weight, found, kept)
        if self.in_all_workgroups or not loops or loops[0].depth != WORKGROUP_DEPTH:
            return issues
        return issues.of_worst_workgroup(self._copied_bytes)

    @cached_property
    def _limits(self) -> Limits | Unknown:
        """Returns how many elements the mask lets lanes access, if there is one and it is known."""
        return [] if self.moved is not None else mask_limits(self.footprint, self.evaluator)

    @property
    def assumptions(self) -> list[str]:
        """Returns what is taken for granted of the mask.

        Of a vector of one element, and of one whose elements are stored apart, a mask is exact. A
        longer run of elements counts as accessed at once.
        """
        footprint = self.footprint
        is_exact = not isinstance(self._limits, Unknown) and self._run is None
        return [] if is_exact or not footprint.assumption else [footprint.assumption]

    @property
    def _why_unmasked(self) -> str:
        """Returns why a mask does not tell which elements are accessed; nothing if it does."""
        if isinstance(self._limits, Unknown):
            return f": which lanes its mask keeps from there is not known ({self._limits.reason})"
        if (self.footprint.cut or self._limits) and self._run is not None:
            return ": a lane accesses a part of its vector; let it be one element long"
        return ""

    @cached_property
    def _run(self) -> int | None:
        """Returns the dimension of the memref along which a lane's elements are consecutive."""
        # Rows of one element have stride 1 too, but are consecutive only while not padded.
        if self.tile.row_elements == 1:
            return None
        return _run_dimension(self.view.strides, self.footprint.extents)

    def _touched(
        self, begins: Sequence[np.ndarray], limits: Sequence[tuple[int, np.ndarray]]
    ) -> tuple[list[np.ndarray], tuple[tuple[int, np.ndarray], ...]]:
        """Returns the indices behind what lanes access, and how many elements they access along
        the dimensions where a mask or the memref's bounds keep them from some.

        What a lane accesses along the dimension of its run, it accesses as a whole.
        """
        extents, kept = self.footprint.extents, dict[int, np.ndarray]()
        cut = () if self.moved is not None else self.footprint.cut
        sizes = self.view.sizes
        inside = [(each, sizes[each] - begins[each]) for each in cut if sizes[each] >= 0]
        for dimension, limit in (*limits, *inside):
            count = np.clip(limit, 0, extents[dimension])
            kept[dimension] = np.minimum(count, kept.get(dimension, count))
        if self._run in kept:
            kept[self._run] = np.where(kept[self._run] > 0, extents[self._run], 0)
        ends = [
            begin + kept.get(dimension, extent)
            for dimension, (begin, extent) in enumerate(zip(begins, extents, strict=True))
        ]
        parts = ((each, count) for each, count in kept.items() if (count < extents[each]).any())
        return ends, tuple(parts)

    def _copied(self, running: LaneValues) -> CopiedLanes | None:
        """Returns where a `cp.async` reads, in the workgroup that counts if that is known."""
        copied = self.copied
        all_lanes = not self.footprint.lanes and (running.values != 0).all()
        if copied is None or self.in_all_workgroups or not all_lanes:
            return copied
        return copied.of_worst_workgroup(self._copied_bytes, self.evaluator.launch)

    @property
    def _copied_bytes(self) -> int:
        """Returns what a lane copies."""
        return prod(self.footprint.extents) * self.tile.element_bits // 8

    def _runs(self, issues: _Issues) -> Iterator[LdsAccess]:
        """Yields one access per run of consecutive elements; none where no lane takes part."""
        tile, footprint = self.tile, self.footprint
        strides, extents = self.view.strides, footprint.extents
        if self.moved is not None:
            strides, extents = self.moved.strides, self.moved.extents
        everything = _everywhere(issues.active)
        if not everything:
            issued = np.flatnonzero(issues.active.any(axis=1))
            if not issued.size:
                return
            issues = issues.of(issued)
            everything = _everywhere(issues.active)
        # Rows of one element have stride 1 too, but are consecutive only while not padded.
        run_dimension = _run_dimension(strides, extents) if tile.row_elements > 1 else None
        count = 1 if run_dimension is None else extents[run_dimension]
        whole, is_masked = issues, not everything
        for position in _run_positions(extents, run_dimension):
            offset = _offset(position, strides)
            if whole.kept:
                kept = whole.reaching(position, run_dimension)
                if kept is None:
                    continue
                issues, is_masked = kept, not _everywhere(kept.active)
            starts, mask = issues.starts, issues.active if is_masked else None
            elements = starts + offset if offset else starts
            used = elements if mask is None else elements[mask]
            if used.min() < 0 or used.max() + count > tile.elements:
                raise Overrun("element outside the allocation")
            if (used % tile.row_elements).max() + count > tile.row_elements:
                raise Overrun("vector that runs over the end of a row")
            if mask is not None:
                elements = np.where(mask, elements, used[0])
            access = LdsAccess(
                self._kind,
                elements,
                count,
                issues.weight,
                mask,
                self.location,
                footprint.instruction,
                self._alignment if offset == 0 else 1,
                copied=issues.copied,
            )
            yield without_repetition(access) if issues.loops else access


def _everywhere(active: np.ndarray) -> bool:
    """Returns whether all lanes take part in all issues, of which there are some."""
    return bool(active.size and active.all())


def _gathered(
    tile: LdsTile, view: TracedView, count: int, starts: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, list[tuple[np.ndarray, int]]]:
    """Returns the first element of each wave, and what its lanes write from there.

    The latter are pairs (elements, count). The hardware knows nothing of swizzles: `count` elements
    of each lane lie behind those of the lane before. In a swizzled allocation the logical elements
    there are those that the swizzle puts there.
    """
    if isinstance(view.chain, Unknown):
        raise Refusal(view.chain.reason)
    first = np.array([row[on][0] for row, on in zip(starts, active, strict=True)])[:, None]
    if (np.where(active, starts, first) != first).any():
        raise Refusal("destination that differs between the lanes of a wave")
    physical = first + np.arange(starts.shape[1]) * count
    used = physical[active]
    if used.min() < 0 or used.max() + count > tile.elements:
        raise Overrun("element outside the allocation")
    physical = np.where(active, physical, used[0])
    firsts = first[:, 0]
    if not view.chain:
        return firsts, [(physical, count)]
    layout = SwizzledLayout(view.chain)
    if not layout.is_bijection(tile):
        raise Refusal(f"{layout} does not permute the allocation")
    logical = np.argsort(layout.offsets(tile, np.arange(tile.elements)))
    run = gcd(contiguous_run(view.chain), count, int(np.gcd.reduce(used, None)))
    return firsts, [(logical[physical + part], run) for part in range(0, count, run)]


def _same_shape(
    values: Sequence[LaneValues], evaluator: LaneEvaluator
) -> tuple[tuple[Loop, ...], list[np.ndarray]]:
    """Returns all values over the same iterations, as int64 arrays [issues, lanes]."""
    loops, arrays = align(values)
    launch = evaluator.launch
    shape = (*(loop.iterations for loop in loops), launch.waves, launch.subgroup_size)
    flat = [
        (a if a.shape == shape else np.broadcast_to(a, shape)).reshape(-1, launch.subgroup_size)
        for a in arrays
    ]
    return loops, flat


def _run_dimension(strides: tuple[int, ...], extents: tuple[int, ...]) -> int | None:
    """Returns the memref dimension along which the accessed elements are consecutive, if any."""
    for dimension in reversed(range(len(extents))):
        if strides[dimension] == 1 and extents[dimension] > 1:
            return dimension
    return None


def run_offsets(
    strides: tuple[int, ...], extents: tuple[int, ...], run_dimension: int | None
) -> Iterator[int]:
    """Yields element offsets of the runs from the first element, the last dimension fastest."""
    for position in _run_positions(extents, run_dimension):
        yield _offset(position, strides)


def _run_positions(
    extents: tuple[int, ...], run_dimension: int | None
) -> Iterator[tuple[int, ...]]:
    """Yields where in a vector the runs begin, the last dimension fastest."""
    return product(*(range(1 if d == run_dimension else n) for d, n in enumerate(extents)))


def _offset(position: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return sum(p * s for p, s in zip(position, strides, strict=True))


def without_repetition(access: LdsAccess) -> LdsAccess:
    """Returns the same access with equal issues counted once, where all occur equally often.

    In a double-buffered loop only two sets of addresses alternate: 64 iterations of 4 waves become
    8 issues of 32 times the weight. Issues of unequal frequency stay as they are, because all
    issues of one operation must stay together to be split into machine accesses alike.
    """
    active = access.active
    keys = [access.elements if active is None else np.where(active, access.elements, -1)]
    if access.copied is not None:
        keys += [access.copied.addresses, access.copied.reading]
    issues: dict[bytes, list[int]] = {}
    for number, issue in enumerate(bytes_of_rows(keys)):
        issues.setdefault(issue, []).append(number)
    counts = set(map(len, issues.values()))
    if len(counts) > 1 or counts == {1}:
        return access
    order = [equal[0] for equal in issues.values()]
    return replace(
        access,
        elements=access.elements[order],
        active=None if active is None else active[order],
        copied=None if access.copied is None else access.copied.of_issues(order),
        weight=access.weight * counts.pop(),
    )
