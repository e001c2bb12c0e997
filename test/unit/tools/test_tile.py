# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-tile`: its formats and its flags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bankwise
from bankwise.tools.tile import main

ROOT = Path(__file__).parents[3]
TRANSPOSE = ("--target=sm_80", "--tile=32x32xf32", "--write=rows", "--read=columns")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_text_is_what_python_prints(capsys: pytest.CaptureFixture[str]) -> None:
    found = bankwise.solve("sm_80", "32x32xf32", write="rows", read="columns")
    assert printed(capsys, *TRANSPOSE) == str(found)
    without = printed(capsys, *TRANSPOSE, "--no-bank-maps")
    assert "bank  0  1" not in without
    assert str(found).startswith(without.rstrip())


def test_json_has_the_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    found = bankwise.solve("sm_80", "32x32xf32", write="rows", read="columns")
    data = json.loads(printed(capsys, *TRANSPOSE, "--format=json"))
    assert data["best"] == found.best_name
    assert data["proof"] == found.proof
    for name, count in found.layouts.items():
        shown = data["layouts"][name]
        assert shown["conflict_cycles"] == count.conflict_cycles
        assert shown["instructions"] == count.instructions
        assert shown["c"]["place"] == count.code.place
        for each, access in zip(shown["accesses"], count.accesses, strict=True):
            drawn = access.bank_map()
            assert drawn is not None
            assert each["cycles"] == access.cycles
            assert each["bank_map"]["cycles"] == drawn.cycles
            assert len(each["bank_map"]["banks"]) == 32
    assert data["notations"]["TMA"] == {
        "text": "not expressible: sm_80 has no TMA",
        "expressible": False,
        "note": "",
    }
    small = json.loads(printed(capsys, *TRANSPOSE, "--format=json", "--no-bank-maps"))
    assert "bank_map" not in small["layouts"]["plain"]["accesses"][0]


def test_markdown_has_a_table_and_code(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, *TRANSPOSE, "--format=markdown")
    assert "| conflict cycles | 992 | 0 | 0 |" in text
    assert "* CuTe: `Swizzle<5, 0, 5>`" in text
    assert "```c\n__device__ __forceinline__ int place(int row, int column) {" in text
    assert text.count("```") % 2 == 0


def test_html_is_a_page_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, *TRANSPOSE, "--format=html")
    assert text.startswith("<!DOCTYPE html>")
    assert "<title>32x32xf32 on sm_80, 32 lanes in 1 wave of 32</title>" in text
    assert "all 31 other phases have it on other banks" in text
    # The write's map and the read's two, where their words lie, and the sample of the legend.
    assert text.count('<div class="map"') == 3 * 2 + 1
    # The whole tile is drawn where it is chosen: by bank, and by lane for both arguments.
    chosen = text.partition("the whole tile:")[2].partition("</select>")[0]
    assert chosen.count("<option") == 1 + 1 + 2
    assert "<img " not in text
    assert "How to read the pictures" in text
    # Each access has a single phase, so that nothing else is to be chosen.
    assert text.count("<select ") == 1
    assert 'data-copy="Swizzle&lt;5, 0, 5&gt;"' in text
    assert 'data-copy="not expressible' not in text
    assert "http:" not in text
    small = printed(capsys, *TRANSPOSE, "--format=html", "--no-bank-maps")
    assert '<div class="map"' not in small
    assert "__device__" in small


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_a_layout_of_ones_own(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, *TRANSPOSE, "--layout=padded:1", f"--format={form}")
    assert "padded by 1 elements" in text
    assert "32 * 32" not in text
    assert "row * 33 + column" in text.replace("\\", "")


def test_patterns_are_listed_and_known(capsys: pytest.CaptureFixture[str]) -> None:
    listed = printed(capsys, "--list-patterns", "--target=gfx950").splitlines()
    assert "mfma_f32_16x16x128_f8f6f4:{A,B,C}" in listed
    assert "ldmatrix" not in listed
    assert "ldmatrix.x2" in printed(capsys, "--list-patterns", "--target=sm_90").splitlines()


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_whole_tile_is_drawn_in_text(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = (*TRANSPOSE, "--no-bank-maps", f"--format={form}")
    banks = printed(capsys, *flags, "--picture=banks")
    assert banks.startswith(printed(capsys, *flags).rstrip())
    head = "row " + "".join(f"{column:>3}" for column in range(32))
    plain, swizzled = banks.split(head)[1:]
    second = "   1" + "".join(f"{column:>3}" for column in range(32))
    assert second in plain
    assert "   1" + "".join(f"{column ^ 1:>3}" for column in range(32)) in swizzled
    lanes = printed(capsys, *flags, "--picture=lanes")
    assert lanes.count("line  0  1  2") == 2 * 2
    assert "read columns, swizzled: xor_shuffle<32, 1, 32, 1>. The lane of each word" in (
        lanes.replace("\\", "")
    )


def test_json_has_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main((*TRANSPOSE, "--picture=banks", "--format=json")) == 1
    assert "--picture: JSON has no pictures" in capsys.readouterr().err


def test_products_are_targets(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--tile=16x16xf32", "--read=columns", "--no-bank-maps")
    for name, arch in (("h100", "sm_90a"), ("gfx942:xnack-", "gfx942"), ("sm_120a", "sm_120")):
        assert printed(capsys, f"--target={name}", *flags) == printed(
            capsys, f"--target={arch}", *flags
        )


def test_rules_are_printed_with_their_sources(capsys: pytest.CaptureFixture[str]):
    assert main(["--target=mi350x", "--rules"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("gfx950: waves of 64 lanes, banks of 4 bytes\n")
    reads = printed.partition("\n  ds_read_b32 ")[2].partition("ds_write_b8")[0]
    assert [line.strip() for line in reads.splitlines()][:-1] == [
        "32 banks in 2 phases of 32 lanes, the first 0-31",
        "published: rocRoller's LDSBankModel (ROCm/rocm-libraries PR 2157) (2025-10-17)",
        "or else 64 banks in 1 phase of 64 lanes",
        "measured by latency: nod-ai/amd-shark-ai PR 2919, docs/empirical-lds/cdna4info.md "
        "(2026-06-05)",
    ]
    assert "the first 0-3, 12-15, 20-27" in printed
    assert main(["--target=sm_90", "--rules"]) == 0
    assert "phases that follow each other merge" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--rules", "--format=json"], "--rules: the table is text; leave --format=json away"),
        (["--rules", "--target=gfx1"], "--target: 'gfx1' is not known"),
    ],
)
def test_rules_that_cannot_be_printed(
    capsys: pytest.CaptureFixture[str], flags: list[str], reason: str
):
    assert main(flags) == 1
    assert reason in capsys.readouterr().err
