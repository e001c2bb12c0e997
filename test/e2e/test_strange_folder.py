# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools that are started in a strange folder: nothing there is read or run unless it is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
MODULES = ("argparse", "bankwise", "iree", "joblib", "json", "multiprocessing", "numpy", "typing")
"""What processes import that the tools start."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with modules that leave a mark where they are imported."""
    found = tmp_path / "stranger"
    found.mkdir()
    for name in MODULES:
        (found / f"{name}.py").write_text(
            f"from pathlib import Path\nPath({str(tmp_path / 'imported')!r}).touch()\n"
        )
    return found


@pytest.mark.nightly
def test_workers_of_a_sweep_import_nothing_there(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "kernel.mlir").write_text("no kernel\n")
    (tmp_path / "kernels.json").write_text('[{"mlir": "kernel.mlir"}]')
    words = ("--kernels=../kernels.json", "--modes=stock,none", "--jobs=2", "-o", "../out")
    done = subprocess.run(
        [BIN / "bankwise-sweep", *words], cwd=folder, capture_output=True, text=True
    )
    assert "2 of 2 rows failed" in done.stderr
    assert not (tmp_path / "imported").exists()
    assert sorted(each.name for each in folder.iterdir()) == sorted(f"{n}.py" for n in MODULES)


def test_help_that_completion_asks_for_imports_nothing_there(folder: Path, tmp_path: Path) -> None:
    command = [BIN / "bankwise-compile", "--print-completion=bash"]
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 0
    assert not (tmp_path / "imported").exists()


TRANSPOSE = str(Path(__file__).parents[2] / "examples" / "transpose" / "row_major.mlir")
GFX942 = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
OPENED = """
import os, sys
folder, opened = os.getcwd(), set()
def note(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "os.mkdir") and arguments:
        if isinstance(arguments[0], (str, bytes)):
            path = os.path.abspath(os.fsdecode(arguments[0]))
            if path == folder or path.startswith(f"{folder}/"):
                opened.add(os.path.relpath(path))
sys.addaudithook(note)
from importlib import import_module
tool, *words = sys.argv[1:]
code = import_module(f"bankwise.tools.{tool}").main(words)
sys.stdout.flush()
os.write(2, repr(sorted(opened)).encode())
os._exit(code)
"""


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    "command",
    [
        ("tile", "--tile=64x64xf16", "--write=rows:128", "--read=columns", "--format=html"),
        ("compile", TRANSPOSE, *GFX942, "-o", os.devnull),
        ("report", TRANSPOSE, *GFX942, "--format=html"),
        ("run", f"--module={TRANSPOSE.replace('transpose/row_major', 'matmul_f16')}", "--timing",
         "--device=emulated-gfx942", "--workgroups=2", "--input=2048x2048xf16=1",
         "--input=2048x2048xf16=1"),
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_tools_open_nothing_there(folder: Path, command: tuple[str, ...]) -> None:
    for name in (".numba_config.yaml", "matplotlibrc", "pyvenv.cfg", "sitecustomize.py"):
        (folder / name).write_text("")
    program = [sys.executable, "-P", "-c", OPENED, *command]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.endswith("[]"), done.stderr
