# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the tools of Bankwise in forks of one process that has imported what they import.

A tool that starts anew spends about half of its time on imports, and the tests start some hundred.
Here each is a process of its own too, with the arguments, the environment, the directory and the
standard streams of the program that stands for it, `started_tool.py`. That Python itself starts,
and in which order a tool imports what, is left to tests which start the installed programs.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import select
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

CLIENT = Path(__file__).with_name("started_tool.py")
TOOLS = ("compile", "opt", "report", "run")
"""What is run in a fork. The others do not load the compiler, or are started by it."""
CHECKER = "filecheck"
"""What looks at the output of half of them, and runs in a fork too."""
ROOMS = ("bank_model", "dialect_utils", "passes", "iree_plugin", "report", "runtime", "emulator")
LATE = "bankwise.emulator.timing"
"""What takes seconds to import, and few tools want."""


@dataclass(frozen=True)
class ToolServer:
    """A process that forks tools as long as somebody has its standard input.

    Attributes:
        socket: the path at which it listens.
        process: holds the server's standard input, whose end is the server's.
    """

    socket: str
    process: subprocess.Popen[bytes]

    @classmethod
    def started(cls, directory: str) -> ToolServer:
        """Starts a server, which listens in a directory whose path is short."""
        path = f"{directory}/tools"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(64)
            number = listener.fileno()
            # Signals of a terminal are not for it, but for the tools' clients.
            process = subprocess.Popen(
                [sys.executable, __file__, str(number)],
                stdin=subprocess.PIPE,
                pass_fds=[number],
                start_new_session=True,
            )
        return cls(path, process)

    def command(self, program: str) -> list[str]:
        """Returns the words that start a program of the environment, which takes arguments."""
        installed = str(Path(sys.executable).with_name(program))
        if program.removeprefix("bankwise-") not in (*TOOLS, CHECKER):
            return [installed]
        # Isolated, and without packages: it has to start fast.
        return [sys.executable, "-I", "-S", str(CLIENT), self.socket, installed]


@contextmanager
def tool_server() -> Iterator[ToolServer]:
    """Yields a server, which ends with the context."""
    with tempfile.TemporaryDirectory(prefix="bankwise-") as directory:
        server = ToolServer.started(directory)
        try:
            yield server
        finally:
            server.process.communicate()


def serve(listener: socket.socket) -> None:
    """Forks a process for each client, until the standard input ends."""
    import_tools()
    gc.collect()
    gc.freeze()
    answering = 0
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        client, _ = listener.accept()
        with client:
            if os.fork() == 0:
                listener.close()
                answer(client)
        answering += 1
        while answering and os.waitpid(-1, os.WNOHANG)[0]:
            answering -= 1


def import_tools() -> None:
    """Imports what the tools import when they need it."""
    import_module("filecheck.main")
    for tool in TOOLS:
        import_module(f"bankwise.tools.{tool}")
    for room in ROOMS:
        package = import_module(f"bankwise.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith(LATE):
                import_module(found.name)


def answer(client: socket.socket) -> NoReturn:
    """Runs the tool of one client, and says how it has ended: its code, or minus its signal."""
    start, streams, _, _ = socket.recv_fds(client, 1 << 16, 3)
    with client.makefile("rb") as rest:
        size, _, text = start.partition(b"\n")
        text += rest.read(int(size) - len(text))
    tool = os.fork()
    if tool == 0:
        client.close()
        become(json.loads(text), streams)
    # Else whoever reads the tool's output waits for this process.
    for stream in (*streams, 0, 1, 2):
        os.close(stream)
    _, status = os.waitpid(tool, 0)
    client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(asked: dict[str, Any], streams: list[int]) -> NoReturn:
    """Runs a tool as a program that starts with the standard streams; never returns."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked["directory"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["arguments"]
    sys.stdin = sys.__stdin__ = stream_of(0, "r")
    sys.stdout = sys.__stdout__ = stream_of(1, "w")
    sys.stderr = sys.__stderr__ = stream_of(2, "w", buffering=1, errors="backslashreplace")
    tool = Path(sys.argv[0]).name.removeprefix("bankwise-")
    try:
        if tool == CHECKER:
            import_module("filecheck.main").main()
        else:
            getattr(import_module("bankwise.tools.commands"), f"{tool}_command")()
    except SystemExit as end:  # The checker's way; the tools leave on their own.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))
    except BaseException:  # What Python does with it where a program has a beginning and an end.
        traceback.print_exc()
    finally:
        os._exit(1)


def stream_of(number: int, mode: str, **more: Any) -> IO[str]:
    """Returns what Python makes of a standard stream when it starts."""
    return open(number, mode, closefd=False, **more)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
