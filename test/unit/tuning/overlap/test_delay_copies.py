# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-delay-copies` leaves a loop alone whose copies may not come behind its products."""

from __future__ import annotations

from bankwise.tuning.overlap.delay_copies import DelayCopies

from ...functions import HERE, Edit, Kept, assert_kept, each_kept, edited, launched, parse, run

_SLOT = "memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>"
_COPY = f"nvgpu.device_async_copy %k[%a], %s[%i], 8 : memref<4096xf16> to {_SLOT}"
_BRANCH = f"""scf.if %there {{
      %a = arith.addi %i, %i : index
      %copied = {_COPY}
    }}"""
_GROUP = "%o = nvgpu.device_async_create_group %g"
_KINDS = "(vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>"
_SCORES = f"%t = nvgpu.mma.sync(%q, %m, %c) mmaShape = [16, 8, 16] : {_KINDS}"
_EXPONENTIALS = "%p = math.exp2 %t : vector<2x2xf32>"
_BARRIER = "gpu.barrier memfence [#gpu.address_space<workgroup>]"
_LOOP = f"""
func.func @f(%q: vector<4x2xf16>, %m: vector<2x2xf16>, %c: vector<2x2xf32>, %k: memref<4096xf16>,
    %s: {_SLOT}, %zero: index, %one: index, %n: index, %there: i1, %g: !nvgpu.device.async.token)
    -> vector<2x2xf32> attributes {{{launched("32, 1, 1", 32)}}} {{
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %c) -> vector<2x2xf32> {{ {HERE}
    nvgpu.device_async_wait %g numGroups = 1
    {_BARRIER}
    {_BRANCH}
    {_GROUP}
    {_SCORES}
    {_EXPONENTIALS}
    scf.yield %p : vector<2x2xf32>
  }}
  return %r : vector<2x2xf32>
}}
"""


_ELSE = f"""{_BRANCH} else {{
      {_BARRIER}
    }}"""
_STORED = "memref.store %n, %w[%zero] : memref<4xindex>"
_ALLOCATED = "  %r = scf.for"
KEPT: Kept = {
    "no branch": (
        "they are not issued in one branch and one group",
        (_BRANCH, f"%a = arith.addi %i, %i : index\n    %copied = {_COPY}"),
    ),
    "two branches": (
        "they are not issued in one branch and one group",
        (_BRANCH, f"{_BRANCH}\n    {_BRANCH}"),
    ),
    "two groups": (
        "they are not issued in one branch and one group",
        (_GROUP, f"{_GROUP}\n    %o2 = nvgpu.device_async_create_group %g"),
    ),
    "another side": ("gpu.barrier stands beside them", (_BRANCH, _ELSE)),
    # Whoever waits for the group does not wait for these copies.
    "group before copies": (
        "their group is not closed right behind them",
        (_GROUP, ""),
        (_BRANCH, f"{_GROUP}\n    {_BRANCH}"),
    ),
    "barrier before the group": (
        "their group is not closed right behind them",
        (_GROUP, f"{_BARRIER}\n    {_GROUP}"),
    ),
    # Others may read the slot from before the barrier on.
    "barrier before products": (
        "no products come before the exponentials",
        (_SCORES, f"{_BARRIER}\n    {_SCORES}"),
    ),
    "products behind exponentials alone": (
        "no products come before the exponentials",
        (_SCORES, f"%e = math.exp2 %x : vector<2x2xf32>\n    {_SCORES}"),
    ),
    # The copy might read what is stored.
    "store before products": (
        "no products come before the exponentials",
        (_ALLOCATED, f"  %w = memref.alloc() : memref<4xindex>\n{_ALLOCATED}"),
        (_SCORES, f"{_STORED}\n    {_SCORES}"),
    ),
    "store in a branch before products": (
        "no products come before the exponentials",
        (_ALLOCATED, f"  %w = memref.alloc() : memref<4xindex>\n{_ALLOCATED}"),
        (_SCORES, f"scf.if %there {{\n      {_STORED}\n    }}\n    {_SCORES}"),
    ),
    # The copies would have nothing but the exponentials to arrive.
    "next step waits": (
        "the next step waits for them, and only 0 products are left",
        ("numGroups = 1", "numGroups = 0"),
    ),
    "something else in the branch": (
        "memref.store stands beside them",
        (_ALLOCATED, f"  %w = memref.alloc() : memref<4xindex>\n{_ALLOCATED}"),
        ("      %copied", f"      {_STORED}\n      %copied"),
    ),
}


@each_kept(KEPT)
def test_copies_stay_at_the_beginning(reason: str, edits: list[Edit]) -> None:
    said = f"copies are issued at the beginning of a step: {reason}"
    assert_kept(edited(_LOOP, *edits), DelayCopies(), said=said, target="sm_80")


def test_loops_without_exponentials_are_not_looked_at() -> None:
    text = edited(_LOOP, (_EXPONENTIALS, "%p = math.absf %t : vector<2x2xf32>"))
    parsed = parse(text)
    before = str(parsed)
    assert not run(parsed, DelayCopies(), target="sm_80").said
    assert str(parsed) == before


def test_what_a_branch_has_left_behind_is_in_nobodys_way() -> None:
    left = "scf.if %there {\n      %b = arith.addi %i, %i : index\n    }"
    parsed = parse(edited(_LOOP, (_SCORES, f"{left}\n    {_SCORES}")))
    said = run(parsed, DelayCopies(), target="sm_80").messages
    assert said == ["copies are issued behind 1 product of a step"]


def test_copies_for_which_the_next_step_waits_come_before_many_products() -> None:
    products = "\n".join(f"    {_SCORES.replace('%t', f'%t{n}')}" for n in range(96))
    text = edited(_LOOP, ("numGroups = 1", "numGroups = 0"))
    text = edited(text, (_EXPONENTIALS, f"{_EXPONENTIALS}\n{products}"))
    said = run(parse(text), DelayCopies(), target="sm_80").messages
    assert said == ["copies are issued behind 1 product of a step"]
