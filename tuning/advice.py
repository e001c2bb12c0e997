# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What functions would gain from the level `fast`, which a compile at another level says once.

The levels `layout` and `exact` keep the order of sums, and with it the kernels of attentions that
IREE computes one row at a time, of matmuls of dynamic sizes, of which it computes one element at a
time, of those of f32 whose operands stay in global memory on NVIDIA GPUs, and of softmaxes,
norms and sums of which each row is one lane's, as a tensor of one row is. The level `fast` may
compute them up to a hundred times as fast: nobody shall have to find that out with a profiler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from iree.compiler import ir

from ..bank_model.quick_tuple import NamedTuple
from ..bank_model.shown_text import counted
from ..dialect_utils.diagnostics import Refusal, SourceLocation
from ..dialect_utils.lowering_config import only_root
from ..passes.base import PassContext
from ..passes.decisions import Action, Decision, LayoutRound
from ..passes.mode import LEVELLED, LEVELS, Mode
from ..passes.steps import reaches
from .attention.scalar_attention import scalar_attention
from .attention.tile_by_lanes import TileByLanes, has_instruction, lane_attention
from .attention.use_matrix_instructions import UseMatrixInstructions, matrix_attention
from .costs.scalar_cost import mask_microseconds
from .elements.row_loops import row_root
from .elements.share_rows import ShareRows, gains_by_another_order
from .matmuls.dynamic_matmuls import dynamic_matmul
from .matmuls.lane_choice import lane_matmul
from .matmuls.tile_dynamic_matmuls import TileDynamicMatmuls
from .matmuls.tile_matmuls_by_lanes import TileMatmulsByLanes
from .workarounds.merge_blocked_sizes import merges_sizes

_LEAST_FACTOR = 1.1
"""Predictions of less than that are no more than the model's own error."""
_SHOWN = 8
"""How many kernels a note names."""
_FAST = list(LEVELS)[-1]
_ATTENTION, _MATMUL, _REDUCTION = "attention", "matmul", "reduction"
_HOW = {
    _ATTENTION: "one row at a time",
    _MATMUL: "without tiles of its operands",
    _REDUCTION: "with a row for each lane",
}
"""How scalar instructions compute it."""


class Advice(NamedTuple):
    """What a function with an attention, a matmul or a reduction of rows would gain.

    Attributes:
        function: its name.
        pass_name: the pass that would change it.
        times: the predicted microseconds as it is and at the level `fast`; None where there is no
            prediction, as for a matmul.
        kind: what it computes: `attention`, `matmul` or `reduction`.
    """

    function: str
    pass_name: str
    times: tuple[float, float] | None
    kind: str = _ATTENTION

    @property
    def factor(self) -> float | None:
        """Returns how often as fast it would be; None where that is not known."""
        return None if self.times is None else self.times[0] / self.times[1]


def advise(function: ir.Operation, name: str, mode: Mode, context: PassContext) -> Advice | None:
    """Returns what a configured function would gain; None if it is nothing.

    The decisions of the compile say it, too.

    Args:
        name: the function's name.
        mode: the mode of the compile.
    """
    if mode.mitigation not in LEVELLED or mode.level == _FAST:
        return None
    try:
        advice = _advice(function, name, mode)
    except Refusal:
        return None
    if advice is None or context.users_configuration():
        return None
    reason = f"scalar instructions compute it {_HOW[advice.kind]}; the level {_FAST} does not"
    if advice.times is not None:
        now, then = advice.times
        reason += f", and is predicted to take {then:.1f} us of {now:.1f} us"
    operation = only_root(function) or row_root(function)
    assert operation is not None
    place = str(SourceLocation.of(operation.location) or "")
    named = (advice.pass_name, name, operation.name, place)
    context.log.add(Decision(*named, Action.KEEP, reason), LayoutRound.NONE)
    return advice


def _advice(function: ir.Operation, name: str, mode: Mode) -> Advice | None:
    """Returns what a function would gain whose configuration is IREE's.

    Args:
        mode: the mode of the compile, which is not `fast`.

    Raises:
        Refusal: no pass changes its attention or matmul.
    """
    if _reduces_by_single_lanes(function):
        return Advice(name, ShareRows.name, None, _REDUCTION)
    attention = scalar_attention(function)
    circumstances = TileByLanes().circumstances(function)
    if attention is None:
        is_tiled = reaches(mode, "exact") and mode.retile != "off"
        if is_tiled and lane_matmul(function, circumstances, same_bits=True) is not None:
            return None
        by_lanes = lane_matmul(function, circumstances) is not None
        if by_lanes or merges_sizes(function) or dynamic_matmul(function, None) is not None:
            tiling = TileMatmulsByLanes if by_lanes else TileDynamicMatmuls
            return Advice(name, tiling.name, None, _MATMUL)
        return None
    if has_instruction(function, attention):
        found, pass_name = matrix_attention(function, circumstances), UseMatrixInstructions.name
        assert found is not None
        if circumstances is None:
            return Advice(name, pass_name, None)
        time = circumstances.time(circumstances.work(found.tiled, found.tiled.tile))
        if attention.masked:
            time += mask_microseconds(attention.shape, circumstances.processor)
    else:
        tiled, _ = lane_attention(attention, TileByLanes().predicted(function))
        pass_name, time = TileByLanes.name, tiled.time
    assert circumstances is not None
    advice = Advice(name, pass_name, (attention.microseconds(circumstances.processor), time))
    return advice if advice.factor is None or advice.factor >= _LEAST_FACTOR else None


def _reduces_by_single_lanes(function: ir.Operation) -> bool:
    try:
        return gains_by_another_order(function)
    except Refusal:
        return False


def advice_text(given: Sequence[Advice], flag: str) -> str:
    """Returns what is said of all functions of a compile; nothing where there is no advice.

    Args:
        flag: what asks for the level `fast`.
    """
    functions = {each.function: each for each in given}
    if not functions:
        return ""
    counts = Counter(each.kind for each in functions.values())
    what = " and ".join(counted(count, kind) for kind, count in sorted(counts.items()))
    keep = "keeps" if len(functions) == 1 else "keep"
    names = ", ".join([*functions][:_SHOWN])
    if len(functions) > _SHOWN:
        names += f" and {len(functions) - _SHOWN} others"
    faster = _faster([*functions.values()])
    return (
        f"{what} {keep} IREE's scalar instructions, and would run {faster} with {flag} (outputs "
        f"right to rounding, not bitwise equal): {names}"
    )


def _faster(given: Sequence[Advice]) -> str:
    predicted = [each for each in given if each.times is not None]
    times = [each.times for each in predicted if each.times is not None]
    if not times:
        return "faster"
    factor = sum(now for now, _ in times) / sum(then for _, then in times)
    text = f"{factor:.{0 if factor >= 10 else 1}f}x"
    if len(predicted) == len(given):
        return f"{text} faster (predicted)"
    kinds = {f"{each.kind}s" for each in predicted}
    return f"faster ({' and '.join(sorted(kinds))} {text}, predicted)"
