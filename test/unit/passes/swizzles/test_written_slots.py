# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels with slots, `ldmatrix`, `cp.async` and transposing loads have one count each."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.layouts import Layout, PlainLayout
from bankwise.bank_model.lds_tables import lds_of
from bankwise.dialect_utils.diagnostics import SourceLocation
from bankwise.passes.decisions import Action
from bankwise.passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from bankwise.passes.swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from bankwise.passes.swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from bankwise.report.conflict_report import AllocationReport, report_function

from ...functions import LDS, Parsed, launched, parse, run, traced

_THREADS = 128
_ITERATIONS = 4


@st.composite
def _sinks(draw: st.DrawFn, arch: str, rows: int, columns: int, number: int) -> list[str]:
    """Draws an access to view %v, a slot of some rows and columns."""
    width = draw(st.sampled_from((2, 4, 8)))
    kind = draw(
        st.sampled_from(
            ("store", "load", *(("copy", "ldmatrix") if arch == "sm_80" else ("transpose",)))
        )
    )
    if kind == "transpose":
        width = 4
    across = columns // width
    divide = draw(st.sampled_from([n for n in (1, 2, 4, 8, 16, 64) if n <= across] + [across]))
    step = draw(st.sampled_from((1, 1, 1, 2, 5)))
    row = f"t floordiv {divide} * {step} + {draw(st.integers(0, 3))}"
    column = f"(t mod {divide} + {draw(st.integers(0, 1))})"
    if kind == "ldmatrix":
        width, across = 8, columns // 8
        row, column = "t mod 16", f"(t mod 32 floordiv 16 + {draw(st.integers(0, 3))})"
    lines = [
        f"%r{number} = affine.apply affine_map<(t) -> (({row}) mod {rows})>(%t)",
        f"%c{number} = affine.apply affine_map<(t) -> ({column} mod {across} * {width})>(%t)",
    ]
    place, vector = f"%v[AT%r{number}, %c{number}]", f"vector<{width}xf16>"
    tiles = draw(st.sampled_from((1, 2, 4)))
    transposed = draw(st.sampled_from(("true", "false")))
    read = {
        "load": (f"vector.load {place} : VIEW, {vector}", vector),
        "ldmatrix": (
            f"nvgpu.ldmatrix {place} numTiles = {tiles} transpose = {transposed} : VIEW -> "
            f"vector<{tiles}x2xf16>",
            f"vector<{tiles}x2xf16>",
        ),
        "transpose": (f"amdgpu.transpose_load {place} : VIEW -> vector<4xf16>", "vector<4xf16>"),
    }
    written = {
        "store": f"vector.store %x{width}, {place} : VIEW, {vector}",
        "copy": f"%k{number} = nvgpu.device_async_copy %g[%t, %zero], {place}, {width}"
        " : memref<128x8xf16> to VIEW",
    }
    if kind in written:
        return [*lines, written[kind]]
    operation, result = read[kind]
    # Nothing else uses what is read.
    used = f"%u{number} = util.optimization_barrier %l{number} : {result}"
    return [*lines, f"%l{number} = {operation}", used]


@st.composite
def _kernels(draw: st.DrawFn) -> tuple[str, str]:
    """Draws the GPU and the text of a kernel whose accesses go to slots of a buffer, by views."""
    arch = draw(st.sampled_from(("sm_80", "sm_80", "gfx950")))
    slots, rows = draw(st.sampled_from((1, 2, 3))), draw(st.sampled_from((16, 32, 64)))
    columns = draw(st.sampled_from((16, 32, 64, 128)))
    sinks = [draw(_sinks(arch, rows, columns, n)) for n in range(draw(st.integers(1, 4)))]
    whole = f"memref<{slots}x{rows}x{columns}xf16, {LDS}>"
    flat = f"memref<{rows}x{columns}xf16, strided<[{columns}, 1], offset: ?>, {LDS}>"
    third = rows * columns
    deep = f"memref<1x{rows}x{columns}xf16, strided<[{third}, {columns}, 1], offset: ?>, {LDS}>"
    lost = f"memref<?x{columns}xf16, strided<[?, 1], offset: ?>, {LDS}>"
    part = f"memref.subview %m[%slot, 0, 0] [1, {rows}, {columns}] [1, 1, 1] : {whole} to"
    views = {
        flat: [f"%v = {part} {flat}"],
        deep: [f"%v = {part} {deep}"],
        lost: [f"%u = {part} {flat}", f"%v = memref.cast %u : {flat} to {lost}"],
    }
    view = draw(st.sampled_from(list(views)))
    body = "\n".join(line for sink in sinks for line in sink).replace("VIEW", view)
    body = body.replace("AT", "%zero, " if view == deep else "")
    constants = "\n".join(f"%x{n} = arith.constant dense<0.0> : vector<{n}xf16>" for n in (2, 4, 8))
    steps = "\n".join(f"%n{n} = arith.constant {n} : index" for n in (1, _ITERATIONS))
    shift = draw(st.integers(0, 2))
    text = f"""
    func.func @f(%g: memref<128x8xf16>)
        attributes {{{launched(f"{_THREADS}, 1, 1", lds_of(arch).wave_size)}}} {{
      %t = gpu.thread_id x upper_bound {_THREADS}
      %zero = arith.constant 0 : index
      {steps}
      {constants}
      %m = memref.alloc() : {whole}
      scf.for %i = %zero to %n{_ITERATIONS} step %n1 {{
        %slot = affine.apply affine_map<(i) -> ((i + {shift}) mod {slots})>(%i)
        {chr(10).join(views[view])}
        {body}
      }}
      return
    }}"""
    return arch, text


Places = dict[int, list[npt.NDArray[np.int64]]]
"""The elements [issues, lanes, elements of a lane] of accesses, by the lines they come from."""


def _places(parsed: Parsed) -> tuple[LdsTile, Places]:
    (found,) = traced(parsed)
    assert not found.unknown
    places: Places = defaultdict(list)
    for each in found.traced:
        place = SourceLocation.of(each.operation.location)
        assert place is not None
        access = each.access
        places[place.line].append(access.elements[..., None] + np.arange(access.count))
    return found.tile, places


def _assert_moved(before: Places, tile: LdsTile, after: Places, layout: Layout) -> None:
    """Asserts that each lane accesses the elements that it did, where the layout has put them."""
    assert before.keys() == after.keys()
    everywhere = layout.offsets(tile, np.arange(tile.elements))
    assert len(np.unique(everywhere)) == tile.elements
    for line, parts in before.items():
        wanted = layout.offsets(tile, np.concatenate(parts, axis=-1))
        found = np.concatenate(after[line], axis=-1)
        np.testing.assert_array_equal(np.sort(found), np.sort(wanted))
        is_whole = layout.group_elements(tile) >= wanted.shape[-1]
        if is_whole and len(after[line]) == len(parts):
            np.testing.assert_array_equal(found, wanted)


def _report(parsed: Parsed, arch: str, *, decided: bool = False) -> AllocationReport:
    (found,) = report_function(parsed.function, arch, decided=decided).allocations
    assert not found.unknown, found.unknown
    return found


@pytest.mark.usefixtures("context")
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(_kernels())
def test_report_decisions_and_code_agree(drawn: tuple[str, str]) -> None:
    arch, text = drawn
    parsed = parse(text)
    before = _report(parsed, arch)
    tile, places = _places(parsed)
    proposed = before.chosen
    assert proposed is not None
    steps = (
        SwizzleLdsAllocs(defer_to_padding=True),
        FlattenSwizzleHints(),
        PadUnhintedAllocs(),
    )
    decided = run(parsed, *steps, target=arch)
    hinted = _report(parsed, arch, decided=True)
    assert hinted.standing is not None
    parsed.run_native("iree-codegen-fold-memref-alias-ops")
    resolved = run(parsed, ResolveSwizzleHints(), target=arch)
    assert not resolved.warnings
    (left,) = [
        each.conflict_cycles_after for each in decided.decisions if decided.context.log.stands(each)
    ]
    compiled = _report(parsed, arch, decided=True)
    assert compiled.standing is not None
    counts = (
        proposed.conflict_cycles,
        hinted.standing.conflict_cycles,
        left,
        compiled.standing.conflict_cycles,
    )
    assert len(set(counts)) == 1, counts
    if any(each.action is Action.HINT for each in resolved.decisions):
        assert proposed.layout != PlainLayout()
    _assert_moved(places, tile, _places(parsed)[1], proposed.layout)
