# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/ratios and table: what is shown of a record, and which rows fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.bench.gpu.modes import INEXACT_MODES, MODES, mode_for
from bankwise.bench.gpu.ratios import Mean, Ratios, failing
from bankwise.bench.gpu.record import Conditions, Errors, Failure, Record, Reference, Row
from bankwise.bench.gpu.table import markdown
from bankwise.bench.gpu.timed_kernels import TimedKernel

from .ncu_tables import FIGURES, section


def attention(shape: str, dtype: str = "f16") -> TimedKernel:
    name = f"attention_{shape}_{dtype}"
    return TimedKernel(name, "attention", (f"{shape}x{dtype}",) * 3, MODES, INEXACT_MODES, 0.5)


BIG, SMALL, BF16 = attention("8x64x4"), attention("1x64x4"), attention("8x64x4", "bf16")
MATMUL = TimedKernel("matmul_4x8x2_f16", "matmul", ("4x2xf16", "2x8xf16"), MODES, INEXACT_MODES)
TIMES = {
    (BIG.name, "stock"): 4.0,
    (BIG.name, "pad"): 3.0,
    (BIG.name, "auto/exact"): 2.0,
    (BIG.name, "auto/fast"): 1.0,
    (SMALL.name, "stock"): 0.4,
    (SMALL.name, "auto/fast"): 0.4,
    (BF16.name, "auto/fast"): 7.0,
    (MATMUL.name, "stock"): 1.0,
    (MATMUL.name, "auto/exact"): 0.5,
}
LIBRARIES = {
    (BIG.name, "flash"): 0.5,
    (BIG.name, "cudnn"): 0.25,
    (SMALL.name, "flash"): 0.1,
    (SMALL.name, "cudnn"): None,
    (MATMUL.name, "cublas"): 0.25,
}


def row(kernel: str, mode: str, milliseconds: float, output: str = "same") -> Row:
    workgroups = 100 if kernel == SMALL.name else 132
    figures = replace(FIGURES, milliseconds=milliseconds, workgroups=workgroups)
    return Row(kernel, mode, "module", output, figures)


def record(times: Mapping[tuple[str, str], float] = TIMES) -> Record:
    return Record(
        Conditions("GPU", "sm_80", "normal", "base"),
        "2026-11-22",
        {"torch": "2"},
        (BIG, SMALL, BF16, MATMUL),
        tuple(row(*case, time) for case, time in times.items()),
        tuple(Reference(*case, time) for case, time in LIBRARIES.items()),
    )


def test_code_for_another_gpu_has_columns_and_failures_of_its_own() -> None:
    exact, fast = (mode_for(mode, "sm_90a") for mode in ("auto/exact", "auto/fast"))
    both = record({**TIMES, (BIG.name, exact): 5.0, (BIG.name, fast): 0.5})
    kernels = tuple(kernel.also_for("sm_90a") for kernel in both.kernels)
    both = replace(both, kernels=kernels)
    head, _, *lines = section(markdown(both), "Attentions: times over those of stock")
    assert head[4:] == ["fast", "exact (sm_90a code)", "fast (sm_90a code)"]
    assert lines[0] == ["8x64x4_f16", "none", "0.75x", "0.50x", "0.25x", "1.25x", "0.12x"]
    assert [(each.mode, each.what) for each in failing(both)] == [
        *((each.mode, each.what) for each in failing(record())),
        (exact, "slower than stock: 1.250x"),
    ]


def test_means_are_geometric_and_of_f16():
    ratios = Ratios.of(record())
    over_flash = ratios.mean([BIG, SMALL], "auto/fast", "flash")
    assert over_flash and over_flash.ratio == pytest.approx(8**0.5) and over_flash.kernels == 2
    assert ratios.mean([BIG, SMALL], "cudnn", "flash") == Mean(0.5, 1)
    assert ratios.mean([BIG, SMALL], "efficient", "flash") is None
    head, _, *lines = section(markdown(record()), "Geometric means")
    assert head[2:] == ["stock", "pad", "exact", "fast", "FlashAttention-2", "cuDNN", "cuBLAS"]
    fast = {(line[0], line[1]): line[5] for line in lines}
    assert fast == {
        ("attentions", "stock"): "0.500x (2)",
        ("attentions", "FlashAttention-2"): "2.828x (2)",
        ("matmuls", "stock"): "",
        ("matmuls", "cuBLAS"): "",
    }


def test_ratios_stand_in_tables_of_their_family():
    text = markdown(record())
    assert text.startswith(
        "GPU, sm_80 code, 2026-11-22, clocks: base, inputs of attentions: normal"
    )
    head, _, *lines = section(text, "Attentions: times over those of FlashAttention-2")
    assert head[2:] == ["stock", "pad", "exact", "fast", "cuDNN"]
    assert lines == [
        ["8x64x4_f16", "none", "8.00x", "6.00x", "4.00x", "2.00x", "0.50x"],
        ["1x64x4_f16", "none", "4.00x", "", "", "4.00x", ""],
    ]
    _, _, *lines = section(text, "Attentions: times over those of stock")
    assert lines[0] == ["8x64x4_f16", "none", "0.75x", "0.50x", "0.25x"]
    _, _, *lines = section(text, "Matmuls: times over those of cuBLAS")
    assert lines == [["4x8x2_f16", "none", "4.00x", "2.00x"]]
    assert text.endswith("## Rows that fail\n\nnone\n")


def findings(times: Mapping[tuple[str, str], float]) -> list[tuple[str, str]]:
    return [(each.mode, each.what) for each in failing(record(times))]


def test_fast_must_not_be_slower_than_stock_pad_and_layout():
    fast = (BIG.name, "auto/fast")
    assert findings({**TIMES, fast: 3.02}) == []
    assert findings({**TIMES, fast: 3.05}) == [("auto/fast", "slower than pad: 1.017x")]
    layout = (BIG.name, "auto/layout")
    assert findings({**TIMES, layout: 0.5}) == [("auto/fast", "slower than auto/layout: 2.000x")]
    times = {**TIMES, fast: 4.4}
    assert [what for _, what in findings(times)] == [
        "slower than stock: 1.100x",
        "slower than pad: 1.467x",
    ]


def test_exact_must_not_be_slower_than_stock():
    times = {**TIMES, (MATMUL.name, "auto/exact"): 1.1}
    assert findings(times) == [("auto/exact", "slower than stock: 1.100x")]


def test_outputs_must_be_equal_but_for_fast():
    good = record()
    rows = tuple(
        replace(each, output="other") if each.mode in ("auto/exact", "auto/fast") else each
        for each in good.rows
        if each.kernel == BIG.name
    )
    different = replace(good, rows=rows)
    (finding,) = failing(different)
    assert (finding.mode, finding.what) == ("auto/exact", "the output differs from that of stock")
    _, _, line, *_ = section(markdown(different), "Attentions: times over those of stock")
    assert line[:2] == ["8x64x4_f16", "exact, fast"]


@pytest.mark.parametrize(
    ("stock", "says"),
    [(4e-3, "stock"), (8.0, "stock, whose rms error is 4000 times as large"), (None, "stock")],
)
def test_where_stock_is_wrong_that_is_said(stock: float | None, says: str):
    errors = {"auto/exact": Errors(2e-3, 4e-3)}
    if stock is not None:
        errors["stock"] = Errors(stock, stock)
    rows = (
        replace(each, output=each.mode, errors=errors.get(each.mode))
        for each in record().rows
        if each.kernel == MATMUL.name
    )
    (finding,) = failing(replace(record(), rows=tuple(rows)))
    assert finding.what == f"the output differs from that of {says}"


def test_errors_must_be_near_stocks():
    errors = {"stock": Errors(1e-4, 1e-3), "auto/fast": Errors(1.09e-4, 9e-3)}
    good = record()
    rows = tuple(replace(each, errors=errors.get(each.mode)) for each in good.rows)
    near = replace(good, rows=rows)
    assert failing(near) == []
    _, _, line, *_ = section(
        markdown(near), "Errors against float64, root mean square over stock's"
    )
    assert line == [BIG.name, "1.00e-03", "1.00e-04", "", "", "", "", "1.09x"]
    for wrong in (1.2e-4, float("inf"), float("nan")):
        errors["auto/fast"] = Errors(wrong, 1.0)
        far = replace(
            good, rows=[replace(each, errors=errors.get(each.mode)) for each in good.rows]
        )
        assert {finding.mode for finding in failing(far)} == {"auto/fast"}


@pytest.mark.parametrize(("ratio", "fails"), [(1.4, False), (1.6, True)])
def test_weights_of_matrix_instructions_may_be_rounded(ratio: float, fails: bool):
    known = mixed()
    errors = {"stock": Errors(1e-4, 1e-3), "auto/fast": Errors(ratio * 1e-4, 1e-3)}
    masked = known.kernels[-1].name
    rows = (
        replace(each, errors=errors[each.mode]) if each.kernel == masked else each
        for each in known.rows
    )
    assert bool(failing(replace(known, rows=tuple(rows)))) == fails


def test_what_did_not_run_fails():
    failure = Failure(BIG.name, "pad", "cannot run\nat all")
    broken = replace(record(), failures=(failure,))
    assert [each.what for each in failing(broken)] == ["cannot run\nat all"]
    _, _, line = section(markdown(broken), "Rows that fail")
    assert line == [BIG.name, "pad", "cannot run"]


def test_without_libraries_there_are_ratios_to_stock_alone():
    text = markdown(replace(record(), references=()))
    assert "FlashAttention-2" not in text and "cuBLAS" not in text
    assert "Matmuls: times over those of stock" in text


def mixed() -> Record:
    """Returns a record of a masked attention too, which FlashAttention-2 does not take."""
    operands = (*BIG.operands, "8x64x64xf16")
    modes = ("stock", "auto/fast")
    masked = replace(BIG, name="attention_8x64x4_f16_mask_f16", operands=operands, modes=modes)
    times = {(masked.name, "flash"): None, (masked.name, "efficient"): 0.5}
    known = record({**TIMES, (masked.name, "stock"): 8.0, (masked.name, "auto/fast"): 0.125})
    more = tuple(Reference(*case, time) for case, time in times.items())
    kernels = (*known.kernels, masked)
    return replace(known, kernels=kernels, references=known.references + more)


def test_a_kernel_is_compared_with_the_first_library_that_takes_it():
    text = markdown(mixed())
    _, _, *lines = section(text, "Attentions: times over those of CUTLASS")
    assert lines == [["8x64x4_f16_mask_f16", "none", "16.00x", "", "", "0.25x", "", ""]]
    assert "mask" not in text.split("times over those of FlashAttention-2\n")[1].split("##")[0]
    head, _, *lines = section(text, "Geometric means")
    fast = {(line[0], line[1]): line[head.index("fast")] for line in lines}
    assert fast["attentions", "FlashAttention-2"] == "2.828x (2)"
    assert fast["attentions", "the library"] == "1.260x (3)"
    assert fast["attentions without matrix instructions in stock", "the library"] == "0.250x (1)"


def test_a_record_is_read_as_it_was_written(tmp_path: Path):
    rows = tuple(replace(each, errors=Errors(1.5, 2.5)) for each in record().rows)
    whole = replace(record(), rows=rows, failures=(Failure("k", "m", "why"),))
    for written in (record(), whole):
        written.write(tmp_path / "record.json")
        assert Record.read(tmp_path / "record.json") == written
    assert [each.name for each in tmp_path.iterdir()] == ["record.json"]
