# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts that complete the programs, in the shells that they are for."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from .interactive_shell import InteractiveShell

TOOLS = ("compile", "executable", "opt", "report", "run", "sweep", "tile")
needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
SHELLS = ("bash", pytest.param("zsh", marks=needs_zsh))


def printed(tool: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"bankwise.tools.{tool}", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@cache
def script(tool: str, shell: str) -> str:
    done = printed(tool, f"--print-completion={shell}")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def replies(tool: str, words: Sequence[str]) -> list[str]:
    """Returns what bash offers for the last of some words, as its COMP_WORDS has them."""
    program = f"bankwise-{tool}"
    lines = [
        script(tool, "bash"),
        f"COMP_WORDS=({shlex.join([program, *words])})",
        f"COMP_CWORD={len(words)}",
        f"complete -p {program} | grep -q -- '-F _bankwise_{tool} '",
        f"_bankwise_{tool} {program} {shlex.quote(words[-1])} ''",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    done = subprocess.run(
        ["bash", "--norc", "-e"], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_flags_and_passes_are_offered() -> None:
    assert replies("tile", ["--tar"]) == ["--target="]
    assert replies("opt", ["--bankwise-reso"]) == ["--bankwise-resolve-swizzle-hints"]
    assert replies("compile", ["--bankwise-l"]) == ["--bankwise-level="]
    assert {"--bankwise-remarks", "--bankwise-retile"} <= {*replies("run", ["--bankwise-re"])}


@pytest.mark.parametrize(
    "words",
    [
        ["--bankwise-level", "=", "e"],
        ["--bankwise-level", "e"],
        ["a", "-o", "b", "--verify", "--bankwise-level", "=", "e"],
    ],
)
def test_values_are_offered_behind_a_flag(words: list[str]) -> None:
    assert replies("compile", words) == ["exact"]


def test_all_values_are_offered_behind_the_sign() -> None:
    assert replies("compile", ["--bankwise-level", "="]) == ["layout", "exact", "fast"]
    # Where `=` is not in COMP_WORDBREAKS, bash takes the flag away with the value.
    assert replies("compile", ["--bankwise-level=e"]) == ["--bankwise-level=exact"]
    assert replies("compile", ["--bankwise-level=fast", "--bankwise-ret"]) == ["--bankwise-retile="]


def test_lists_are_completed_value_by_value() -> None:
    assert replies("sweep", ["--targets", "=", "gfx942,gfx95"]) == ["gfx942,gfx950"]
    assert replies("sweep", ["--dtypes", "=", "f"]) == ["f16", "f32"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("tool", TOOLS)
def test_every_program_has_a_script(tool: str, shell: str, tmp_path: Path) -> None:
    text = script(tool, shell)
    assert f"bankwise-{tool}" in text
    done = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("tool", "lines"),
    [
        ("tile", {
            "--tar": "--target=",
            "--target=gfx94": "--target=gfx942 ",
            "--target=gfx942 --format=j": "--target=gfx942 --format=json ",
            "--no": "--no-bank-maps ",
        }),
        ("opt", {
            "--bankwise-reso": "--bankwise-resolve-swizzle-hints ",
            "--canoni": "--canonicalize ",
            "--cse so": "--cse some\\ file.mlir ",
            "-o so": "-o some\\ file.mlir ",
            "--bankwise-decisions=so": "--bankwise-decisions=some\\ file.mlir ",
        }),
        ("sweep", {
            "--kernels=att": "--kernels=attention ",
            "--kernels=so": "--kernels=some\\ file.mlir ",
            "--output=fo": "--output=folder/",
        }),
    ],
    ids=["tile", "opt", "sweep"],
)  # fmt: skip
def test_the_tab_key_completes_a_line(
    shell: str, tool: str, lines: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "some file.mlir").touch()
    (tmp_path / "folder").mkdir()
    program = f"bankwise-{tool}"
    with InteractiveShell(shell, program, script(tool, shell), tmp_path) as session:
        found = {typed: session.completed(f"{program} {typed}") for typed in lines}
    assert found == {typed: f"{program} {line}" for typed, line in lines.items()}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--print-completion=fish"], "--print-completion: 'fish' is not one of bash, zsh"),
        (["--print-completion"], "--print-completion needs a value"),
        (["--print-completions"], "unknown flag '--print-completions'"),
    ],
)
def test_other_shells_are_refused_in_one_line(flags: list[str], message: str) -> None:
    done = printed("tile", *flags)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"bankwise-tile: error: {message}\n"
