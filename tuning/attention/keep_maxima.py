# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-keep-maxima`: an attention rescales its sums only where a maximum has grown much.

An attention subtracts the largest score so far of each row from its scores, so that exponentials
cannot overflow, and multiplies what it has summed up by a correction in every step. Any other
number does as well that is not much smaller than the largest score. Here the old maximum stays
until a score exceeds it by more than 8, which makes exponentials of at most 256:

    %row = ... gpu.shuffle ... %s                  %grown = %own > %old + 8 in any lane of the wave
    %max = arith.maximumf %row, %old               %max, %t, %x = scf.if %grown {
    %t = arith.subf %s, %max                ->       as it was
    %corr = math.exp2 (%old - %max)                } else {
    %x = arith.mulf %corr, %sums                     %old, %s - %old, %sums
                                                   }

Each lane compares the scores that it has itself, so that in most steps no lanes exchange maxima,
either. Where AMD's products make the scores and nothing changes them, the negated maximum is added
to by the first product in the place of zero, and no instruction subtracts it. Where a maximum has
grown much, the products are then computed again without it: what is left of scores after a much
larger number was added to them would not be exact. `mma.sync` does not gain by that: ptxas spills
what the products need again.

The first step of a row always finds that its maximum has grown. Exponentials are not rounded more
coarsely than before, only that of the largest score is rounded, too. Outputs are right to rounding.

Only products of 2-byte floats are looked at: those of 1 byte would overflow, and those of 4 bytes
take most of the time themselves, so that the branch costs more than it saves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.carried_loops import with_more_values, yield_also
from ...dialect_utils.element_moves import is_move
from ...dialect_utils.loops import FOR, Carried, body_of
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.multiplications import (
    ACCUMULATOR,
    EXPONENTIALS,
    MATRIX_PRODUCTS,
    multiplies_halves,
)
from ...dialect_utils.operations import (
    has_operation,
    operands_with,
    operations_in,
    operations_of,
    redirect,
    terminator,
)
from ...passes.base import FunctionPass, PassContext
from .kept_maxima import (
    MAXIMUM,
    SHUFFLE,
    KeptMaxima,
    ScoreChain,
    move_behind_maxima,
    operand_makers,
    score_chains,
)

_GROWTH = 8.0
"""How much larger than a maximum exponents may be; 2^8 is far from what overflows in f16."""
_LOWERED = 2.0**-14
"""How much less than the largest score a maximum is, where probabilities are rounded towards zero:
that of a score equal to it is then 1, whichever way the sum of its products was rounded, and not
the next smaller number."""
_ASSEMBLY = "llvm.inline_asm"


class KeepMaxima(FunctionPass):
    """Rescales the sums of an attention only where a maximum has grown much."""

    name: ClassVar[str] = "bankwise-keep-maxima"
    summary: ClassVar[str] = "rescale the sums of an attention only where a maximum grows much"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has products of matrix instructions, and exponentials."""
        has_products = has_operation(function, *MATRIX_PRODUCTS)
        return has_products and has_operation(function, *EXPONENTIALS)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites loops with products and maxima; never fails."""
        if not has_operation(function, MAXIMUM):
            return
        products: dict[ir.Operation, list[ir.Operation]] = {}
        for each in operations_in(function, *MATRIX_PRODUCTS):
            products.setdefault(each.parent.operation, []).append(each)
        for loop, its in products.items():
            if loop.name != FOR or not all(map(multiplies_halves, its)):
                continue
            location = loop.location
            if its[0].name == MMA:
                if any(each.name == _ASSEMBLY for each in operations_of(body_of(loop))):
                    # Products of `wgmma` may run meanwhile, whose sums nothing else may touch.
                    continue
                move_behind_maxima(loop)
            with context.refusals_said(location, "maxima are not kept"):
                kept = KeptMaxima.of(loop)
                if kept is not None:
                    _Rewriting.of(loop, kept).carry_out()
                    text = "sums are rescaled only where a maximum grows much"
                    context.sink.remark(location, text)


@dataclass(frozen=True)
class _Rewriting:
    """The parts of a loop that is rewritten.

    Attributes:
        chains: the products that make the scores, where they begin with negated maxima.
        starts: for each of them the carried negated maximum.
        makers: what makes their factors.
    """

    loop: ir.Operation
    kept: KeptMaxima
    chains: Sequence[ScoreChain]
    starts: Mapping[ir.Operation, Carried]
    makers: Sequence[ir.Operation]

    @staticmethod
    def of(loop: ir.Operation, kept: KeptMaxima) -> _Rewriting:
        """Returns what is rewritten; the loop carries negated maxima from here on."""
        chains = score_chains(kept)
        if not chains:
            return _Rewriting(loop, kept, (), {}, ())
        before = Builder.before(loop)
        kinds = list(dict.fromkeys((c.position, c.scores.type) for c in chains))
        maxima = [each.initial for each in kept.carried]
        initial = [_negated(before, maxima, position, kind) for position, kind in kinds]
        new, values = with_more_values(loop, initial)
        yield_also(new, [each.argument for each in values])
        added = dict(zip(kinds, values, strict=True))
        found = KeptMaxima.of(new)
        assert found is not None
        starts = {c.products[0]: added[c.position, c.scores.type] for c in chains}
        return _Rewriting(new, found, chains, starts, operand_makers(found, chains))

    @cached_property
    def across(self) -> list[ir.Operation]:
        """The operations that exchange maxima among lanes."""
        return self.kept.across()

    @cached_property
    def again(self) -> list[ir.Operation]:
        """What is computed where a maximum has grown, in order."""
        kept = self.kept
        products = [each for c in self.chains for each in (*c.products, *c.pieces)]
        local = kept.local([each.scores for each in self.chains])
        made = {*self.makers, *products, *local, *self.across, *kept.maxima, *kept.between}
        return sorted(made, key=kept.places.__getitem__)

    def carry_out(self) -> None:
        """Rewrites the loop."""
        kept = self.kept
        made = [*kept.maxima, *kept.shifted, *kept.scaled]
        kinds = [each.results[0].type for each in made]
        negated = list(dict.fromkeys(self.starts.values()))
        users = [operands_with(each.results[0]) for each in made]
        at = Builder.after(kept.last)
        branch = at.if_(
            self._grown(at),
            lambda inside: self._as_before(inside, made, negated),
            lambda inside: self._unchanged(inside, made, negated),
            [*kinds, *(each.argument.type for each in negated)],
        )
        gone = {*self.across, *kept.maxima, *kept.between}
        for result, uses in zip(branch.results, users, strict=False):
            redirect([(user, n) for user, n in uses if user not in gone], result)
        for each in sorted(gone, key=kept.places.__getitem__, reverse=True):
            each.erase()
        for first, carried in self.starts.items():
            first.operands[ACCUMULATOR] = carried.argument
        end = terminator(self.loop.regions[0])
        for each, result in zip(negated, list(branch.results)[len(made) :], strict=True):
            end.operands[each.number] = result

    def _grown(self, at: Builder) -> ir.Value:
        """Returns whether a score in any lane exceeds the maximum of its row by far."""
        kept, now = self.kept, dict[ir.Value, ir.Value]()
        for each in self.across:
            operands = [now.get(operand, operand) for operand in each.operands]
            # A lane is content with what it has itself.
            alone = each.name == SHUFFLE or (each.name == MAXIMUM and operands[0] == operands[1])
            result = operands[0] if alone else at.clone(each, operands).results[0]
            now[each.results[0]] = result
        grown: ir.Value | None = None
        for row, carried in zip(kept.rows, kept.carried, strict=True):
            own, old = now.get(row, row), carried.argument
            growth = at.constant(old.type, _GROWTH / kept.factor)
            limit = growth if self.chains else at.addf(old, growth)
            its = at.any_element(at.cmpf("ogt", own, limit))
            grown = its if grown is None else at.ori(grown, its)
        assert grown is not None
        if any(each.name == MMA for each in kept.places):
            return at.any_lane_of_warp(grown)
        return at.any_lane(grown)

    def _as_before(
        self, at: Builder, made: Sequence[ir.Operation], negated: Sequence[Carried]
    ) -> list[ir.Value]:
        """Emits what was there; returns the values of `made`, and the new maxima negated."""
        now: dict[ir.Value, ir.Value] = {}
        if self.chains:
            # The compiler shall read factors again, and not hold them in registers until here.
            at.assembly("")
        rows = dict(zip(self.kept.maxima, self.kept.rows, strict=True)) if self.chains else {}
        for each in self.again:
            operands = [now.get(operand, operand) for operand in each.operands]
            if each in rows:
                lowered = _lowered(at, now[rows[each]], self.kept.factor)
                operands[[*each.operands].index(rows[each])] = lowered
            now.update(zip(each.results, at.clone(each, operands).results, strict=True))
        maxima = [now[each.results[0]] for each in self.kept.maxima]
        places = {self.starts[each.products[0]]: each.position for each in self.chains}
        starts = [_negated(at, maxima, places[each], each.argument.type) for each in negated]
        return [*(now[each.results[0]] for each in made), *starts]

    def _unchanged(
        self, at: Builder, made: Sequence[ir.Operation], negated: Sequence[Carried]
    ) -> list[ir.Value]:
        """Returns the values of `made` with the old maxima, and these negated."""
        kept = self.kept
        pairs = zip(kept.maxima, kept.carried, strict=True)
        now = {maximum.results[0]: carried.argument for maximum, carried in pairs}
        now |= {each.results[0]: kept.unscaled(each) for each in kept.scaled}
        if self.chains:
            now |= {each.results[0]: each.operands[0] for each in kept.shifted}
        for each in kept.between:
            moves = is_move(each) and any(operand in now for operand in each.operands)
            if moves or (each in kept.shifted and not self.chains):
                at.clone_all([each], now)
        return [*(now[each.results[0]] for each in made), *(each.argument for each in negated)]


def _lowered(at: Builder, row: ir.Value, factor: float) -> ir.Value:
    """Returns a little less than the largest score of a row.

    Args:
        factor: what differences of scores are multiplied by before they become exponents.
    """
    return at.subf(row, at.constant(row.type, _LOWERED / factor))


def _negated(
    at: Builder, maxima: Sequence[ir.Value], position: tuple[int, int], kind: ir.Type
) -> ir.Value:
    """Returns a vector all of whose elements are one of the maxima, negated."""
    number, element = position
    return at.splat(at.negf(at.elements(maxima[number])[element]), *ir.VectorType(kind).shape)
