# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m bankwise.tools.check_files`: fails where a file of many has bank conflicts.

    python -m bankwise.tools.check_files [flags of bankwise-report] FILE...

This is what the GitHub Action and the pre-commit hook run. `bankwise-report --fail-on-conflicts`
compiles one file; here each file, in a process of its own, has the same flags. The report of a file
is printed only where it fails. A FILE that does not exist is a pattern, in which `**` stands for
any folders; one that no file matches is an error, because nothing was checked then.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from glob import glob
from pathlib import Path

from .endings import exit_code_of, fail, leave
from .interruption import Interrupted, run_interruptibly
from .usage import UsageError

PROGRAM = "check_files"
REPORT = (sys.executable, "-P", "-m", "bankwise.tools.report")
"""With `-P` a folder `bankwise` of the project that is checked is not taken for the package."""


def matching_files(patterns: Iterable[str]) -> Iterator[str]:
    """Yields the files that the patterns stand for, each once.

    Raises:
        UsageError: a pattern stands for no file.
    """
    seen: set[str] = set()
    for pattern in patterns:
        found = [pattern] if Path(pattern).exists() else _matches(pattern)
        if not found:
            raise UsageError(f"{pattern!r}: no such file, and no file matches it")
        for path in found:
            if path not in seen:
                seen.add(path)
                yield path


def _matches(pattern: str) -> list[str]:
    # Path.glob takes no absolute pattern.
    found = glob(pattern, recursive=True)  # noqa: PTH207
    return sorted(path for path in found if Path(path).is_file())


def shown(path: str) -> str:
    """Returns a file's name as one line that leaves a terminal as it is."""
    return path if path.isprintable() else repr(path)


def has_conflicts(path: str, flags: Sequence[str]) -> bool:
    """Checks one file, prints what comes of it, and returns whether it fails."""
    with subprocess.Popen(
        [*REPORT, path, *flags, "--fail-on-conflicts"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as done:
        assert done.stdout is not None
        try:
            report = done.stdout.read()
        except Interrupted:
            done.terminate()  # It removes its files; `subprocess.run` would kill it.
            raise
    if done.returncode == 0:
        print(f"{shown(path)}: no bank conflicts", flush=True)
        return False
    print(report, end="")
    print(f"{shown(path)}: failed, exit code {done.returncode}", flush=True)
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Checks the files; returns 1 if one of them fails."""
    words = list(sys.argv[1:] if argv is None else argv)
    if any(word in ("--help", "-h") for word in words):
        print(__doc__, end="")
        return 0
    flags = [word for word in words if word.startswith("-")]
    try:
        if "-o" in flags:
            raise UsageError(
                "-o: the reports of several files have no one file; use bankwise-report"
            )
        files = [*matching_files(word for word in words if not word.startswith("-"))]
        if not files:
            raise UsageError("which files? none is given")
    except UsageError as error:
        return fail(PROGRAM, str(error))
    failed = [path for path in files if has_conflicts(path, flags)]
    if failed:
        names = ", ".join(map(shown, failed))
        return fail(PROGRAM, f"{len(failed)} of {len(files)} files failed: {names}")
    return 0


if __name__ == "__main__":
    leave(run_interruptibly(PROGRAM, lambda: exit_code_of(PROGRAM, main)))
