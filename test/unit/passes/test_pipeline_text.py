# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading textual pipelines and cutting them at our passes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.passes.pipeline_text import (
    NativeText,
    NestText,
    OurPass,
    PassText,
    Piece,
    PipelineTextError,
    cut_pipeline,
    join_native,
    native_passes,
    parse_pipeline,
    pipeline_text,
)
from bankwise.passes.registry import make_pass

PAD = "bankwise-pad-unhinted-allocs"


def cut(text: str) -> list[Piece]:
    return cut_pipeline(text, parse_pipeline(text))


def ours(options: str = "", *path: str) -> OurPass:
    return OurPass(make_pass(PAD, options), path)


def test_nesting_options_and_positions() -> None:
    text = "builtin.module( cse , func.func(a{x=1 list=1,2},b) )"
    root = parse_pipeline(text)
    assert root == NestText(
        "builtin.module",
        (
            PassText("cse", "", 16, 19),
            NestText(
                "func.func",
                (PassText("a", "x=1 list=1,2", 32, 47), PassText("b", "", 48, 49)),
                22,
                50,
            ),
        ),
        0,
        52,
    )
    assert text[32:47] == "a{x=1 list=1,2}"


def test_braces_hide_brackets_and_commas() -> None:
    text = 'any(inline{op-pipelines=func.func(a,b{c}) x="("},cse)'
    assert [element.name for element, _ in native_passes(parse_pipeline(text))] == ["inline", "cse"]


def test_native_pipeline_stays_in_one_piece() -> None:
    assert cut("builtin.module(cse,func.func(a,any(b{c=1})),d)") == [
        NativeText("cse,func.func(a,any(b{c=1})),d")
    ]


def test_empty_pipeline_has_no_pieces() -> None:
    assert cut("builtin.module()") == []


def test_cut_at_our_passes_keeps_the_order_and_the_anchors() -> None:
    text = f"builtin.module(a,func.func(b,{PAD}{{padding-bits=64}},c),d,func.func({PAD}))"
    assert cut(text) == [
        NativeText("a,func.func(b)"),
        ours("padding-bits=64", "func.func"),
        NativeText("func.func(c),d"),
        ours("", "func.func"),
    ]


def test_deep_nesting() -> None:
    path = ("hal.executable", "hal.executable.variant", "builtin.module", "func.func")
    text = f"builtin.module({'('.join(path)}(x,{PAD})))))"
    assert cut(text) == [
        NativeText("hal.executable(hal.executable.variant(builtin.module(func.func(x))))"),
        ours("", *path),
    ]


@pytest.mark.parametrize("anchor", ["func.func", "any", "util.func"])
def test_our_passes_at_the_root(anchor: str) -> None:
    assert cut(f"{anchor}({PAD})") == [ours()]


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "wrapped with the anchor"),
        ("cse", 0, "wrapped with the anchor"),
        ("a(b),c(d)", 0, "wrapped with the anchor"),
        ("a(b", 1, "never closed"),
        ("a(b))", 4, "extra closing"),
        ("a(" * 400 + "b" + ")" * 400, 129, "more than 64 ops are nested here"),
        ("a(b,)", 4, "name of a pass"),
        ("a(,b)", 2, "name of a pass"),
        ("a(b{c)", 3, "missing closing '}'"),
        ("a(b{c}d)", 6, "expected ','"),
        ("a(b(c)d)", 6, "expected ','"),
        ("a(b})", 3, "expected ','"),
        ("a(b)c", 4, "expected ','"),
        (f"builtin.module({PAD})", 15, "restricted to functions"),
        ("any(bankwise-pad-unhinted-alloc)", 4, "did you mean"),
        (f"any(cse,{PAD}{{x=1}})", 8, "has no option 'x'"),
    ],
)
def test_faults_have_a_position(text: str, position: int, reason: str) -> None:
    with pytest.raises(PipelineTextError, match=reason) as caught:
        cut(text)
    assert caught.value.position == position


def test_join_native_merges_neighbours_only() -> None:
    a, b, c = NativeText("a"), NativeText("b"), NativeText("c")
    assert join_native([a, b, ours(), c]) == [NativeText("a,b"), ours(), c]


_names = st.sampled_from(["cse", "a-b.c", PAD])
_passes = st.builds(
    lambda name, options: name + (f"{{{options}}}" if name != PAD else ""),
    _names,
    st.sampled_from(["", "x=1", "p=f(g,h{i})", "x=1,2 y"]),
)
_trees = st.recursive(
    _passes,
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda e: f"func.func({','.join(e)})"
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(_trees, max_size=4))
def test_pieces_hold_every_pass_in_order(elements: list[str]) -> None:
    text = f"func.func({','.join(elements)})"
    leaves: list[str] = []
    for piece in cut(text):
        if isinstance(piece, OurPass):
            leaves.append(piece.step.name)
        else:
            inner = parse_pipeline(f"func.func({piece.text})")
            leaves.extend(f"{e.name}{{{e.options}}}" for e, _ in native_passes(inner))

    def flat(nest: NestText) -> list[str]:
        found: list[str] = []
        for element in nest.body:
            if isinstance(element, NestText):
                found.extend(flat(element))
            else:
                own = element.name == PAD
                found.append(element.name if own else f"{element.name}{{{element.options}}}")
        return found

    assert leaves == flat(parse_pipeline(text))


def leaves(nest: NestText, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str, str]]:
    found = []
    for element in nest.body:
        if isinstance(element, NestText):
            found += leaves(element, (*path, element.anchor))
        else:
            found.append((path, element.name, element.options))
    return found


@settings(deadline=None)
@given(st.lists(_trees, max_size=4))
def test_written_pieces_are_the_pipeline_that_was_cut(elements: list[str]) -> None:
    text = f"func.func({','.join(elements)})"
    written = pipeline_text("func.func", cut(text), [])
    # Of our passes, all options are written.
    whole = str(make_pass(PAD, "")).removeprefix(PAD)[1:-1]
    expected = [
        (path, name, whole if name == PAD else options)
        for path, name, options in leaves(parse_pipeline(text))
    ]
    assert leaves(parse_pipeline(written)) == expected
    assert pipeline_text("func.func", cut(written), []) == written


def test_neighbours_share_their_anchor() -> None:
    text = f"builtin.module(func.func(a,{PAD},b),any(c),any(d{{x=1}}),e,any(f))"
    pad = make_pass(PAD, "")
    assert pipeline_text("builtin.module", cut(text), []) == (
        f"builtin.module(func.func(a,{pad},b),any(c,d{{x=1}}),e,any(f))"
    )


def test_a_pass_of_all_functions_is_written_for_each_of_their_places() -> None:
    piece = OurPass(make_pass(PAD, "padding-bits=64"), None)
    inner = ("builtin.module", "func.func")
    text = pipeline_text("builtin.module", [NativeText("cse"), piece], [("func.func",), inner])
    assert text == (
        f"builtin.module(cse,func.func({piece.step}),builtin.module(func.func({piece.step})))"
    )
    assert cut(text) == [
        NativeText("cse"),
        ours("padding-bits=64", "func.func"),
        ours("padding-bits=64", *inner),
    ]
    # Without a function there is nothing to run on; the text says what was asked for.
    assert pipeline_text("any", [piece], []) == f"any(func.func({piece.step}))"
