# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-run` does with a kernel's assembly: it runs on the emulator, and is counted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..bank_model.shown_text import shown_text
from ..iree_plugin.atomic_file import OutputError
from ..runtime.module_run import PROGRAM
from .assembly_arguments import AssemblySettings
from .endings import fail, fail_with_file
from .run_output import Array, check_files, compare, show_arrays, show_records
from .run_progress import emulation_progress

if TYPE_CHECKING:
    from ..emulator.assembly import Kernel
    from ..runtime.argument_values import Value
    from ..runtime.assembly_run import AssemblyRun, KernelFile


def run_assembly_file(settings: AssemblySettings) -> int:
    """Runs the kernel, and shows what was asked for; returns the exit code."""
    from ..emulator.emulation_errors import EmulationError
    from ..emulator.instruction_text import AssemblyError
    from ..runtime.argument_values import ArgumentError
    from ..runtime.assembly_run import LaunchOptions, read_kernel, run_kernel
    from ..runtime.dtypes import ElementTypeError
    from ..runtime.triton_cache import TritonCacheError
    from ..runtime.values import ValueTextError, parse_values

    try:
        values = (*settings.arguments, *(text for _, text in settings.expected))
        places = [where for _, where in settings.outputs]
        check_files(settings, settings.assembly, values, places)
        expected = [(name, parse_values(text)[0]) for name, text in settings.expected]
        file = read_kernel(_path(settings), settings.kernel, settings.target)
        kernel = file.kernel
        arguments = _arguments(settings, file)
        variables = {name: _variable(text) for name, text in settings.variables}
        outputs = [(_output(kernel, name), where) for name, where in settings.outputs]
        pairs = [(_output(kernel, name), value) for name, value in expected]
        sizes = (settings.grid, settings.block, settings.shared)
        limits = (settings.workgroups, settings.max_steps)
        with emulation_progress() as watch:
            options = LaunchOptions.checked(
                *(*sizes, *limits, watch, settings.predicts),
                waits=settings.waits,
                assume_xf32=settings.assume_xf32,
                warn=lambda text: print(f"{PROGRAM}: warning: {text}", file=sys.stderr),
            )
            run = run_kernel(file, arguments, options, variables)
        print(f"device: emulated-{kernel.arch}", file=sys.stderr)
        print(f"EXEC @{shown_text(kernel.name)}")
        show_records(settings, [run.record], {kernel.name: run.assembly})
        # What was asked for, or else all that was stored to.
        shown = outputs or [(name, "-") for name in (*run.stored, *run.changed)]
        show_arrays(settings, ((*_labelled(run, number), where) for number, where in shown))
        compared = [(*_labelled(run, name, value), value) for name, value in pairs]
        return compare(settings, compared) if compared else 0
    except (
        *(ArgumentError, AssemblyError, ElementTypeError, EmulationError, OutputError),
        *(TritonCacheError, ValueTextError),
    ) as error:
        return fail(PROGRAM, str(error))
    except OSError as error:
        return fail_with_file(PROGRAM, error)


def _path(settings: AssemblySettings) -> str:
    """Returns the path of the assembly, which may have to be found in Triton's cache."""
    from ..runtime.triton_cache import find_kernel

    if not settings.triton_cache:
        return settings.assembly
    # A shell leaves the `~` of `--triton-cache=~/.triton/cache` as it is.
    cache = Path(settings.triton_cache).expanduser()
    return str(find_kernel(cache, settings.kernel, settings.target).assembly)


def _arguments(settings: AssemblySettings, file: KernelFile) -> list[Value]:
    """Returns the values of `--arg`, whose types may be known from the kernel's source."""
    from ..runtime.argument_values import parse_argument, with_element

    parameters = iter(file.parameters)
    values: list[Value] = []
    for text in settings.arguments:
        known = next(parameters, None)
        typed = with_element(text, known.element, known.pointer) if known else text
        values.append(parse_argument(typed))
    return values


def _variable(text: str) -> Array:
    """Returns the value of a variable that a text denotes, which is an array."""
    import numpy as np

    from ..runtime.argument_values import ArgumentError, parse_argument

    value = parse_argument(text)
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"--variable: '{text}' is no array or number")
    return value


def _output(kernel: Kernel, name: str) -> int | str:
    """Returns the number of the argument, or the symbol of the variable, that a name denotes."""
    from ..emulator.kernel_arguments import explicit_arguments
    from ..runtime.file_variables import variable_symbol

    arguments = [argument.name for argument in explicit_arguments(kernel)]
    if name.isdecimal() or name in arguments or not kernel.data.variables:
        return _buffer(kernel, name)
    return variable_symbol(kernel, name)


def _buffer(kernel: Kernel, name: str) -> int:
    """Returns the number of the argument that a name or a number denotes, which is a buffer.

    Raises:
        ArgumentError: there is no such argument, or it is no buffer.
    """
    from ..emulator.kernel_arguments import POINTER, explicit_arguments
    from ..runtime.argument_values import ArgumentError

    arguments = explicit_arguments(kernel)
    names = [argument.name for argument in arguments]
    known = ", ".join(f"{number} {each}".strip() for number, each in enumerate(names))
    number = int(name) if name.isdecimal() else names.index(name) if name in names else -1
    if not 0 <= number < len(names):
        raise ArgumentError(f"kernel '{kernel.name}' has no argument '{name}'; it has {known}")
    if arguments[number].kind != POINTER:
        raise ArgumentError(f"argument '{name}' of kernel '{kernel.name}' is no buffer")
    return number


def _labelled(run: AssemblyRun, name: int | str, like: object = None) -> tuple[str, Array]:
    """Returns the label and the contents of an argument's buffer, or of a variable.

    A variable is taken for an array as `like` is, where it has as many bytes.
    """
    import numpy as np

    from ..runtime.argument_values import ArgumentError

    if isinstance(name, str):
        value = run.variables[name]
        if isinstance(like, np.ndarray) and like.nbytes == value.nbytes:
            value = value.view(np.uint8).reshape(-1).view(like.dtype).reshape(like.shape)
        return f"variable[{shown_text(name)}]", value
    contents = run.buffers[name]
    if contents is None:
        raise ArgumentError(f"argument {name} of kernel '{run.record.kernel.name}' is null")
    return f"argument[{name}]", contents
