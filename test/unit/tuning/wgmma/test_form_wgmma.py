# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-form-wgmma` forms a `wgmma` just where a descriptor gives what the warps read.

What a descriptor gives is written down here once more, from the PTX ISA and from measurements: the
bytes that the emitted start, distances and mode stand for must be those that `ldmatrix` read.
"""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.descriptor_tiles import (
    DESCRIPTOR_MODES,
    DescriptorMode,
    described_operand,
)
from bankwise.dialect_utils.gpu_target import launch_of
from bankwise.dialect_utils.index.lane_values import LaneEvaluator, LaneValues
from bankwise.passes.decisions import Action
from bankwise.tuning.wgmma.form_wgmma import FormWgmma
from bankwise.tuning.wgmma.stored_factors import STORED_A

from ...functions import HERE, Edit, Kept, assert_kept, each_kept, edited, launched, lds, parse, run

TARGET = "sm_90a"
GROUP = "affine_map<(t) -> (t mod 32 floordiv 8 mod 2)>"
ROW = "affine_map<(t) -> (t mod 8 + t mod 32 floordiv 16 * 8)>"
LOADED = "vector<4x2xf16>"


def mma(result: str, a: str, b: str, c: str) -> str:
    return (
        f"%{result} = nvgpu.mma.sync(%{a}, %{b}, %{c}) mmaShape = [16, 8, 16] : "
        "(vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>"
    )


def halves(matrices: str, name: str) -> str:
    """Returns the two operands B whose registers are those of four matrices."""
    text = f"%{matrices}e:8 = vector.to_elements %{matrices} : {LOADED}\n"
    for number in range(2):
        elements = ", ".join(f"%{matrices}e#{4 * number + k}" for k in range(4))
        text += f"  %{name}{number} = vector.from_elements {elements} : vector<2x2xf16>\n"
    return text


# A tile of 16 columns and 64 k, K-major, in the 128-byte mode: lane l gives column l mod 8 of the
# matrix l / 8, the matrices 1 and 3 are 8 k behind, 2 and 3 are 8 columns further. The tile starts
# 2,048 bytes behind the allocation.
KERNEL = f"""
func.func @f(%a: vector<4x2xf16>, %c: vector<2x2xf32>, %d: vector<2x2xf32>, %v: vector<8xf16>)
    -> (vector<2x2xf32>, vector<2x2xf32>) attributes {{{launched("128, 1, 1", 32)}}} {{
  %t = gpu.thread_id x
  %first = arith.constant 1024 : index
  %m = memref.alloc() : {lds("4096xf16")}
  %w = affine.apply affine_map<(t) -> (t * 8)>(%t)
  vector.store %v, %m[%w] : {lds("4096xf16")}, vector<8xf16>
  gpu.barrier
  %s = memref.subview %m[%first] [1024] [1] : {lds("4096xf16")} to {
    lds("1024xf16, strided<[1], offset: ?>")
}
  %r = affine.apply {ROW}(%t)
  %g = affine.apply {GROUP}(%t)
  %low = affine.apply affine_map<(r) -> (r mod 8)>(%r)
  %moved = arith.xori %g, %low : index
  %o = affine.apply affine_map<(r, m) -> (r * 64 + m * 8)>(%r, %moved)
  %b = nvgpu.ldmatrix %s[%o] numTiles = 4 transpose = false : {
    lds("1024xf16, strided<[1], offset: ?>")
} -> {LOADED}
  {halves("b", "b")}
  {mma("x", "a", "b0", "c")} {HERE}
  {mma("y", "a", "b1", "d")}
  return %x, %y : vector<2x2xf32>, vector<2x2xf32>
}}
"""


def assembly(text: str) -> list[str]:
    """Returns the instructions of assembly in a function, without their operands."""
    return [each.split(" ")[0].rstrip(";") for each in re.findall(r'asm[a-z_ ]* "([^"]*)"', text)]


def test_two_contractions_become_one_instruction() -> None:
    parsed = parse(KERNEL)
    done = run(parsed, FormWgmma(), target=TARGET)
    text = str(parsed)
    assert "nvgpu.mma.sync" not in text
    assert [each for each in assembly(text) if "{" not in each] == [
        "fence.proxy.async.shared::cta",
        "wgmma.fence.sync.aligned",
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16",
        "wgmma.commit_group.sync.aligned",
        "wgmma.wait_group.sync.aligned",
    ]
    assert text.index("fence.proxy") < text.index("gpu.barrier") < text.index("wgmma.fence")
    assert done.decision.action is Action.WGMMA
    assert done.decision.detail == "1 wgmma"
    assert "alignment = 1024" in text


def test_a_second_step_follows_in_the_same_group() -> None:
    """The k from 16 on start 32 bytes behind, 2 groups on; the sums go from one to the other."""
    more = f"""
  %g2 = affine.apply affine_map<(g) -> (g + 2)>(%g)
  %moved2 = arith.xori %g2, %low : index
  %o2 = affine.apply affine_map<(r, m) -> (r * 64 + m * 8)>(%r, %moved2)
  %e = nvgpu.ldmatrix %s[%o2] numTiles = 4 transpose = false : {
        lds("1024xf16, strided<[1], offset: ?>")
    } -> {LOADED}
  {halves("e", "e")}
  {mma("x2", "a", "e0", "x")}
  {mma("y2", "a", "e1", "y")}
  return %x2, %y2"""
    parsed = parse(edited(KERNEL, ("return %x, %y", more)))
    run(parsed, FormWgmma(), target=TARGET)
    found = [each for each in assembly(str(parsed)) if each.startswith("wgmma")]
    assert [each.split(".")[1] for each in found] == [
        "fence",
        "mma_async",
        "mma_async",
        "commit_group",
        "wait_group",
    ]
    starts = re.findall(r"arith.constant (\d+) : i64", str(parsed))
    assert "2" in starts and "0" in starts


# A of the four warps: 64 rows of 64 k in the 128-byte mode. Lane l gives the row l mod 16 of its
# warp's 16, of the first 8 k below lane 16, and of the others from there on.
STORED = """%n = memref.alloc() : {tile}
  %t4 = affine.apply affine_map<(t) -> (t * 32)>(%t)
  vector.store %v, %n[%t4] : {tile}, vector<8xf16>
  gpu.barrier""".format(tile=lds("4096xf16"))
READ_A = f"""%ra = affine.apply affine_map<(t) -> (t floordiv 32 * 16 + t mod 16)>(%t)
  %ga = affine.apply affine_map<(t) -> (t mod 32 floordiv 16)>(%t)
  %la = affine.apply affine_map<(r) -> (r mod 8)>(%ra)
  %ma = arith.xori %ga, %la : index
  %oa = affine.apply affine_map<(r, m) -> (r * 64 + m * 8)>(%ra, %ma)
  %e = nvgpu.ldmatrix %n[%oa] numTiles = 4 transpose = false : {lds("4096xf16")} -> {LOADED}
"""
FROM_LDS = edited(
    KERNEL,
    ("gpu.barrier", STORED),
    ("  %b = nvgpu.ldmatrix", f"  {READ_A}  %b = nvgpu.ldmatrix"),
).replace("(%a,", "(%e,")


def descriptors(text: str) -> tuple[str, ...]:
    """Returns the operands of the one `wgmma` behind its sums, and what is said of their majors."""
    found = re.search(r"mma_async[^{]*{[^}]*}, (.*?), 1, 1, 1, (.*?);", text)
    assert found
    return found.groups()


def test_a_descriptor_gives_a_too() -> None:
    parsed = parse(FROM_LDS)
    done = run(parsed, FormWgmma(), target=TARGET)
    text = str(parsed)
    assert "nvgpu.ldmatrix %n" not in text and descriptors(text) == ("$16, $17", "0, 0")
    assert len(done.decisions) == 2 and {each.detail for each in done.decisions} == {"1 wgmma"}


TRANSPOSED_A = (
    # 64 k of 64 rows, of which a warp takes 16 rows, and the k 0 to 15: l mod 8 + l / 16 * 8.
    ("(t floordiv 32 * 16 + t mod 16)", "(t mod 8 + t mod 32 floordiv 16 * 8)"),
    ("(t mod 32 floordiv 16)>(%t)\n  %la", "(t floordiv 32 * 2 + t mod 16 floordiv 8)>(%t)\n  %la"),
    ("%n[%oa] numTiles = 4 transpose = false", "%n[%oa] numTiles = 4 transpose = true"),
)


def test_a_descriptor_gives_an_a_whose_rows_lie_along_m() -> None:
    parsed = parse(edited(FROM_LDS, *TRANSPOSED_A))
    run(parsed, FormWgmma(), target=TARGET)
    assert descriptors(str(parsed)) == ("$16, $17", "1, 0")


IN_REGISTERS: dict[str, tuple[Edit, ...]] = {
    "rows of 32 bytes in another order": (("(r mod 8)>(%ra)", "(r floordiv 2 mod 8)>(%ra)"),),
    "warps with 32 rows each": (("t floordiv 32 * 16 + t mod 16", "t floordiv 32 * 8 + t mod 16"),),
    "halves that are exchanged": (("(t mod 32 floordiv 16)", "(1 - t mod 32 floordiv 16)"),),
    "rows that are exchanged": (("+ t mod 16)>", "+ (t + 8) mod 16)>"),),
    "a tile at 128 bytes": (
        ("%n[%oa]", "%sa[%oa]"),
        (
            "  %e = nvgpu.ldmatrix",
            "  %at = arith.constant 64 : index\n  %sa = memref.subview %n[%at] [2048] [1] : "
            f"{lds('4096xf16')} to {lds('2048xf16, strided<[1], offset: ?>')}\n"
            "  %e = nvgpu.ldmatrix",
        ),
        (
            f"transpose = false : {lds('4096xf16')}",
            f"transpose = false : {lds('2048xf16, strided<[1], offset: ?>')}",
        ),
    ),
    "another operand than it reads": (
        (
            "  %b = nvgpu.ldmatrix",
            "  %half = arith.constant dense<0.5> : vector<4x2xf16>\n"
            "  %e = arith.mulf %e0, %half : vector<4x2xf16>\n  %b = nvgpu.ldmatrix",
        ),
        ("%e = nvgpu", "%e0 = nvgpu"),
    ),
}


@pytest.mark.parametrize("name", IN_REGISTERS)
def test_an_a_that_no_descriptor_gives_stays_in_registers(name: str) -> None:
    parsed = parse(edited(FROM_LDS, *IN_REGISTERS[name]))
    run(parsed, FormWgmma(), target=TARGET)
    text = str(parsed)
    a, majors = descriptors(text)
    assert a.startswith("{") and majors == "0" and "nvgpu.ldmatrix" in text


def rotating(slots: int, ahead: int) -> str:
    """Returns a loop of eight steps that rotates through slots, and copies `ahead` of a step."""
    view = f"[{{size}}] [1] : {lds('{all}')} to {lds('{size}xf16, strided<[1], offset: ?>')}"
    views = {
        name: view.format(size=size, all=f"{slots * size}xf16")
        for name, size in (("m", 1024), ("n", 4096))
    }
    strided = "xf16, strided<[1], offset: ?>"
    read_a = READ_A.replace("%n[", "%sa[").replace(lds("4096xf16"), lds("4096" + strided))
    body = KERNEL[KERNEL.index("  %r = affine") : KERNEL.index("  return")]
    body = body.replace("(%a,", "(%e,").replace(", %c)", ", %p)").replace(", %d)", ", %q)")
    pair = "vector<2x2xf32>, vector<2x2xf32>"
    return f"""
func.func @f(%c: vector<2x2xf32>, %d: vector<2x2xf32>, %from: memref<4096xf16>, %v: vector<8xf16>)
    -> ({pair}) attributes {{{launched("128, 1, 1", 32)}}} {{
  %t = gpu.thread_id x
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %ahead = arith.constant {ahead} : index
  %slots = arith.constant {slots} : index
  %m = memref.alloc() : {lds(f"{slots * 1024}xf16")}
  %n = memref.alloc() : {lds(f"{slots * 4096}xf16")}
  %w = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %first = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
  %l:2 = scf.for %i = %0 to %8 step %1 iter_args(%p = %c, %q = %d) -> ({pair}) {{
    nvgpu.device_async_wait %first numGroups = 1
    gpu.barrier
    %here = arith.remui %i, %slots : index
    %next = arith.addi %i, %ahead : index
    %there = arith.remui %next, %slots : index
    %ob = affine.apply affine_map<(s) -> (s * 1024)>(%here)
    %ofa = affine.apply affine_map<(s) -> (s * 4096)>(%here)
    %tb = affine.apply affine_map<(s) -> (s * 1024)>(%there)
    %tfa = affine.apply affine_map<(s) -> (s * 4096)>(%there)
    %s = memref.subview %m[%ob] {views["m"]}
    %sa = memref.subview %n[%ofa] {views["n"]}
    %db = memref.subview %m[%tb] {views["m"]}
    %da = memref.subview %n[%tfa] {views["n"]}
    %ca = nvgpu.device_async_copy %from[%w], %da[%w], 8 : memref<4096xf16> to {
        lds("4096" + strided)
    }
    %cb = nvgpu.device_async_copy %from[%w], %db[%w], 8 : memref<4096xf16> to {
        lds("1024" + strided)
    }
    %group = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
    {read_a}
  {body}
    scf.yield %x, %y : {pair}
  }}
  return %l#0, %l#1 : {pair}
}}"""


def waits(text: str) -> list[str]:
    """Returns how many groups each wait leaves under way, and whether it is in the loop."""
    found = re.finditer(r"wait_group.sync.aligned (\d)", text)
    end = text.index("scf.yield")
    return [f"{each[1]} {'inside' if each.start() < end else 'behind'}" for each in found]


@pytest.mark.parametrize("slots", range(2, 6))
@pytest.mark.parametrize("ahead", range(1, 5))
def test_a_group_runs_on_where_nothing_is_copied_to_what_it_reads(slots: int, ahead: int) -> None:
    """Behind the barrier of step t, group t - 1 may read its slot, and t begins to."""
    text = rotating(slots, ahead).replace("{HERE}", "")
    parsed = parse(text)
    run(parsed, FormWgmma(), target=TARGET)
    read = [{step % slots, (step - 1) % slots} for step in range(8)]
    is_free = all((step + ahead) % slots not in read[step] for step in range(1, 8))
    assert waits(str(parsed)) == (["1 inside", "0 behind"] if is_free else ["0 inside"])


WAITING: dict[str, tuple[str, tuple[Edit, ...]]] = {
    "the sums of the loop change places": (
        "a sum changes its place from iteration to iteration",
        (("scf.yield %x, %y", "scf.yield %y, %x"),),
    ),
    "a sum is added to in the loop": (
        "a sum changes its place from iteration to iteration",
        (("scf.yield %x, %y", "%more = arith.addf %y, %y : vector<2x2xf32>\nscf.yield %x, %more"),),
    ),
    "a sum is looked at in the loop": (
        "a sum is used in the loop",
        (
            (
                "scf.yield %x, %y",
                "%old = vector.extract %q[0, 0] : f32 from vector<2x2xf32>\n"
                "memref.store %old, %seen[%0] : memref<1xf32>\nscf.yield %x, %y",
            ),
            ("%from: memref<4096xf16>", "%from: memref<4096xf16>, %seen: memref<1xf32>"),
        ),
    ),
    "a sum begins anew in each step": (
        "a sum does not begin with that of the iteration before",
        ((mma("y", "e", "b1", "q"), mma("y", "e", "b1", "d")),),
    ),
    "slots that the caller chooses": (
        "the start of a buffer depends on the block argument of func.func",
        (
            ("%there = arith.remui %next, %slots", "%there = arith.remui %given, %slots"),
            ("%from: memref<4096xf16>", "%from: memref<4096xf16>, %given: index"),
        ),
    ),
    "something else is stored": (
        "something else than copies behind the barrier may write its tile",
        (
            (
                "scf.yield %x, %y",
                f"vector.store %v, %m[%w] : {lds('4096xf16')}, vector<8xf16>\nscf.yield %x, %y",
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", WAITING)
def test_an_iteration_waits_where_its_group_may_not_run_on(name: str) -> None:
    reason, edits = WAITING[name]
    parsed = parse(edited(rotating(4, 2), *edits))
    done = run(parsed, FormWgmma(), target=TARGET)
    assert waits(str(parsed)) == ["0 inside"]
    assert [each.message for each in done.said if "waits" in each.message] == [
        f"an iteration waits for its wgmma: {reason}"
    ]


def test_a_copy_before_the_barrier_comes_too_early() -> None:
    """In the next step but one, other warps may still wait for the group."""
    text = rotating(4, 2)
    barrier = "    gpu.barrier\n"
    text = text.replace(barrier, "").replace("    %group = ", barrier + "    %group = ")
    parsed = parse(text)
    run(parsed, FormWgmma(), target=TARGET)
    assert waits(str(parsed)) == ["0 inside"]


def factor(name: str, scores: str) -> str:
    """Returns what makes an A of the exponentials of scores, which are called `name`, too."""
    return f"""
  %{name}p = math.exp2 %{scores} : vector<2x2xf32>
  %{name}t = arith.truncf %{name}p : vector<2x2xf32> to vector<2x2xf16>
  %{name}e:4 = vector.to_elements %{name}t : vector<2x2xf16>
  %{name} = vector.from_elements %{name}e#0, %{name}e#1, %{name}e#2, %{name}e#3,
                                 %{name}e#0, %{name}e#1, %{name}e#2, %{name}e#3 : {LOADED}"""


def test_lanes_compute_while_products_of_what_they_have_run() -> None:
    """The second A is computed behind the first product, and the sum before all are waited for."""
    more = f"""
  {factor("p", "x")}
  {factor("q", "y")}
  {mma("o0", "p", "b0", "c")}
  {mma("o1", "p", "b1", "d")}
  {mma("r0", "q", "b0", "o0")}
  {mma("r1", "q", "b1", "o1")}
  %sum = arith.addf %pp, %qp : vector<2x2xf32>
  %used = arith.addf %sum, %r1 : vector<2x2xf32>
  return %r0, %used"""
    parsed = parse(edited(KERNEL, ("return %x, %y", more)))
    run(parsed, FormWgmma(), target=TARGET)
    steps = "wgmma\\.(?:fence|mma_async|commit_group|wait_group)|math.exp2|arith.addf"
    assert re.findall(steps, str(parsed)) == [
        *("wgmma.fence", "wgmma.mma_async", "wgmma.commit_group", "wgmma.wait_group"),
        *("math.exp2", "wgmma.fence", "wgmma.mma_async"),
        *("math.exp2", "wgmma.fence", "wgmma.mma_async"),
        *("wgmma.commit_group", "arith.addf", "wgmma.wait_group", "arith.addf"),
    ]


def masked(place: str) -> list[Edit]:
    """Returns edits that add a mask's elements to a product, from `place` on in memory."""
    mask = f"""
  %as = memref.assume_alignment %from, 64 : memref<4096xf16>
  %at = affine.apply affine_map<(g) -> ({place})>(%g)
  %mask = vector.load %as[%at] : memref<4096xf16>, vector<2xf16>
  %wide = arith.extf %mask : vector<2xf16> to vector<2xf32>
  %both = vector.broadcast %wide : vector<2xf32> to vector<2x2xf32>
  %z = arith.addf %x, %both : vector<2x2xf32>
  return %z, %y"""
    return [
        ("%v: vector<8xf16>)", "%v: vector<8xf16>, %from: memref<4096xf16>)"),
        ("return %x, %y", mask),
    ]


def test_a_mask_is_loaded_while_the_products_run() -> None:
    parsed = parse(edited(KERNEL, *masked("g * 2")))
    run(parsed, FormWgmma(), target=TARGET)
    text = str(parsed)
    order = ("commit_group", "ld.global.b32", "bar.warp.sync", "wait_group", "arith.extf")
    places = [text.index(each) for each in order]
    assert places == sorted(places)
    assert "vector.load %assume_align" not in text


def test_a_byte_of_a_mask_has_half_a_register() -> None:
    mask = """
  %byte = vector.load %from[%g] : memref<4096xi8>, vector<1xi8>
  %wide = arith.uitofp %byte : vector<1xi8> to vector<1xf32>
  %both = vector.broadcast %wide : vector<1xf32> to vector<2x2xf32>
  %z = arith.addf %x, %both : vector<2x2xf32>
  return %z, %y"""
    edits = [
        ("%v: vector<8xf16>)", "%v: vector<8xf16>, %from: memref<4096xi8>)"),
        ("return %x, %y", mask),
    ]
    parsed = parse(edited(KERNEL, *edits))
    run(parsed, FormWgmma(), target=TARGET)
    text = str(parsed)
    assert re.search(r'ld.global.b8 .*"=h,l,~\{memory\}".* -> i16', text)
    assert text.index("ld.global.b8") < text.index("wait_group")
    assert re.search(r"offsets = \[0\], sizes = \[1\].*vector<2xi8> to vector<1xi8>", text)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(("(g * 2)", "(g * 2 + 1)"), id="no register begins there"),
        pytest.param(("assume_alignment %from, 64", "assume_alignment %from, 2"), id="nor there"),
        pytest.param(
            (
                "  %mask =",
                "  vector.store %v, %as[%g] : memref<4096xf16>, vector<8xf16>\n  %mask =",
            ),
            id="it may have been written",
        ),
        pytest.param(("[128, 1, 1]", "[256, 1, 1]"), id="two warpgroups share the registers"),
    ],
)
def test_other_masks_are_loaded_behind_the_wait(edit: Edit) -> None:
    parsed = parse(edited(edited(KERNEL, *masked("g * 2")), edit))
    run(parsed, FormWgmma(), target=TARGET)
    text = str(parsed)
    assert "ld.global" not in text
    assert text.index("wait_group") < text.index("vector.load %assume_align")


SECOND = mma("y", "a", "b1", "d")
COPIES = f"""
  %on = arith.cmpi ult, %t, %first : index
  scf.if %on {{
    %token = nvgpu.device_async_copy %from[%w], %m[%w], 8 : memref<4096xf16> to {lds("4096xf16")}
  }}
  %group = "nvgpu.device_async_create_group"() : () -> !nvgpu.device.async.token
"""
COPYING = (
    ("%v: vector<8xf16>)", "%v: vector<8xf16>, %from: memref<4096xf16>)"),
    ("  gpu.barrier", "  gpu.barrier" + COPIES),
)


def test_copies_are_issued_while_the_products_run() -> None:
    """What loads A would wait for them in front of the products."""
    parsed = parse(edited(KERNEL, *COPYING))
    run(parsed, FormWgmma(), target=TARGET)
    text = str(parsed)
    places = [
        text.index(each) for each in ("commit_group", "async_copy", "create_group", "wait_group")
    ]
    assert places == sorted(places)


def test_a_copy_that_is_waited_for_may_have_written_the_tile() -> None:
    waited = COPIES + "  nvgpu.device_async_wait %group numGroups = 0\n"
    text = edited(KERNEL, COPYING[0], ("  gpu.barrier", "  gpu.barrier" + waited))
    said = "no barrier may stand between what writes its tile and what reads it"
    assert_kept(text, FormWgmma(), said=said, target=TARGET)


def looped(*, carried: bool) -> str:
    """Returns the kernel whose contractions are in a loop, by an A that it carries or does not."""
    setup, body = KERNEL.split("  %b = nvgpu.ldmatrix")
    body = "  %b = nvgpu.ldmatrix" + body[: body.index("  return")]
    given = ("%p = %c, %q = %d", "vector<2x2xf32>, vector<2x2xf32>", "%x, %y")
    if carried:
        body = body.replace("(%a,", "(%n,")
        given = (given[0] + ", %n = %a", f"{given[1]}, {LOADED}", given[2] + ", %n")
    return f"""{setup}
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %l:{2 + carried} = scf.for %i = %0 to %first step %1 iter_args({given[0]}) -> ({given[1]}) {{
  {body.replace(", %c)", ", %p)").replace(", %d)", ", %q)")}
    scf.yield {given[2]} : {given[1]}
  }}
  return %l#0, %l#1 : vector<2x2xf32>, vector<2x2xf32>
}}"""


def test_an_a_that_a_loop_carries_stays_out_of_the_registers_of_wgmma() -> None:
    """ptxas gives such registers away behind a branch."""
    said = "its A comes from another iteration"
    assert_kept(looped(carried=True), FormWgmma(), said=said, target=TARGET)


def test_an_a_of_all_iterations_is_stored_before_the_loop() -> None:
    """Each lane stores its registers where the descriptor has the elements of `mma.sync`."""
    parsed = parse(looped(carried=False))
    run(parsed, FormWgmma(), target=TARGET)
    text = str(parsed)
    found = re.search(r"mma_async[^{]*{[^}]*}, (.*?), 1, 1, 1, (.*?);", text)
    assert found and found.groups() == ("$16, $17", "0, 0")
    # Nothing is read before the second barrier, so that the first one needs no fence.
    order = ("gpu.barrier", "vector<2xf16>", "fence.proxy", "scf.for")
    assert [text.index(each) for each in order] == sorted(map(text.index, order))
    stores = [each for each in parsed.operations("vector.store") if "vector<2xf16>" in str(each)]
    between = text[text.rindex("vector<2xf16>", 0, text.index("scf.for")) : text.index("scf.for")]
    assert between.index("fence.proxy") < between.index("gpu.barrier")
    launch = launch_of(parsed.function)
    assert launch is not None and len(stores) == 4
    described = described_bytes(STORED_A.high_bits, False, 8, 0)
    lane = np.arange(128)
    for register, store in enumerate(stores):
        element = LaneEvaluator(launch).evaluate(list(store.operands)[2])
        assert isinstance(element, LaneValues)
        row = lane // 32 * 16 + lane % 32 // 4 + register % 2 * 8
        group = described[row // 8, row % 8 * 2 + register // 2]
        assert (element.full(launch).ravel() * 2 == group + lane % 4 * 4).all()


def test_an_a_of_all_iterations_needs_lds() -> None:
    full = lds("114000xf16")
    more = f"%first = arith.constant 1024 : index\n %h = memref.alloc() : {full}"
    text = edited(looped(carried=False), ("%first = arith.constant 1024 : index", more))
    said = "there is no LDS for the A that all iterations multiply by"
    assert_kept(text, FormWgmma(), said=said, target=TARGET)


def test_zeros_that_all_sums_begin_with_are_no_obstacle() -> None:
    parsed = parse(edited(KERNEL, (SECOND, SECOND.replace("%d)", "%c)"))))
    run(parsed, FormWgmma(), target=TARGET)
    assert "m64n16k16" in str(parsed)


def test_columns_of_two_tiles_are_no_operand() -> None:
    """Both start at the same byte of their memrefs, as a distance of 0 would say."""
    view = lds("1024xf16, strided<[1], offset: 2048>")
    other = f"""%z = memref.subview %m[2048] [1024] [1] : {lds("4096xf16")} to {view}
  %bz = nvgpu.ldmatrix %z[%o] numTiles = 4 transpose = false : {view} -> {LOADED}
  {halves("bz", "z")}  {mma("x", "a", "b0", "c")}"""
    text = edited(
        KERNEL,
        (f"{mma('x', 'a', 'b0', 'c')}", other),
        (SECOND, mma("y", "a", "z0", "d")),
    )
    said = "products stay mma.sync: its operands are no rectangle of a tile"
    assert_kept(text, FormWgmma(), said=said, target=TARGET)


def test_columns_of_two_tiles_are_an_operand_each() -> None:
    """16 columns of each tile are multiplied by a `wgmma` of their own, all in one group."""
    view = lds("1024xf16, strided<[1], offset: 2048>")
    other = f"""%z = memref.subview %m[2048] [1024] [1] : {lds("4096xf16")} to {view}
  %bz = nvgpu.ldmatrix %z[%o] numTiles = 4 transpose = false : {view} -> {LOADED}
  {halves("bz", "z")}  {mma("x", "a", "b0", "c")}
  {mma("xz", "a", "z0", "c")}
  {mma("yz", "a", "z1", "d")}"""
    text = edited(KERNEL, (f"{mma('x', 'a', 'b0', 'c')}", other))
    text = edited(
        text,
        (
            "return %x, %y",
            "%xs = arith.addf %x, %xz : vector<2x2xf32>\n  "
            "%ys = arith.addf %y, %yz : vector<2x2xf32>\n  return %xs, %ys",
        ),
    )
    parsed = parse(text)
    run(parsed, FormWgmma(), target=TARGET)
    assert str(parsed).count("m64n16k16") == 2
    assert str(parsed).count("wgmma.commit_group") == 1


KEPT: Kept = {
    "plain layout": (
        "its operands are no rectangle of a tile in a descriptor's layout",
        ("%moved = arith.xori %g, %low : index", "%moved = arith.addi %g, %g : index"),
    ),
    # The rows of 128 bytes would be moved by bits that the mode does not take.
    "another swizzle": (
        "its operands are no rectangle of a tile in a descriptor's layout",
        ("(r mod 8)", "(r floordiv 2 mod 8)"),
    ),
    "warps read different columns": (
        "the four warps of a warpgroup read different operands",
        (
            "%r = affine.apply " + ROW,
            "%r = affine.apply " + ROW.replace("(t mod 8", "(t floordiv 32 mod 2 * 4 + t mod 8"),
        ),
    ),
    "two warps": ("its warps are no whole warpgroups of four", ("[128, 1, 1]", "[64, 1, 1]")),
    "tile starts at 128 bytes": (
        "its tile starts at no multiple of 1024 bytes",
        ("%first = arith.constant 1024", "%first = arith.constant 64"),
    ),
    "tile of each warp": (
        "its tile may start elsewhere for another warp",
        (
            "%first = arith.constant 1024 : index",
            "%first = affine.apply affine_map<(t) -> (t floordiv 32 * 1024)>(%t)",
        ),
    ),
    "written without a barrier": (
        "no barrier may stand between what writes its tile and what reads it",
        ("gpu.barrier", ""),
    ),
    "sixteen columns of which eight are asked for": (
        "its operands are no rectangle of a tile in a descriptor's layout",
        (SECOND, "%y = arith.addf %x, %x : vector<2x2xf32>"),
    ),
    "an operand is scaled": (
        "something else than nvgpu.ldmatrix fills an operand B",
        (
            SECOND,
            "%h = arith.constant dense<0.5> : vector<2x2xf16>\n"
            "%scaled = arith.mulf %b1, %h : vector<2x2xf16>\n" + mma("y", "a", "scaled", "d"),
        ),
    ),
    "columns that overlap": (
        "its operands are no rectangle of a tile in a descriptor's layout",
        ("t mod 32 floordiv 16 * 8", "t mod 32 floordiv 16 * 4"),
    ),
    "a sum is read on the way": (
        "a sum is used before all is added to it",
        (SECOND, mma("z", "a", "b1", "d") + "\n" + mma("y", "a", "b0", "x")),
    ),
    "half precision sums": (
        "wgmma is not known to give the same bits for f16 and f16",
        ("%c: vector<2x2xf32>, %d: vector<2x2xf32>", "%c: vector<2x2xf16>, %d: vector<2x2xf16>"),
        ("-> (vector<2x2xf32>, vector<2x2xf32>)", "-> (vector<2x2xf16>, vector<2x2xf16>)"),
        (mma("x", "a", "b0", "c"), mma("x", "a", "b0", "c").replace("f32", "f16")),
        (SECOND, SECOND.replace("f32", "f16")),
        (
            "return %x, %y : vector<2x2xf32>, vector<2x2xf32>",
            "return %x, %y : vector<2x2xf16>, vector<2x2xf16>",
        ),
    ),
}


@each_kept(KEPT)
def test_contractions_that_are_almost_a_wgmma_stay(reason: str, edits: list[Edit]) -> None:
    assert_kept(
        edited(KERNEL, *edits), FormWgmma(), said=f"products stay mma.sync: {reason}", target=TARGET
    )


@pytest.mark.parametrize("target", ["sm_80", "sm_120", "gfx942"])
def test_other_gpus_have_no_wgmma(target: str) -> None:
    parsed = parse(KERNEL)
    assert not run(parsed, FormWgmma(), target=target).said
    assert str(parsed) == str(parse(KERNEL))


def described_bytes(bits: int, mn_major: bool, tiles: int, start: int) -> np.ndarray:
    """Returns [tiles, 16]: where a descriptor has the 16-byte groups of B, by the PTX ISA."""
    lead, stride = ((bits >> low & 0x3FFF) * 16 for low in (16, 32))
    row, mask = {1: (128, 7), 2: (64, 3), 3: (32, 1)}[bits >> 62]
    found = np.zeros((tiles, 16), dtype=np.int64)
    for tile, number in np.ndindex(found.shape):
        if mn_major:
            across = row // 16
            place = tile // across * lead + tile % across * 16
            place += number // 8 * stride + number % 8 * row
        else:
            place = tile * stride + number // 2 * row + number % 2 * 16
        place += start
        found[tile, number] = place ^ (place >> 7 & mask) << 4
    return found


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(DESCRIPTOR_MODES),
    st.booleans(),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_a_described_operand_is_what_the_descriptor_gives(
    mode: DescriptorMode, mn_major: bool, blocks: int, first: int, gap: int, random: Random
) -> None:
    """A layout that a descriptor gives is found, and one group elsewhere is not."""
    row, code = mode.row_bytes, mode.code
    tiles = blocks * row // 16 if mn_major else 2 * blocks
    block = 8 * row
    bits = code << 62 | (block * gap // 16) << 32 | (block * 3 * gap // 16) << 16
    start = first * block + (0 if mn_major else first * 32 % row)
    groups = described_bytes(bits, mn_major, tiles, start)
    found = described_operand(groups[np.newaxis], mn_major)
    assert found is not None
    operand, starts = found
    assert starts.tolist() == [start]
    again = described_bytes(operand.high_bits, mn_major, tiles, start)
    assert (again == groups).all()
    moved = groups.copy()
    tile, number = random.randrange(tiles), random.randrange(16)
    moved[tile, number] ^= 16 << random.randrange(12)
    other = described_operand(moved[np.newaxis], mn_major)
    if other is not None:
        # Another descriptor may stand for it: it must then be that one's layout.
        operand, starts = other
        given_ = described_bytes(operand.high_bits, mn_major, tiles, int(starts[0]))
        assert (given_ == moved).all()
