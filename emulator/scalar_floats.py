# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats in scalar registers: one value for a wave, by what a vector instruction does for a lane.

The scalar unit computes floats since RDNA3.5 (`s_add_f32`). RDNA4 has instructions of the vector
unit beside them whose operands are scalar (`v_s_exp_f32`). A 16-bit operand is the low half of a
register; that a 16-bit result clears the other half is an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from . import floats
from .encodings import result_form
from .instruction_text import Instruction
from .lane_ops import LaneOp
from .mnemonics import base_name
from .operands import Array, Source, scalar_destination, vector_source
from .step import BuildContext, Step
from .vector_alu import ALL_LANE_OPS, FLOAT_RELATIONS, sources_of
from .wave_state import WaveGroup


def _same(names: tuple[str, ...], kinds: tuple[str, ...]) -> dict[str, LaneOp]:
    """Returns rows of scalar instructions that are named as vector ones are."""
    return {f"s_{n}_{kind}": ALL_LANE_OPS[f"v_{n}_{kind}"] for n in names for kind in kinds}


def _high_half(words: Array) -> Array:
    return floats.widen_f16((words >> np.uint32(16)).astype(np.uint16).view(np.float16))


_BOTH = ("f16", "f32")
_FMAC = LaneOp("f32", ("f32",) * 3, floats.fma)
SCALAR_FLOATS: Mapping[str, LaneOp] = {
    **_same(("add", "sub", "mul", "min", "max", "maximum", "minimum"), _BOTH),
    **_same(("ceil", "floor", "trunc", "rndne"), _BOTH),
    **{
        f"s_cvt_{to}_{source}": ALL_LANE_OPS[f"v_cvt_{to}_{source}"]
        for to, source in (
            *(("f16", "f32"), ("f32", "f16"), ("f32", "i32"), ("f32", "u32")),
            *(("i32", "f32"), ("u32", "f32")),
        )
    },
    "s_cvt_hi_f32_f16": LaneOp("f32", ("b32",), _high_half),
    "s_cvt_pk_rtz_f16_f32": ALL_LANE_OPS["v_cvt_pkrtz_f16_f32"],
    "s_fmaak_f32": _FMAC,
    "s_fmamk_f32": _FMAC,
    **{
        f"v_s_{name}_{kind}": ALL_LANE_OPS[f"v_{name}_{kind}"]
        for name in ("exp", "log", "rcp", "rsq", "sqrt")
        for kind in _BOTH
    },
}
"""Instructions whose operands are floats in scalar registers, but for the two tables below."""

SCALAR_ACCUMULATIONS: Mapping[str, LaneOp] = {
    f"s_fmac_{kind}": LaneOp(kind, (kind,) * 3, floats.fma) for kind in _BOTH
}
"""Instructions whose destination is their last source too."""

_NO_SCALAR_RELATIONS = ("f", "tru")
SCALAR_COMPARES: Mapping[str, str] = {
    f"s_cmp_{relation}_{kind}": relation
    for relation in FLOAT_RELATIONS
    if relation not in _NO_SCALAR_RELATIONS
    for kind in _BOTH
}
"""Compares of floats that write SCC, with their relation."""


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of an instruction on floats in scalar registers; None of any other."""
    name = base_name(instruction.mnemonic)
    if name in SCALAR_FLOATS:
        return _function(instruction, SCALAR_FLOATS[name])
    if name in SCALAR_ACCUMULATIONS:
        destination = instruction.operands[0]
        whole = replace(instruction, operands=(*instruction.operands, destination))
        return _function(whole, SCALAR_ACCUMULATIONS[name])
    return _compare(instruction, SCALAR_COMPARES[name]) if name in SCALAR_COMPARES else None


def _function(instruction: Instruction, op: LaneOp) -> Step:
    sources = sources_of(
        instruction, op, lambda instruction, operand, number, kind: vector_source(operand, kind)
    )
    form = result_form(instruction, op.result)
    destination = scalar_destination(instruction.operands[0], "b32")

    def step(group: WaveGroup) -> None:
        values = [source(group) for source in sources]
        mode = (group.mode.ieee,) if op.ieee else ()
        (word,) = form.words(group, op.function(*values, *mode))
        destination(group, np.broadcast_to(word, (group.count, 1))[:, 0])

    return step


def _compare(instruction: Instruction, relation: str) -> Step:
    kind = instruction.mnemonic[-3:]
    function = FLOAT_RELATIONS[relation]
    left, right = (vector_source(operand, kind) for operand in instruction.operands)

    def wide(source: Source, group: WaveGroup) -> Array:
        values = source(group)
        return floats.widen_f16(values) if kind == "f16" else values

    def step(group: WaveGroup) -> None:
        holds = function(wide(left, group), wide(right, group))
        group.set_scc(np.broadcast_to(holds, (group.count, 1))[:, 0])

    return step
