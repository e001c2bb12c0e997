# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts that complete the programs, in the shells that they are for."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from bankwise.tools.completion import add_listed_flags

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


HELP = """\
OVERVIEW: A tool

  -o <filename>                  Output file, '-' (default) for stdout, 100 % of it
  --level=<value>                What may change:
    =layout                      the layouts of tiles
    =fast                        more
  --verify, --dump-to=<directory>, --name=<string>
  --diagnostics[=only-expected]  Compare
  --a-flag-that-is-much-too-long=<file>
                                 Says so below
  --cse                       -   Eliminate common sub-expressions
    --an-option=<int>         -   of the pass
  --strategy=<value>                        - Which one
    =DPP                                    -   this one
  --quiet                                   -\x20
"""


def test_a_help_is_read() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--quiet", choices=("as", "it", "is"))
    add_listed_flags(parser, HELP)
    known = [(*each.option_strings, each.metavar, each.choices) for each in parser._actions]
    assert known == [
        ("--quiet", None, ("as", "it", "is")),
        ("-o", "filename", None),
        ("--level", "value", ["layout", "fast"]),
        ("--verify", None, None),
        ("--dump-to", "directory", None),
        ("--name", "string", None),
        ("--diagnostics", None, None),
        ("--a-flag-that-is-much-too-long", "file", None),
        ("--cse", None, None),
        ("--strategy", "value", ["DPP"]),
    ]
    assert parser._actions[1].help == "Output file, '-' (default) for stdout, 100 %% of it"


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("tool", "word", "offered"),
    [
        ("tile", "--tar", "--target"),
        ("opt", "--bankwise-reso", "--bankwise-resolve-swizzle-hints"),
        ("opt", "--canoni", "--canonicalize"),
        ("compile", "--bankwise-l", "--bankwise-level"),
        ("compile", "--iree-rocm-target", "--iree-rocm-target"),
        ("executable", "--pri", "--print-completion"),
        ("report", "--bank-m", "--bank-map"),
        ("report", "--iree-rocm-target", "--iree-rocm-target"),
        ("run", "--expected_r", "--expected_rtol"),
        ("run", "--bankwise-rem", "--bankwise-remarks"),
        ("sweep", "--red", "--redraw"),
    ],
)
def test_flags_and_passes_are_offered(tool: str, word: str, offered: str) -> None:
    assert offered in replies(tool, [word])


@pytest.mark.parametrize(
    ("tool", "words", "offered"),
    [
        ("compile", ["--bankwise-level", "=", "e"], ["exact"]),
        ("compile", ["--bankwise-level", "e"], ["exact"]),
        ("compile", ["a", "-o", "b", "--verify", "--bankwise-level", "=", "e"], ["exact"]),
        ("compile", ["--bankwise-level", "="], ["layout", "exact", "fast"]),
        ("compile", ["--bankwise-level", "=", "fast", "--bankwise-ret"], ["--bankwise-retile"]),
        ("report", ["--bankwise-level", "=", "e"], ["exact"]),
        ("run", ["--bankwise-level", "=", "e"], ["exact"]),
        ("tile", ["--format", "=", "j"], ["json"]),
        ("tile", ["--target", "=", "gfx9"], ["gfx90a", "gfx942", "gfx950"]),
        ("run", ["--device", "=", "emulated-gfx9"], [f"emulated-gfx9{n}" for n in ("0a", 42, 50)]),
        ("run", ["--target", "=", "gfx95"], ["gfx950"]),
        ("sweep", ["--modes", "=", "st"], ["stock"]),
        ("sweep", ["--targets", "=", "gfx95"], ["gfx950"]),
        ("report", ["--target", "=", "gfx95"], ["gfx950"]),
        ("report", ["--format", "=", "h"], ["html"]),
    ],
)
def test_values_are_offered_behind_a_flag(tool: str, words: list[str], offered: list[str]) -> None:
    assert replies(tool, words) == offered


def test_files_and_folders_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.mlir").touch()
    (tmp_path / "some").mkdir()
    monkeypatch.chdir(tmp_path)
    assert sorted(replies("opt", ["-o", "so"])) == ["some", "some.mlir"]
    assert sorted(replies("opt", ["--cse", "so"])) == ["some", "some.mlir"]
    assert replies("compile", ["--bankwise-dump-ir", "=", "so"]) == ["some"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("tool", TOOLS)
def test_every_program_has_a_script(tool: str, shell: str) -> None:
    text = script(tool, shell)
    assert f"bankwise-{tool}" in text
    done = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_zsh_is_told_that_a_value_may_stand_behind_the_sign() -> None:
    assert '"--format=[' in script("tile", "zsh")
    assert '"--no-bank-maps[' in script("tile", "zsh")


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
