# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device codegen of one `hal.executable`, for a compile that goes on elsewhere.

A compile hands out each executable before it has a configuration, as text with all locations. Stock
configures the functions here as it would there, our edited pipelines run, and the functions go back
marked `#iree_codegen.no_pipeline`. To the outer compile this is a configuration of the user's own,
which it keeps.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from iree.compiler.api import Session, Source

from .compile_driver import print_note, print_summary
from .compile_settings import CompileSettings
from .embedding import compiler_tool, compiler_version
from .executable_text import name_of
from .shared_decisions import keep_decisions
from .stepped_compile import DriverError, SteppedCompile

if TYPE_CHECKING:
    from iree.compiler import ir


def check_version(program: Path) -> None:
    """Checks that the outer compile's program is of the version of the compiler that works here.

    Raises:
        DriverError: it is of another one, or cannot say. Its IR may mean something else then.
    """
    ours = compiler_tool(program.name)
    try:
        if program.samefile(ours):
            return
        run = subprocess.run([str(program), "--version"], capture_output=True, text=True)
    except OSError as error:
        raise DriverError(f"cannot ask '{program}' for its version: {error.strerror}") from None
    if compiler_version() not in run.stdout:
        found = " ".join(run.stdout.split()) or "nothing"
        raise DriverError(
            f"the compiler that is installed with Bankwise is {compiler_version()}, and "
            f"'{program} --version' says: {found}"
        )


def compile_executable(executable: bytes, settings: CompileSettings) -> bytes:
    """Runs the device codegen of an executable; the process's flags have been set.

    Args:
        executable: the text of a `hal.executable` at the end of phase `executable-sources`, which
            holds no resources.
        settings: how to compile. Of the paths only that of the decisions is used.

    Returns:
        The executable's text with its GPU functions lowered, or nothing where none of them is one
        that our passes run on and the outer compile knows the GPU.

    Raises:
        CompileError: the compiler, or a pass, has reported an error, which has been printed.
        OutputError: the decisions cannot be written.
        PipelineEditError: an edit does not fit a pipeline.
    """
    session = Session()
    with SteppedCompile(
        session, settings, general=True, summarizes=not settings.quiet
    ) as compilation:
        source = Source.wrap_buffer(session, executable + b"\0", buffer_name="<executable>")
        module = compilation.configured_module(source)
        replayed = compilation.replay(module)
        if not replayed:
            return b"" if compilation.described is None else _text(module)
        if settings.decisions is not None:
            keep_decisions(Path(settings.decisions), compilation.context.log, replayed)
        print_summary(compilation, f"executable {name_of(executable)}: ")
        print_note(compilation.advice_text("BANKWISE_LEVEL=fast"))
        return _text(module)


def _text(module: ir.Operation) -> bytes:
    from ..dialect_utils.operations import children

    (executable,) = children(module, "hal.executable")
    # As the compiler prints it: no alias stands outside, and locations reach the kernel's debug
    # information and all later diagnostics.
    text = executable.get_asm(use_local_scope=True, enable_debug_info=True)
    return text.encode() + b"\n"
