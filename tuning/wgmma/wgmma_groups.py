# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which `mma.sync` of a segment are groups that one `wgmma` can replace.

In a segment without a store or a barrier, all contractions of a stage (`contraction_order.py`)
become groups, or none of them does: those that stay would wait for each of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.described_tiles import has_described_tile
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import gpu_features_of, lds_limit, lds_model
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.memory.lds_ops import LDMATRIX
from ...dialect_utils.memory.mma_operands import MMA, MatrixOperands
from ...dialect_utils.memory.store_free_segments import store_free_segments
from ...dialect_utils.multiplications import ACCUMULATOR
from ...dialect_utils.operations import has_operation, operations_in
from ..fragments.contraction_order import ContractionOrder
from ..fragments.live_registers import UNCOUNTED, lane_registers
from .described_operands import DescribedRun, DescriptorProver, Matrices
from .stored_factors import StoredFactors, loop_to_store_before

_A, _B = 0, 1
_SHAPE = [16, 8, 16]
_ELEMENTS = frozenset({"f16", "bf16"})
"""Those whose sums in f32 are known to be the same bits. For f8, an H200 gives others."""


@dataclass(frozen=True, eq=False)
class WgmmaGroup:
    """The `mma.sync` of one A and one run of B, in the order of their columns.

    Attributes:
        run: how a descriptor gives B.
        element: the type of the elements of A and B.
        loop: the one before which A is stored (`stored_factors.py`), if it is.
        rows: how a descriptor gives A from where it lies; None for one in registers or stored.
    """

    contractions: tuple[ir.Operation, ...]
    run: DescribedRun
    element: str
    loop: ir.Operation | None = None
    rows: DescribedRun | None = None

    @property
    def in_registers(self) -> bool:
        """Returns whether A is in registers."""
        return self.loop is None and self.rows is None

    @property
    def runs(self) -> tuple[DescribedRun, ...]:
        """Returns what descriptors give from where it lies: B, and A if it does."""
        return (self.run,) if self.rows is None else (self.run, self.rows)

    @property
    def factor(self) -> ir.Value:
        """Returns A."""
        return self.contractions[0].operands[_A]

    @property
    def instruction(self) -> str:
        """Returns the `wgmma` that they are, on accumulators, A, and the descriptor of B.

        A is four registers or a descriptor. Only that of stored ones always has rows of one m.
        """
        width = 4 * len(self.contractions)
        accumulators = ", ".join(f"${number}" for number in range(width))
        if self.in_registers:
            registers = ", ".join(f"${2 * width + number}" for number in range(4))
            a, b, majors = f"{{{registers}}}", 2 * width + 4, ""
        else:
            mn_major = self.rows is not None and self.rows.operand.mn_major
            a, b, majors = f"${2 * width}", 2 * width + 1, f"{int(mn_major)}, "
        return (
            f"wgmma.mma_async.sync.aligned.m64n{2 * width}k16.f32.{self.element}.{self.element} "
            f"{{{accumulators}}}, {a}, ${b}, 1, 1, 1, {majors}{int(self.run.operand.mn_major)};"
        )


@dataclass
class GroupPlanner:
    """Finds the groups of the segments of a function.

    Attributes:
        kept: how many contractions are in none, by a location and the reason.
    """

    prover: DescriptorProver
    stored: StoredFactors
    operands: MatrixOperands = field(default_factory=MatrixOperands)
    kept: Counter[tuple[ir.Location, str]] = field(default_factory=Counter)

    @staticmethod
    def of(function: ir.Operation, test_target: str | None) -> GroupPlanner:
        """Returns the planner of a function.

        Raises:
            Refusal: the lanes of the function are not known.
        """
        _, launch = lds_model(function, test_target)
        evaluator = LaneEvaluator(launch)
        bits = IndexBits(function, evaluator)
        prover = DescriptorProver(function, launch, evaluator, bits)
        stored = StoredFactors(function, launch, lds_limit(function, test_target))
        return GroupPlanner(prover, stored)

    def segments(self) -> Iterator[list[ir.Operation]]:
        """Yields the segments of the blocks that have contractions."""
        contractions = operations_in(self.prover.function, MMA)
        for block in dict.fromkeys(each.block for each in contractions):
            yield from store_free_segments(block)

    def plan(self, order: ContractionOrder) -> dict[int, list[WgmmaGroup]]:
        """Returns the groups of each stage of a segment that makes groups."""
        found: dict[int, list[WgmmaGroup]] = {}
        for stage, places in order.by_stages.items():
            contractions = [order.segment[place] for place in places]
            try:
                found[stage] = self._groups(order, places)
            except Refusal as refusal:
                self.keep(contractions, refusal)
        return found

    def keep(self, contractions: list[ir.Operation], refusal: Refusal) -> None:
        """Counts contractions that stay as they are."""
        self.kept[contractions[0].location, refusal.reason] += len(contractions)

    def _groups(self, order: ContractionOrder, places: list[int]) -> list[WgmmaGroup]:
        """Returns the groups of all contractions of a stage, in the order of their steps.

        Raises:
            Refusal: there are contractions that make no group.
        """
        by_factor: dict[tuple[int, ir.Value], list[ir.Operation]] = {}
        inside = {*order.segment}
        contractions = [order.segment[place] for place in places]
        for place, each in zip(places, contractions, strict=True):
            by_factor.setdefault((order.steps[place], each.operands[_A]), []).append(each)
        added = {each.operands[ACCUMULATOR] for each in contractions}
        for each in contractions:
            result = each.results[0]
            if result in added and len(list(result.uses)) > 1:
                raise Refusal("a sum is used before all is added to it")
        factors = dict.fromkeys(each.operands[_A] for each in contractions)
        around = contractions[0], inside, self.prover.function
        loops = {each: loop_to_store_before(each, *around) for each in factors}
        stored = [each for each in factors if loops[each]]
        described = {
            each: rows
            for each in factors
            if not loops[each] and (rows := self._rows(each, inside, order)) is not None
        }
        self._check_registers(contractions, len(factors) - len(stored) - len(described))
        self.prover.check_together(contractions[0])
        found: list[WgmmaGroup] = []
        matrices = {each: self._matrices(each, inside) for each in contractions}
        loads = {matrix.load for each in matrices.values() for matrix in each}
        self.prover.check_written_before_barrier(each for each in order.segment if each in loads)
        for members in by_factor.values():
            element = _element_of(members[0])
            operands = [matrices[each] for each in members]
            for run in self.prover.runs(operands):
                contracted = tuple(members[tile] for tile in run.tiles)
                factor = members[0].operands[_A]
                rows = described.get(factor)
                found.append(WgmmaGroup(contracted, run, element, loops[factor], rows))
        self.stored.plan(stored)
        return found

    def _rows(
        self, factor: ir.Value, inside: set[ir.Operation], order: ContractionOrder
    ) -> DescribedRun | None:
        """Returns how a descriptor gives an A; None where that is not proven."""
        matrices = self.operands.of(factor)
        if matrices is None or any(each.load not in inside for each in matrices):
            return None
        try:
            self.prover.check_buffer(matrices[0].load.operands[0])
            rows = self.prover.factor(matrices)
            loads = {each.load for each in matrices}
            self.prover.check_written_before_barrier(
                each for each in order.segment if each in loads
            )
        except Refusal:
            return None
        return rows

    def _check_registers(self, contractions: list[ir.Operation], factors: int) -> None:
        """Makes sure that a lane can hold all that a group of `wgmma` takes at once.

        ptxas lets them wait for each other otherwise.

        Args:
            factors: how many A are in registers.

        Raises:
            Refusal: it cannot.
        """
        made = {each.results[0] for each in contractions}
        begun = [each for each in contractions if each.operands[ACCUMULATOR] not in made]
        needed = 4 * (len(begun) + factors) + UNCOUNTED
        limit = lane_registers(self.prover.launch.threads)
        if needed > limit:
            raise Refusal(f"they would need about {needed} registers of {limit}")

    def _matrices(self, contraction: ir.Operation, inside: set[ir.Operation]) -> Matrices:
        """Returns the matrices of B.

        Raises:
            Refusal: there are none, or something may be written between them and the contraction.
        """
        matrices = self.operands.of(contraction.operands[_B])
        if matrices is None:
            raise Refusal(f"something else than {LDMATRIX} fills an operand B")
        if any(each.load not in inside for each in matrices):
            raise Refusal("a store, a barrier or a branch may come between the reads and them")
        self.prover.check_buffer(matrices[0].load.operands[0])
        return matrices


def _element_of(contraction: ir.Operation) -> str:
    """Returns the type of the elements that a contraction multiplies.

    Raises:
        Refusal: `wgmma` does not multiply them, or other bits may come out.
    """
    a, b, c = (str(ir.VectorType(each.type).element_type) for each in contraction.operands)
    if a != b or a not in _ELEMENTS or c != "f32":
        raise Refusal(f"wgmma is not known to give the same bits for {a} and {c}")
    shape = [
        ir.IntegerAttr(each).value for each in ir.ArrayAttr(contraction.attributes["mmaShape"])
    ]
    if shape != _SHAPE:
        raise Refusal(f"its shape is {shape}")
    return a


def may_form_groups(function: ir.Operation, test_target: str | None, *, chosen_only: bool) -> bool:
    """Returns whether a function multiplies matrices on a GPU whose units read tiles.

    Args:
        chosen_only: whether its tile must have been chosen for that.
    """
    features = gpu_features_of(function, test_target)
    if not features.descriptor_tiles or (chosen_only and not has_described_tile(function)):
        return False
    return has_operation(function, MMA)
