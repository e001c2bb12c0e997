# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which pieces of kernels LLVM's machine code analyzer is asked about, and what it answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankwise.bench import machine_code_analyzer
from bankwise.bench.machine_code_analyzer import (
    REPEATS,
    Analyzer,
    AnalyzerError,
    Piece,
    main,
    model_cycles,
    pieces,
    table,
)
from bankwise.bench.timing_pieces import piece

PRODUCT = "v_mfma_f32_16x16x16_f16 v[{0}:{1}], v[32:33], v[34:35], v[{0}:{1}]"
PRODUCTS = "\n".join(PRODUCT.format(k, k + 3) for k in (0, 4, 8, 12))
EXPONENTIALS = "\n".join(f"v_exp_f32_e32 v{k}, v{k}" for k in range(40, 46))
READS = "\n".join(f"ds_read_b128 v[{k}:{k + 3}], v39" for k in (0, 4, 8, 12))
CODE = (
    f"{PRODUCTS}\ns_barrier\n{EXPONENTIALS}\n{PRODUCT.format(0, 3)}\n{READS}\ns_waitcnt lgkmcnt(2)"
)


def test_pieces_are_the_longest_straight_ones_of_their_kind() -> None:
    products, softmax, reads = pieces(piece(CODE), "k")
    # A barrier or a wait ends a piece; exponentials may stand among products.
    assert products.code == PRODUCTS
    assert softmax.code == EXPONENTIALS
    assert reads.code == f"{READS}\ns_waitcnt lgkmcnt(0)"


def test_a_kernel_without_much_of_a_kind_has_no_piece_of_it() -> None:
    assert [each.kind for each in pieces(piece(PRODUCTS), "k")] == ["matrix products"]
    assert list(pieces(piece(PRODUCT.format(0, 3)), "k")) == []


def test_the_model_plays_code_whose_registers_hold_anything() -> None:
    assert model_cycles(Piece("k", "matrix products", tuple(PRODUCTS.splitlines()))) == 4 * 16
    assert model_cycles(Piece("k", "softmax", tuple(EXPONENTIALS.splitlines()))) == 6 * 16


def program(tmp_path: Path, body: str) -> str:
    path = tmp_path / "llvm-mca-x"
    path.write_text(f"#!/bin/sh\ncat > /dev/null\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_cycles_are_four_times_the_slots_of_the_second_half(tmp_path: Path) -> None:
    """A stream of n repetitions takes 10 slots and 7 for each."""
    body = 'for a; do n="${a#-iterations=}"; done; echo "Total Cycles:      $((10 + 7 * n))"'
    analyzer = Analyzer.found(program(tmp_path, body))
    found = Piece("k", "softmax", tuple(EXPONENTIALS.splitlines()))
    assert analyzer.total(found.code, REPEATS) == 10 + 7 * REPEATS
    assert analyzer.cycles(found) == 28
    assert table([found], analyzer).splitlines()[-1] == "| k | softmax | 6 | 28 | 96 | 3.43 |"


@pytest.mark.parametrize(
    "body",
    [
        "echo 'Total Cycles: 3'; echo \"'gfx942' is not a recognized processor\" >&2",
        "echo nothing",
        "exit 1",
    ],
)
def test_a_program_that_does_not_know_the_chip_is_not_believed(tmp_path: Path, body: str) -> None:
    with pytest.raises(AnalyzerError, match="is no llvm-mca that knows gfx942"):
        Analyzer.found(program(tmp_path, body))


def test_without_llvm_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine_code_analyzer, "which", lambda name: None)
    assert main([]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "there is no llvm-mca that knows gfx942: nothing is compared (apt-get install llvm-19)"
    ]


def test_llvm_and_the_model_agree_on_matrix_products() -> None:
    try:
        analyzer = Analyzer.found(None)
    except AnalyzerError as error:
        pytest.skip(str(error))
    found = Piece("k", "matrix products", tuple(PRODUCTS.splitlines()))
    assert analyzer.cycles(found) == model_cycles(found)
