# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-compile`: `iree-compile` with conflict-free LDS layouts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .. import __version__
from ..iree_plugin.atomic_file import OutputError
from ..iree_plugin.compile_settings import CompileSettings
from .compile_arguments import flags_without_codegen, help_text, parse_arguments
from .endings import fail, file_error, let_pipes_end_process, warn
from .usage import UsageError

PROGRAM = "bankwise-compile"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if any(a in ("--version", "-version") for a in arguments):
        print(f"{PROGRAM} {__version__}", flush=True)
    if any(a.lstrip("-").startswith("help") and a.startswith("-") for a in arguments):
        let_pipes_end_process()
        print(help_text(), flush=True)
    try:
        return _run(parse_arguments(arguments))
    except UsageError as error:
        return fail(PROGRAM, str(error))


def _run(settings: CompileSettings) -> int:
    # The compiler's library is loaded only now: usage errors answer at once.
    from ..iree_plugin.early_import import import_beside_compiler

    import_beside_compiler(settings.mode)
    from ..iree_plugin import embedding

    embedding.set_process_flags(PROGRAM, settings.library_flags)
    if settings.list_backends:
        print("Registered target backends:", *embedding.target_backends(), sep="\n  ")
        return 0
    if settings.list_plugins:
        print("Loaded plugins:", *embedding.compiler_plugins(), sep="\n  ")
        return 0
    if settings.input is None:
        return fail(PROGRAM, "no input file; name one, or `-` for stdin")

    from ..iree_plugin.compile_driver import compile_to_output
    from ..iree_plugin.stepped_compile import CompileError, DriverError, check_phases

    try:
        check_phases(settings)
        ignored = flags_without_codegen(settings)
        if ignored:
            warn(PROGRAM, f"{', '.join(ignored)}: without effect, because {settings.why_no_code}")
        compile_to_output(settings)
    except CompileError:
        return 1
    except (DriverError, OutputError, ValueError) as error:
        return fail(PROGRAM, str(error))
    except OSError as error:
        return fail(PROGRAM, file_error(error))
    return 0


if __name__ == "__main__":
    from .commands import compile_command

    compile_command()
