# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that cannot be carried out: one line that names the flag or file, and exit code 1.

What is wrong with a command line alone is in the tests of the tools' arguments.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("command", "named"),
    [
        # A mistyped flag, also where LLVM would suggest one of its own, and a mistyped value.
        ("compile a.mlir --bankwise-levle=fast", "did you mean '--bankwise-level'?"),
        ("compile a.mlir --bankwise-xyz", "(known: --bankwise-mitigation, --bankwise-level"),
        ("compile a.mlir --bankwise-level=fsat", "did you mean 'fast'?"),
        ("compile a.mlir --quite", "unknown flag '--quite'; did you mean '--quiet'?"),
        ("opt a.mlir --pass-pipelin=any()", "did you mean '--pass-pipeline'?"),
        ("report a.mlir --formt=html --iree-rocm-target=gfx942", "did you mean '--format'?"),
        ("report a.mlir --taget=gfx942", "did you mean '--target'?"),
        ("run a.mlir --functoin=f --device=emulated-gfx942", "did you mean '--function'?"),
        ("run a.s --grid=1 --blok=64", "unknown flag '--blok=64'; did you mean '--block'?"),
        ("sweep --jbos=2", "did you mean '--jobs'?"),
        ("tile --tagret=gfx942", "did you mean '--target'?"),
        ("tile --tile=8x8xf32 --read=rows --format=hmtl", "did you mean 'html'?"),
        ("tile --tile=8x8xf32 --read=rows --target=gfx924", "did you mean 'gfx942'?"),
        ("compile a.mlir --bankwise-mitigation=x", "--bankwise-mitigation: 'x'"),
        ("compile a.mlir --bankwise-mitigation=", "--bankwise-mitigation needs a value"),
        ("compile a.mlir --bankwise-retile=search", "--bankwise-retile=search is gone; use on"),
        ("compile a.mlir --bankwise-retile search", "--bankwise-retile=search is gone; use on"),
        (
            "compile a.mlir --iree-codegen-tuning-spec-path=gone.mlir",
            "--iree-codegen-tuning-spec-path: there is no file 'gone.mlir' that can be read",
        ),
        (
            "report a.mlir --iree-codegen-transform-dialect-library gone.mlir@f",
            "-library: there is no file 'gone.mlir@f' that can be read",
        ),
        ("compile a.mlir --compile-mode=x", "--compile-mode: 'x'"),
        ("compile a.mlir --bankwise-remarks=2", "--bankwise-remarks"),
        ("report a.mlir --target=gfx1", "'gfx1'"),
        ("report a.mlir --target=h1000", "--target: 'h1000' is not known; there are gfx90a, "),
        ("report a.mlir --target=h1000", "mi300x and h100; did you mean 'h100'?"),
        ("opt --cse --bankwise-layouts --iree-gpu-test-target=gfx9422", "-test-target: 'gfx9422'"),
        ("tile --tile=8x8xf32 --read=rows --target=h1000", "did you mean 'h100'?"),
        ("report a.mlir -o gone/x", "there is no directory"),
        ("report a.mlir -o ./a.mlir", "cannot write './a.mlir': -o names an input"),
        ("report a.mlir --bankwise-retile=search", "--bankwise-retile=search is gone; use on"),
        ("report", "no input file"),
        (
            "opt /dev/null -o d --bankwise-decisions=d",
            "--bankwise-decisions names the file of -o",
        ),
        (f"opt {__file__} -o {__file__}", "-o names an input; name another file"),
        ("run a.mlir --device=emulated-gfx942 --output=@a.npy --timeline=a.npy", "--output names"),
        ("run a.mlir --device=emulated-gfx942 --counters-json=a.mlir", "--counters-json names"),
        (
            "run a.mlir --device=emulated-gfx942 --input=2xf32=@a.npy --output=+./a.npy",
            "cannot write './a.npy': --output names an input",
        ),
        (
            "run a.s --grid=1 --arg=@a.npy --expected_output=0:@b.bin --output=0:@b.bin",
            "cannot write 'b.bin': --output names an input",
        ),
        ("run a.mlir --bankwise-retile=search", "--bankwise-retile=search is gone; use on"),
        ("run a.mlir --bankwise-mitigation=x", "--bankwise-mitigation: 'x'"),
        (
            "run a.mlir --bankwise-mitigation=pad --bankwise-level=fast",
            "--bankwise-level=fast: the mitigation 'pad' has no levels",
        ),
        ("sweep --dtypes=f8", "--dtypes: 'f8'"),
        ("sweep --kernels=gone.json", "cannot read 'gone.json'"),
        ("sweep --every=60 -o /proc/nowhere", "'/proc/nowhere'"),
        (
            "sweep --every=60 -o /dev/null",
            "'/dev/null': -o names a folder, which cannot be made: File exists",
        ),
        ("tile", "--tile is missing"),
        ("tile --tile=8x8xf32", "--read: nothing reads or writes the tile"),
        ("tile --tile=8x8 --read=rows", "--tile: '8x8' is no tile"),
        ("tile --tile=8x8xf32 --read=rows --target=gfx9", "--target: 'gfx9'"),
        ("tile --tile=8x8xf32 --read=rows --threads=3", "--threads: 3 threads"),
        ("tile --tile=8x8xf32 --read=rows --threads=x", "--threads"),
        ("tile --tile=8x8xf32 --read=rows --format=pdf", "--format"),
        ("tile --tile=8x8xf32 --read=rows --max-lds-bytes=8", "--max-lds-bytes: 8x8xf32 takes"),
        ("tile --tile=8x8xf32 --read=rows --layout=swirl", "--layout: 'swirl' is no layout"),
        ("tile --tile=8x8xf32 --read=rows --layout=plain --max-lds-bytes=8", "--max-lds-bytes"),
        ("tile --tile=99999999999x64xf16 --read=rows", "takes 12799999999872 bytes, and a workgr"),
        ("tile --tile=8x8xf256 --read=rows", "has elements of 256 bits; types have 1 to 128"),
        ("tile --tile=8x8xf32 --read=rows:99999999999", "99999999999 bits are no whole elements"),
        ("tile --tile=8x8xf32 --read=random:99999999999", "a seed behind it, below 4294967296,"),
        ("tile --tile=8x8xf32 --read=rows --layout=padded:99999999999", "takes 3200000000224"),
        ("report a.mlir --block=64,64,64", "262,144 lanes; a workgroup has at most 1,024"),
        ("opt a.mlir --block=2048 --bankwise-layouts", "--block=2048: 2,048 lanes; a workgroup"),
        ("run a.s --grid=1 --block=32,33", "--block=32,33: 1,056 lanes; a workgroup"),
        ("run a.s --grid=99999999999", "numbers from 1 to 999999999"),
        ("tile --tile=8x8xf32 --read=colums", "did you mean 'columns'?"),
        ("tile --tile=8x8xf32 --read=ldmatrx --target=sm_90", "did you mean 'ldmatrix'?"),
        ("tile --tile=8x8xf32 --read=mfma_f32_16x16x4f32:A", "mean 'mfma_f32_16x16x4_f32'?"),
        ("tile --tile=8x8xf32 --read=rows --layout=paded:8", "did you mean 'padded'?"),
        ("tile --tile=8x8xf32 --read=rows --layout=xor_shufle<8,4>", "mean 'xor_shuffle'?"),
        ("sweep --kernels=matmull", "did you mean 'matmul'?"),
        ("tile --tile=8x8xf32 --write=lane.x", "--write: 'lane.x': `lane.x` is not understood"),
        ("tile --tile=8x8xf32 --read=ldmatrix", "--read: 'ldmatrix': gfx942 has no ldmatrix"),
        ("tile --tile=8x8xf32 --read=mma.m16n8k16:A", "no such matrix instruction"),
        ("tile --tile=8x8xi4 --read=columns", "--tile: its accesses cannot be counted"),
        ("tile --tile=8x8xf32 --read=rows extra", "'extra'"),
        ("tile --list-patterns --target=gfx9", "--target: 'gfx9'"),
    ],
)
def test_one_line_names_what_is_wrong(
    command: str,
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    tool, *arguments = command.split()
    assert import_module(f"bankwise.tools.{tool}").main(arguments) == 1
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith(f"bankwise-{tool}: error: ")
    assert named in line
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == []
