# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bench/compiled_counts.py` counts of a compile, and what makes a row of it fail."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from bankwise.bench import compiled_counts
from bankwise.bench.compiled_counts import Compiled, CompiledRow, Source, cases, compiled, summary

ASSEMBLY = b"""
one:
	ds_load_2addr_b64 v[0:3], v2 offset1:1
	ds_load_u16_d16 v0, v1
	ds_store_b128 v0, v[2:5]
	.end_amdhsa_kernel
amdhsa.kernels:
  - .group_segment_fixed_size: 512
    .private_segment_fixed_size: 68
    .vgpr_count:     255
    .vgpr_spill_count: 16
"""
LAYOUT = {"allocation": "memref<8x8xf16>", "reason": "it is so"}


class Counts(NamedTuple):
    """What is left of an allocation."""

    conflict_cycles_after: int
    lds_instructions_after: int


DECISIONS = [
    {**LAYOUT, "action": action, "stands": stands, **after._asdict()}
    for action, stands, after in (
        ("stock", False, Counts(7, 9)),
        ("hint", True, Counts(0, 4)),
        ("keep", True, Counts(3, 1)),
    )
]
PLAIN = Compiled(7, 0, 9, 5, registers=20)
ROW = CompiledRow("kernel", "gfx1201", figures={"stock": Compiled(), "auto": PLAIN})


def test_decisions_and_assembly_are_counted() -> None:
    found = compiled_counts._counted(DECISIONS, [ASSEMBLY], "")
    assert (found.before, found.after) == (7, 3)
    assert (found.issued_before, found.issued_after) == (9, 5)
    assert found.left == ("memref<8x8xf16>: keep: it is so (3 conflict cycles)",)
    assert (found.loads, found.narrow_loads, found.stores) == (3, 1, 1)
    assert (found.registers, found.spills) == (255, 16)
    assert (found.private_bytes, found.lds_bytes) == (68, 512)


@pytest.mark.parametrize(
    ("changed", "faults"),
    [
        ({}, []),
        ({"errors": {"auto": "no\nmore"}}, ["auto fails: no"]),
        ({"errors": {"auto": "no", "stock": "no"}}, []),
        ({"figures": {"auto": replace(PLAIN, unverified="it conflicts")}}, ["auto: it conflicts"]),
        # What a decision leaves with a reason is no fault, but said.
        ({"figures": {"auto": replace(PLAIN, unverified="it conflicts", left=("why",))}}, []),
    ],
)
def test_what_makes_a_row_fail(changed: dict[str, object], faults: list[str]) -> None:
    assert replace(ROW, **changed).faults == faults


def test_sums_are_over_what_compiles_in_all_modes() -> None:
    _, _, stock, ours = summary([ROW, replace(ROW, errors={"stock": "no"})]).splitlines()
    assert stock.startswith("| gfx1201 | stock | 2 | 1 | 0 | 0 | 7 | 9 |")
    assert ours.startswith("| gfx1201 | auto | 2 | 1 | 0 | 0 | 0 | 5 |")


def test_programs_of_one_chip_are_left_to_it() -> None:
    names = {source.name for source, _, _ in cases(["gfx1100"], ["auto"])}
    assert len(names) > 300
    assert not any("fnuz" in name.lower() for name in names)
    assert len(cases(["gfx1100", "gfx1201"], ["auto"], "^attention_1x1024x64_f16$")) == 2


@pytest.mark.nightly
def test_a_compile_is_counted() -> None:
    (case,) = cases(["gfx1201"], ["stock", "auto"], "^matmul_plain_f16_128x128x128$")
    row = CompiledRow.measure(case)
    assert row.faults == [] and row.remaining == []
    stock, ours = row.figures["stock"], row.figures["auto"]
    assert (ours.issued_after or 0) < (ours.issued_before or 0)
    assert ours.narrow_loads == 0 < stock.narrow_loads
    with pytest.raises(RuntimeError, match="error:"):
        compiled(Source("broken", "func.func @f(\n"), "gfx1201", "auto")
