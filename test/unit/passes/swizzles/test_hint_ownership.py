# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which passes have work in a function, by the hints that it has and whose they are."""

from __future__ import annotations

from bankwise.passes.swizzles.hint_ownership import mark_hints

from ...functions import parse
from ...room_passes import our_passes

FUNCTION = """
func.func @f() {{
  %tile = memref.alloc() {} : memref<64xf16, #gpu.address_space<workgroup>>
  return
}}
"""
TREAT_HINTS = {
    "bankwise-absorb-swizzle-hints",
    "bankwise-flatten-swizzle-hints",
    "bankwise-reinsert-swizzle-hints",
    "bankwise-resolve-swizzle-hints",
}


STOWED = "{iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>}"


def test_only_passes_that_treat_hints_need_one() -> None:
    plain, stowed = parse(FUNCTION.format("")), parse(FUNCTION.format(STOWED))
    passes = [kind.from_options("") for kind in our_passes()]
    waiting = {
        each.name
        for each in passes
        if not each.has_work(plain.function) and each.has_work(stowed.function)
    }
    assert waiting == TREAT_HINTS


def test_only_own_waits_for_our_mark() -> None:
    parsed = parse(FUNCTION.format(STOWED))
    stowed = parsed.function
    own = [
        kind.from_options("only-own")
        for kind in our_passes()
        if "only_own" in (each.name for each in kind.option_fields())
    ]
    assert len(own) == 3
    assert not any(each.has_work(stowed) for each in own)
    mark_hints(stowed)
    assert all(each.has_work(stowed) for each in own)
