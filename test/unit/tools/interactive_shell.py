# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A shell on a terminal of its own, in which keys are pressed."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import time
from pathlib import Path
from types import TracebackType

WRITE_LINE = "\x14"
"""The key, Ctrl-T, that has the shell write its command line to a file."""
CLEAR_LINE = "\x15"

_COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
_SETUPS = {
    "bash": """\
set +o history
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind -x '"\\C-t": printf "%s" "$READLINE_LINE" > {line}.new; mv {line}.new {line}'
source {functions}/*
touch {ready}
""",
    "zsh": """\
unsetopt beep
fpath=({functions} $fpath)
autoload -Uz compinit
compinit -D -u
write_line() {{ printf '%s' "$BUFFER" > {line}.new; mv {line}.new {line} }}
zle -N write_line
bindkey -e
bindkey '^T' write_line
touch {ready}
""",
}


class InteractiveShell:
    """A shell that completes a program's command line by a script; for a `with` statement.

    Its home and working directory is `folder`.
    """

    def __init__(self, shell: str, program: str, script: str, folder: Path) -> None:
        self._line = folder / "line"
        setup = folder / "setup"
        functions = folder / "functions"
        functions.mkdir()
        (functions / f"_{program}").write_text(script)
        files = {"line": self._line, "functions": functions, "ready": folder / "ready"}
        place = {name: shlex.quote(str(file)) for name, file in files.items()}
        setup.write_text(_SETUPS[shell].format(**place))
        self._terminal, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "PS1": "$ ", "HOME": str(folder)}
        self._process = subprocess.Popen(
            _COMMANDS[shell],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)
        self._press(f"source {shlex.quote(str(setup))}\n")
        self._wait_for(folder / "ready")

    def __enter__(self) -> InteractiveShell:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def completed(self, typed: str) -> str:
        """Returns what a command line becomes by the tab key."""
        self._press(f"{CLEAR_LINE}{typed}\t{WRITE_LINE}")
        self._wait_for(self._line)
        line = self._line.read_text()
        self._line.unlink()
        return line

    def _wait_for(self, file: Path) -> None:
        for _ in range(1200):
            self._drain()
            if file.exists():
                return
            time.sleep(0.05)
        raise TimeoutError(f"the shell has not written {file}")

    def _press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def _drain(self) -> None:
        """Reads what the shell shows, so that it goes on."""
        os.set_blocking(self._terminal, False)
        try:
            while os.read(self._terminal, 65536):
                pass
        except BlockingIOError:
            pass
        finally:
            os.set_blocking(self._terminal, True)
