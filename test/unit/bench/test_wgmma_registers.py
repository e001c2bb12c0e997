# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The check of machine code for the registers of `wgmma`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankwise.bench.wgmma_registers import faults, main

LOOP = """
        /*0000*/                   LDSM.16.M88.4 R88, [R4] ;
.L_x_1:
        /*0010*/                   LDSM.16.M88.4 R92, [R5] ;
        /*0020*/                   WARPGROUP.ARRIVE ;
        /*0030*/                   HGMMA.64x64x16.F32 R24, R88, gdesc[UR8], R24 ;
        /*0040*/                   HGMMA.64x64x16.F32 R24, R92, gdesc[UR12], R24, gsb0 ;
        /*0050*/                   IADD3 R2, R2, 0x1, RZ ;
        /*0060*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0070*/              @!P0 BRA `(.L_x_1) ;
"""


def edited(old: str, new: str) -> str:
    assert old in LOOP
    return LOOP.replace(old, new)


def test_factors_that_a_loop_keeps_or_reads_are_right() -> None:
    assert faults(LOOP) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("IADD3 R2", "IADD3 R94", "line 8 writes R94, which an HGMMA still reads"),
        ("LDSM.16.M88.4 R92", "LDSM.16.M88.4 R86", None),
        (
            "DEPBAR.LE gsb0, 0x0 ;",
            "DEPBAR.LE gsb0, 0x0 ;\n/*0068*/ F2FP.F16.F32 R89, R1, R2 ;",
            "line 6 reads R89, which the loop writes behind that",
        ),
        ("IADD3 R2", "IADD3 R55", "line 8 uses R55, to which an HGMMA still adds"),
        ("IADD3 R2, R2", "IADD3 R2, R24", "line 8 uses R24, to which an HGMMA still adds"),
        ("IADD3 R2, R2", "IADD3 R2, R56", None),
    ],
    ids=[
        "while it is read",
        "before it is read",
        "in another iteration",
        "to a sum",
        "from a sum",
        "from what is behind the sums",
    ],
)
def test_other_writes(old: str, new: str, message: str | None) -> None:
    assert faults(edited(old, new)) == ([] if message is None else [message])


UNDER_WAY = """
.L_x_1:
        /*0010*/                   IADD3 R2, R2, 0x1, RZ ;
        /*0020*/                   WARPGROUP.ARRIVE ;
        /*0030*/                   HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0 ;
        /*0040*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0050*/              @!P0 BRA `(.L_x_1) ;
        /*0060*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0070*/                   STG.E.64 desc[UR4][R2.64], R24 ;
"""


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("R2, R2", "R2, R2", []),
        ("R2, R2", "R2, R30", ["line 3 uses R30, to which an HGMMA still adds"]),
        ("gsb0, 0x0", "gsb0, 0x1", ["line 9 uses R24, to which an HGMMA still adds"]),
    ],
    ids=["right", "in the next iteration", "behind the loop"],
)
def test_sums_of_a_group_that_runs_on(old: str, new: str, messages: list[str]) -> None:
    assert faults(UNDER_WAY.replace(old, new)) == messages


def test_files_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.sass", tmp_path / "bad.sass"
    good.write_text(LOOP)
    bad.write_text(edited("IADD3 R2", "IADD3 R94"))
    assert main([str(good)]) == 0
    assert main([str(good), str(bad)]) == 1
    assert "bad.sass: 2 HGMMA, 1 faults" in capsys.readouterr().out
