# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/register_layouts: what they say of attentions that are right, and of others."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from bankwise.bench.loop_reads import scalar_reads_in_loops, shared_loads_in_loops
from bankwise.bench.reference_attention import attention_rows
from bankwise.bench.register_layouts import (
    DTYPES,
    EXACT,
    FAST,
    LDS_BYTES,
    LOADS,
    MODES,
    SCALAR_READS,
    SCRATCH,
    STOCK,
    VGPRS,
    RegisterRow,
    markdown,
    sums,
)
from bankwise.bench.runs import attention_cases
from bankwise.emulator.assembly import parse_assembly
from bankwise.emulator.counters import Counted
from bankwise.runtime.emulated_module import compile_for_emulation
from bankwise.sweep.cases import target_flags
from bankwise.sweep.kernels import Attention

ATTENTION = Attention(1, 512, 64, "f16")


@pytest.fixture(scope="module")
def emulated() -> RegisterRow:
    return RegisterRow.measure((ATTENTION, "gfx942"))


@pytest.fixture(scope="module")
def compiled() -> RegisterRow:
    return RegisterRow.measure((ATTENTION, "sm_80"))


def test_an_attention_passes(emulated: RegisterRow) -> None:
    assert emulated.faults == []
    assert emulated.equal
    assert 0 < emulated.emulated < emulated.workgroups
    stock, exact = emulated.figures[STOCK], emulated.figures[EXACT]
    assert exact[Counted.LDS] < stock[Counted.LDS]
    assert (stock[SCALAR_READS] > 0, exact[SCALAR_READS]) == (True, 0)
    assert 0 < exact[LDS_BYTES] <= stock[LDS_BYTES]
    assert exact[VGPRS] > 0 == exact[SCRATCH]
    assert 0 < emulated.rms[STOCK] < emulated.largest[STOCK] < 1e-3


@pytest.mark.nightly
def test_the_loads_of_an_nvidia_kernel_are_counted_by_width(compiled: RegisterRow) -> None:
    assert compiled.faults == []
    assert compiled.equal is None
    stock, exact = compiled.figures[STOCK], compiled.figures[EXACT]
    assert (stock["load of 16"], exact.get("load of 16", 0)) == (64, 0)
    assert exact[LOADS] == sum(n for name, n in exact.items() if name.startswith("load of "))


@pytest.mark.nightly
def test_the_sums_are_those_of_whole_grids(emulated: RegisterRow, compiled: RegisterRow) -> None:
    head, *lines = sums([emulated, compiled], emulated=True)
    assert [line[2] for line in lines] == list(MODES)
    scaled = emulated.figures[STOCK][Counted.LDS] * emulated.workgroups // emulated.emulated
    assert lines[0][head.index("LDS instructions")] == f"{scaled:,}"
    assert [line[0] for line in sums([emulated, compiled], emulated=False)[1:]] == ["sm_80"] * 4
    shown = markdown([emulated, compiled])
    assert ATTENTION.name in shown
    assert "## Failed" not in shown


def test_a_row_survives_its_file(emulated: RegisterRow) -> None:
    assert RegisterRow(**asdict(emulated)) == emulated


def changed(row: RegisterRow, mode: str, **figures: int) -> dict[str, dict[str, int]]:
    return row.figures | {mode: row.figures[mode] | figures}


def test_every_fault_is_found(emulated: RegisterRow) -> None:
    """Each figure that must not be, put into a row that passes."""

    def faults(**changes: Any) -> list[str]:
        return replace(emulated, **changes).faults

    def with_figure(mode: str, name: str, value: int) -> dict[str, dict[str, int]]:
        return changed(emulated, mode, **{name: value})

    stock = emulated.figures[STOCK][Counted.LDS]
    assert faults(equal=False) == ["the output of exact is not stock's"]
    for name, value in ((Counted.CONFLICTS, 1), (SCALAR_READS, 1), (Counted.LDS, stock)):
        assert len(faults(figures=with_figure(EXACT, name, value))) == 1
        assert not faults(figures=with_figure(FAST, name, value))
    above_half = with_figure(FAST, Counted.LDS, stock // 2 + 1)
    assert not faults(figures=above_half)
    assert len(faults(figures=above_half, dtype="f32")) == 1
    for errors in ("rms", "largest"):
        own = getattr(emulated, errors)
        assert len(faults(**{errors: own | {FAST: 8 * own[STOCK]}})) == 1
        assert len(faults(**{errors: own | {FAST: float("nan")}})) == 1
    assert faults(errors={EXACT: "CompileError: no\nsecond line"}) == [
        "auto/exact fails: CompileError: no"
    ]


@pytest.mark.nightly
def test_loads_that_stock_has_too_are_a_fault(compiled: RegisterRow) -> None:
    figures = changed(compiled, EXACT, **{LOADS: compiled.figures[STOCK][LOADS]})
    assert len(replace(compiled, figures=figures).faults) == 1


def test_a_mode_that_fails_is_in_the_row() -> None:
    row = RegisterRow.measure((Attention(1, 128, 64, "f99"), "sm_80"))
    assert row.failed
    assert len(row.faults) == len(MODES)


def test_the_reference_computes_the_marked_elements() -> None:
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((3, 8, 4)) for _ in range(3))
    part = random.random((3, 8, 4)) < 0.3
    part[1] = False
    weights = np.exp(q @ k.transpose(0, 2, 1) * 0.5)
    whole = weights @ v / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(attention_rows([q, k, v], part, 0.5), whole[part], rtol=1e-12)


def test_reads_in_loops_are_found() -> None:
    attention = Attention(1, 256, 64, "f16")
    with compile_for_emulation(attention.source(), target_flags("gfx942"), "stock") as module:
        ((name, kernel),) = module.kernels.items()
        text = module.assembly[name]
    assert scalar_reads_in_loops(kernel) > 0
    unlooped = text.replace("s_cbranch_scc1", "s_cbranch_scc1 .Lend ;")
    assert ".Lend" in unlooped
    straight = parse_assembly(unlooped.replace("s_endpgm", ".Lend:\n\ts_endpgm"))[name]
    assert scalar_reads_in_loops(straight) == 0


PTX = """
	ld.shared.b16 	%rs0, [%r0];
$L__BB0_1:
	ld.shared.b16 	%rs1, [%r1];
	ld.shared.v4.b16 	{%rs1, %rs2, %rs3, %rs4}, [%r1];
	ld.shared.b32 	%r2, [%r1];
	ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 	{%r2, %r3, %r4, %r5}, [%r1];
	ld.global.b32 	%r2, [%r1];
	st.shared.b32 	[%r1], %r2;
	@%p1 bra 	$L__BB0_1;
	bra.uni 	$L__BB0_2;
	ld.shared.b32 	%r2, [%r1];
$L__BB0_2:
	ret;
"""


def test_loads_in_loops_of_ptx_are_counted_by_their_width() -> None:
    assert shared_loads_in_loops(PTX) == {"16": 1, "64": 1, "32": 1, "ldmatrix.x4": 1}


def test_the_cases_are_all_shapes_and_types() -> None:
    chosen = attention_cases(DTYPES)
    assert len(chosen) == 110 * (3 + 3 + 2)
    assert len({(attention.name, target) for attention, target in chosen}) == len(chosen)
