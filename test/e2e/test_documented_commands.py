# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every block of code in the README and the docs does what the page says.

`documented_blocks.py` says how a page is read. The blocks of a page run in the order of the page,
in one directory that looks like the root of the repository, so that a block can use what an
earlier one has written. A picture that a block draws must be the one that the page shows. Python
runs as one notebook, behind the commands; where it is written as a dialogue, with `>>> `, doctest
compares what it prints.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from bankwise.test.tool_server import TOOLS, ToolServer

from .conftest import BIN
from .documented_blocks import Block, Command, blocks, first_difference

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in PAGES if page.exists()]
BY_NIGHT = {
    "CONTRIBUTING.md",
    "bank_conflicts.md",
    "ci.md",
    "claims.md",
    "compile.md",
    "counters.md",
    "faq.md",
    "for_iree.md",
    "notebook.md",
    "report.md",
    "sweep.md",
    "timing.md",
    "tutorial.md",
}
"""Pages whose blocks compile and run for longer than what they show changes, or show what the tests
of the compiling tool, of reports, of sweeps, of CI and of the notebook run too."""
NOT_LINKED = {".git", ".venv", "out", "build"}
END = "<<documented command ended: {}>>"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("BANKWISE_")},
    "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "TERM": "dumb",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Returns a directory with links to what the repository's root has."""
    for path in ROOT.iterdir():
        if path.name not in NOT_LINKED:
            (tmp_path / path.name).symlink_to(path)
    return tmp_path


@pytest.fixture(scope="module")
def forked(server: ToolServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with programs that run the tools in forks, because starts are slow."""
    directory = tmp_path_factory.mktemp("tools")
    for tool in TOOLS:
        program = directory / f"bankwise-{tool}"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(server.command(program.name))} "$@"\n')
        program.chmod(0o755)
    return directory


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.nightly] * (page.name in BY_NIGHT)) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_blocks_of_a_page_run(page: Path, root: Path, forked: Path) -> None:
    path = f"{forked}{os.pathsep}{ENVIRONMENT['PATH']}"
    chosen = [block for block in blocks(page) if not block.is_nightly]
    run_page(page, chosen, root, {**ENVIRONMENT, "PATH": path})


CHEAP = "bankwise-tile "
"""How a command begins that needs no compile, and nothing of the commands before it."""


@pytest.mark.parametrize("page", sorted(BY_NIGHT))
def test_by_day_the_cheap_blocks_of_other_pages_run(page: str, root: Path, forked: Path) -> None:
    path = next(each for each in PAGES if each.name == page)
    commands = [
        command
        for block in blocks(path)
        if block.is_session and block.reason_not_to_run is None
        for command in block.commands()
    ]
    cheap = [each for each in commands if each.text.startswith(CHEAP) and ">" not in each.text]
    environment = {**ENVIRONMENT, "PATH": f"{forked}{os.pathsep}{ENVIRONMENT['PATH']}"}
    run_session(page, cheap, root, environment)


@pytest.mark.nightly
def test_the_readme_and_pages_with_slow_blocks_run_whole_as_a_reader_starts_them(
    root: Path,
) -> None:
    for page in PAGES:
        if page == PAGES[0] or any(block.is_nightly for block in blocks(page)):
            run_page(page, blocks(page), root, ENVIRONMENT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_block_that_does_not_run_has_a_reason(page: Path) -> None:
    for block in blocks(page):
        assert block.reason_not_to_run != "", f"{page.name}:{block.line}"
        if block.comment:
            known = block.comment.startswith(("not run: ", "file: ")) or block.is_nightly
            assert known, f"{page.name}:{block.line}: {block.comment}"


def run_page(
    page: Path, chosen: Sequence[Block], root: Path, environment: Mapping[str, str]
) -> None:
    chosen = [block for block in chosen if block.reason_not_to_run is None]
    commands: list[Command] = []
    for block in chosen:
        if block.file is not None:
            (root / block.file).write_text(block.text)
        elif block.is_session:
            commands += block.commands()
        else:
            check_data(block, f"{page.name}:{block.line}")
    run_session(page.name, commands, root, environment)
    for picture in re.findall(r"!\[[^\]]*\]\(([\w.]+)\)", page.read_text()):
        if (root / picture).exists():
            same = (root / picture).read_bytes() == (page.parent / picture).read_bytes()
            assert same, f"{page.name}: its command draws another {picture} than the page shows"
    python = [block.text for block in chosen if block.language == "python" and not block.file]
    is_dialogue = any(text.startswith(">>> ") for text in python)
    if python:
        code = root / ("page.txt" if is_dialogue else "page.py")
        code.write_text("\n".join(python))
        # doctest reads a text, not a module: every dialogue of the page is one after the other.
        reader = ["-m", "doctest", "-o", "FAIL_FAST"] if is_dialogue else []
        done = subprocess.run(
            [sys.executable, *reader, code.name],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"Python of {page.name}: {done.stdout}{done.stderr}"


def check_data(block: Block, place: str) -> None:
    """Parses blocks of data; of what language it is must be known."""
    readers = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
    if block.language in readers:
        readers[block.language](block.text)
    else:
        assert block.language in {"python", "text"}, f"{place}: a block of {block.language!r}"


def run_session(
    page: str, commands: Sequence[Command], root: Path, environment: Mapping[str, str]
) -> None:
    """Runs commands in one shell, and compares what each prints with what the page shows."""
    for command in commands:
        name = command.shown_file
        if name is not None and not (root / name).exists():
            (root / name).write_text("".join(f"{line}\n" for line in command.printed))
    script = "".join(
        f"{command.text}\nstatus=$?; echo; echo '{END.format(at)}' $status; (exit $status)\n"
        for at, command in enumerate(commands)
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=600,
    )
    rest = done.stdout
    for at, command in enumerate(commands):
        place = f"{page}:{command.line}: {command.text}"
        printed, ended, rest = rest.partition(f"\n{END.format(at)} ")
        assert ended, f"{place}\ndid not end:\n{printed}"
        status, _, rest = rest.partition("\n")
        asked = at + 1 < len(commands) and commands[at + 1].text.startswith("echo $?")
        assert status == "0" or asked, f"{place}\nexit code {status}:\n{printed}"
        if command.printed:
            missing = first_difference(command.printed, printed.splitlines())
            assert missing is None, f"{place}\ndoes not print\n{missing}\nbut\n{printed}"
