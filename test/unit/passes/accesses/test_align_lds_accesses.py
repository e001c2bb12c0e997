# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""passes/accesses/align_lds_accesses: of which accesses all lanes are asked, which takes long."""

from __future__ import annotations

import pytest

from bankwise.passes.accesses import align_lds_accesses
from bankwise.passes.accesses.align_lds_accesses import AlignLdsAccesses
from bankwise.passes.base import PassContext

from ...functions import LDS, launched, lds, parse

_OTHER = "#hal.descriptor_type<storage_buffer>"


@pytest.mark.parametrize(
    ("row", "memory", "asked"), [(72, _OTHER, 0), (68, _OTHER, 1), (72, LDS, 1)]
)
def test_all_lanes_are_asked_where_an_access_to_the_lds_may_fault(
    row: int, memory: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of 68 f16 are no multiple of 16 bytes, and the LDS may begin anywhere behind `%n`."""
    tile, kind = lds(f"16x{row}xf16"), f"memref<4096xf16, {memory}>"
    source = (
        "hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer>]>)"
        " binding(0)"
        if memory == _OTHER
        else "memref.alloc()"
    )
    module = parse(f"""
func.func @f(%n: index) attributes {{{launched("32, 1, 1", 32)}}} {{
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x upper_bound 32
  %r = affine.apply affine_map<(t) -> (t mod 16)>(%x)
  %a = memref.alloc() : {tile}
  %f = nvgpu.ldmatrix %a[%r, %c0] numTiles = 4 transpose = false : {tile} -> vector<4x2xf16>
  %b = {source} : {kind}
  %c = memref.assume_alignment %b, 64 : {kind}
  %v = vector.load %c[%n] alignment = 16 : {kind}, vector<8xf16>
  return
}}""")
    found: list[object] = []
    monkeypatch.setattr(
        align_lds_accesses, "_warn_of_misaligned", lambda *given: found.append(given)
    )
    AlignLdsAccesses().run(module.function, PassContext(test_target="sm_80"))
    assert len(found) == asked
