# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random index arithmetic as MLIR, which `index_evaluator` evaluates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from .index_evaluator import signed

_TYPES = ("index", "i32", "i8")
_MAY_WRAP = ("addi", "subi", "muli", "shli")
_SHIFTS = ("shli", "shrui", "shrsi")
_BINARY = (
    *("addi", "subi", "muli", "andi", "ori", "xori", "minui", "maxui", "minsi", "maxsi"),
    *("divui", "remui", "divsi", "remsi", "ceildivui", "ceildivsi", "floordivsi", *_SHIFTS),
)
_FLAGS = ("", " overflow<nsw>", " overflow<nsw, nuw>")
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_TO_AND_FROM_INDEX = ("index_cast", "index_castui")
_CASTS = (
    *(("index", narrow, _TO_AND_FROM_INDEX) for narrow in ("i8", "i32")),
    *((narrow, "index", _TO_AND_FROM_INDEX) for narrow in ("i8", "i32")),
    ("i8", "i32", ("extsi", "extui")),
    ("i32", "i8", ("trunci",)),
)
_FORMULAS = (
    "s0 * 24 + s1",
    "s0 * 8 + s1 floordiv 4 + 5",
    "s0 mod 12 + (s1 mod 16) * 3",
    "(s0 + s1) floordiv {9}",
    "(s0 * 4 + 7) ceildiv 8 + s1 * 16",
    "(s0 * 11 - s1) floordiv {9} + 7",
    "s0 ceildiv {9} - s1 * {9}",
)
ARITHMETIC: Sequence[Sequence[tuple[str, str]]] = (
    [(kind, f"arith.{name} {{{kind}}}, {{{kind}}}{flags} : {kind}")
     for kind in _TYPES for name in _BINARY
     for flags in (_FLAGS if name in _MAY_WRAP else ("",))],
    [(kind, f"arith.{name} {{{kind}}}, {{small {kind}}} : {kind}")
     for kind in _TYPES for name in _SHIFTS],
    [("i1", f"arith.cmpi {name}, {{{kind}}}, {{{kind}}} : {kind}")
     for kind in _TYPES for name in _PREDICATES],
    [(to, f"arith.{name} {{{source}}} : {source} to {to}")
     for source, to, names in _CASTS for name in names],
)  # fmt: skip
"""Operations by kind, each with its type; braces hold the types of operands."""
_STEPS = (
    *[[step for step in ARITHMETIC[0] if step[0] == "index"]] * 4,
    *ARITHMETIC,
    [(kind, f"arith.select {{i1}}, {{{kind}}}, {{{kind}}} : {kind}") for kind in _TYPES],
    *[
        [("index", f"affine.{name} affine_map<()[s0, s1] -> ({formula})>()[{{index}}, {{index}}]")
         for name in names for formula in formulas]
        for names, formulas in (
            (["apply"], _FORMULAS),
            (["min", "max"], map(", ".join, itertools.product(_FORMULAS, repeat=2))),
        )
    ],
    [("index", f"affine.delinearize_index {{index}} into ({bases}) : index, index, index")
     for bases in ("{20}, {20}", "{20}, {20}, {20}")],
    [("index", f"affine.linearize_index {disjoint}[{{index}}, {{index}}] by ({bases}) : index")
     for disjoint, bases in (("", "{70}"), ("", "{70}, {70}"), ("disjoint ", "{70}, {70}"))],
)  # fmt: skip
"""Operations in groups that are drawn from alike; braces may hold the largest number that stands
there, too."""
DYNAMIC_BASES = [
    ("index", f"affine.linearize_index [{{index}}, {{index}}] by ({bases}{{index}}) : index")
    for bases in ("", "{70}, ")
]
"""Operations that not everything understands."""


@st.composite
def index_programs(
    draw: st.DrawFn,
    given: Mapping[str, Sequence[str]],
    constants: st.SearchStrategy[int],
    more: Sequence[tuple[str, str]] = (),
) -> str:
    """Draws lines of MLIR, each on earlier results; the last one adds an index to itself.

    Args:
        given: values that the lines may use, by type; there must be one of type `index`.
        constants: the numbers that they use.
        more: operations beside those that are always drawn from.
    """
    groups = [*_STEPS, more] if more else _STEPS
    values = {kind: [*given.get(kind, ())] for kind in ("i1", *_TYPES)}
    lines: list[str] = []

    def let(kind: str, text: str) -> str:
        results, part = ("", "")
        if text.startswith("affine.delinearize"):
            results, part = ":3", f"#{draw(st.integers(0, 2))}"
        name = f"%v{len(lines)}"
        lines.append(f"{name}{results} = {text}")
        return name + part

    def operand(wanted: re.Match[str]) -> str:
        """Returns a number, or a value, which is rather a new one than an old one."""
        small, kind = wanted[1], wanted[2]
        if kind.isdigit():
            return str(draw(st.integers(1, int(kind))))
        if not small and values[kind] and (kind == "i1" or draw(st.integers(0, 2))):
            return draw(st.sampled_from([*values[kind][-2:], *values[kind]]))
        number = draw(st.integers(0, 12) if small else constants)
        bits = 64 if kind == "index" else int(kind[1:])
        return let(kind, f"arith.constant {signed(number % (1 << bits), bits)} : {kind}")

    for _ in range(draw(st.integers(1, 9))):
        kind, step = draw(st.sampled_from(draw(st.sampled_from(groups))))
        values[kind].append(let(kind, re.sub(r"\{(small )?(\w+)\}", operand, step)))
    last = values["index"][-1]
    let("index", f"arith.addi {last}, {last} : index")
    return "\n".join(lines)
