# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs as a shell starts and ends them: signals, closed streams, readers that go away."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from importlib import import_module
from itertools import cycle
from pathlib import Path

import pytest

from bankwise.sweep.swept_kernels import Attention

ROOT = Path(__file__).parents[3]
GFX942 = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
TOOLS = ("compile", "executable", "opt", "report", "run", "sweep", "tile")
QUICK = 0.05
DOUBLED = """
func.func @doubled(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = arith.addf %x, %x : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
"""


def program(tool: str) -> list[str]:
    """Returns the command that pip writes as `bankwise-<tool>`."""
    if tool == "check_files":
        return [sys.executable, "-m", "bankwise.tools.check_files"]
    name = f"{tool}_command"
    return [sys.executable, "-c", f"from bankwise.tools.commands import {name}; {name}()"]


def test_the_scripts_are_these_commands() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {
        f"bankwise-{tool}": f"bankwise.tools.commands:{tool}_command" for tool in TOOLS
    }
    commands = import_module("bankwise.tools.commands")
    assert all(callable(getattr(commands, f"{tool}_command")) for tool in TOOLS)


def hears_signals(process: subprocess.Popen[str]) -> bool:
    """Returns whether the process has a handler for SIGTERM, which Python itself has not."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) & 1 << (signal.SIGTERM - 1))
    return False


def interrupted(
    tmp_path: Path,
    tool: str,
    arguments: list[str],
    number: signal.Signals,
    ready: Callable[[Path], bool],
) -> subprocess.CompletedProcess[str]:
    """Signals the program's process group, as a terminal does, when `ready` says that it may."""
    scratch, work = tmp_path / "tmp", tmp_path / "work"
    scratch.mkdir()
    work.mkdir()
    process = subprocess.Popen(
        [*program(tool), *arguments],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    while process.poll() is None and not (hears_signals(process) and ready(scratch)):
        time.sleep(QUICK)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=120)
    assert list(scratch.iterdir()) == []
    # A worker would be left over for good; what joblib tidies up with sees the end a little later.
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.killpg(process.pid, 0)
            time.sleep(QUICK)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def at_once(scratch: Path) -> bool:
    return scratch.exists()


def later(seconds: float) -> Callable[[Path], bool]:
    started: list[float] = []

    def ready(scratch: Path) -> bool:
        started.append(time.monotonic())
        return started[-1] - started[0] > seconds and scratch.exists()

    return ready


def emulates(scratch: Path) -> bool:
    return any(scratch.rglob("bankwise-emulate-*"))


def reports(scratch: Path) -> bool:
    return any(scratch.glob("bankwise-*"))


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "attention.mlir"
    path.write_text(Attention(4, 2048, 128, "f32").source())
    return str(path)


@pytest.mark.parametrize(
    ("tool", "number", "ready"),
    [
        ("opt", signal.SIGINT, at_once),
        ("report", signal.SIGTERM, later(0.3)),
        ("compile", signal.SIGINT, later(0.2)),
        ("run", signal.SIGHUP, emulates),
        # It waits for a report, which it ends, and whose files go.
        ("check_files", signal.SIGINT, reports),
    ],
)
def test_a_signal_is_one_line_and_leaves_nothing(
    tmp_path: Path,
    kernel: str,
    tool: str,
    number: signal.Signals,
    ready: Callable[[Path], bool],
) -> None:
    arguments = [kernel, *GFX942, "-o", "out"]
    if tool == "opt":
        arguments = ["-", "-o", "out"]
    elif tool == "check_files":
        arguments = [kernel, *GFX942]
    elif tool == "run":
        arguments = [f"--module={kernel}", "--device=emulated-gfx942", "--output=@out.npy"]
        arguments += ["--input=4x2048x128xf32=1"] * 3
    ended = interrupted(tmp_path, tool, arguments, number, ready)
    word = {1: "hung up", 2: "interrupted", 15: "terminated"}[number]
    said = [line for line in ended.stderr.splitlines() if not line.startswith("device: ")]
    name = tool if tool == "check_files" else f"bankwise-{tool}"
    assert said == [f"{name}: error: {word}"]
    assert ended.returncode == 128 + number
    assert list((tmp_path / "work").iterdir()) == []


def test_an_ignored_signal_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "doubled.mlir").write_text(DOUBLED)
    words = [*program("compile"), "doubled.mlir", *GFX942, "--quiet", "-o", "out.vmfb"]
    command = shlex.join(words)
    process = subprocess.Popen(
        ["bash", "-c", f"trap '' HUP INT TERM; exec {command}"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    numbers = cycle((signal.SIGHUP, signal.SIGINT, signal.SIGTERM))
    time.sleep(QUICK)  # The shell ignores them by now.
    while process.poll() is None:
        os.killpg(process.pid, next(numbers))
        time.sleep(QUICK)
    assert process.communicate() == (None, b"")
    assert process.returncode == 0
    assert [each.name for each in tmp_path.glob("*.vmfb")] == ["out.vmfb"]


@pytest.mark.nightly
def test_a_sweep_ends_its_workers_and_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text(
        '[{"kernel": "attention", "batch": 4, "seq": 2048, "head_dim": 128}]'
    )
    arguments = [f"--kernels={tmp_path / 'k.json'}", "--dtypes=f32", "--jobs=2", "-o", "."]
    ended = interrupted(tmp_path, "sweep", arguments, signal.SIGINT, emulates)
    assert ended.stderr.splitlines() == [
        "bankwise-sweep: error: interrupted; 3 of 3 rows are open: the same command goes on with "
        "them"
    ]
    assert ended.returncode == 130
    # A sweep that has measured nothing leaves no file.
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("redirection", "code", "error"),
    [
        ("<&-", 1, "bankwise-opt: error: cannot open input file '<stdin>': Bad file descriptor\n"),
        (">&-", 1, "bankwise-opt: error: cannot write '-': Bad file descriptor\n"),
        ("-o out >&- <&0", 0, ""),
        ("2>&-", 0, ""),
        ("> /dev/full", 1, "bankwise-opt: error: cannot write '-': No space left on device\n"),
        ("| head -c 1 > /dev/null; exit ${PIPESTATUS[0]}", 0, ""),
        ("--list-passes >&-", 1, "cannot write its output: Bad file descriptor\n"),
        ("--help | head -1 > /dev/null; test ${PIPESTATUS[0]} -eq 141", 0, ""),
    ],
)
def test_closed_streams_are_no_traceback(
    tmp_path: Path, redirection: str, code: int, error: str
) -> None:
    command = f"{shlex.join(program('opt'))} {redirection}"
    ended = subprocess.run(
        ["bash", "-c", command],
        input="func.func @f() {\n  return\n}\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ended.returncode == code
    assert ended.stderr.endswith(error)
    assert len(ended.stderr.splitlines()) == (1 if error else 0)
    if "-o" in redirection:
        assert (tmp_path / "out").read_text().startswith("module {")


def test_an_executable_that_cannot_be_read_is_said_to_be() -> None:
    command = f"{shlex.join(program('executable'))} <&-"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "bankwise-executable: error: cannot read an executable from standard input: Bad file "
        "descriptor\n"
    )
