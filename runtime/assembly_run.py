# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running one kernel of an assembly file on the emulator, with arguments of the caller's.

Anybody's kernel for an emulated chip will do: what clang's AMDGPU backend, Triton or IREE writes,
or a person. No compiler is loaded.

    run = bankwise.run_assembly(
        "transpose.s", [matrix, np.zeros((256, 1024), "f2"), np.int32(1024), np.int32(256)],
        kernel="padded", grid=(8, 16), block=(256,))
    run.buffers[1], run.counters["SQ_LDS_BANK_CONFLICT"]
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ..bank_model.shown_text import counted
from ..emulator.assembly import Kernel, named_chip, parse_kernel
from ..emulator.counters import totals
from ..emulator.directives import needs_assembler
from ..emulator.disassembly import is_disassembly, parse_disassembly
from ..emulator.dispatch import Dispatch, size_text
from ..emulator.function_code import EncodedCodeError
from ..emulator.global_memory import GlobalMemory
from ..emulator.instruction_text import AssemblyError
from ..emulator.kernel_arguments import LDS_POINTER, argument_block, explicit_arguments
from ..emulator.kernel_metadata import KernelArgument, Size
from ..emulator.supervision import MAX_STEPS, RunState, Supervision, Waits
from .argument_values import (
    ArgumentError,
    Array,
    LdsBytes,
    Value,
    check_element,
    check_type,
    forms_for,
    in_python,
    shown,
    value_bytes,
)
from .code_object import is_code_object, read_code_object
from .dispatch_record import DispatchRecord, run_dispatch, sampled_workgroups
from .dtypes import unpacked
from .file_variables import FileVariables
from .llvm_tools import LlvmToolError, assembled, expanded, find_tool
from .triton_cache import Parameter, TritonKernel, kernel_beside

NO_VARIABLES: Mapping[str, Array] = MappingProxyType({})


@dataclass(frozen=True)
class AssemblyRun:
    """What a kernel left in its buffers, and what was counted.

    Attributes:
        buffers: for each argument the contents of its buffer, in the shape and with the dtype that
            it was given with; None for an argument that is no buffer.
        stored: the numbers of the arguments, from 0, to whose buffers the kernel stored.
        record: the launch, and its counters per instruction.
        assembly: the text of the file.
        variables: what is left in the variables of the file, by their symbols.
        changed: the symbols of those that are not what they were at the start.
    """

    buffers: list[Array | None]
    stored: tuple[int, ...]
    record: DispatchRecord
    assembly: str
    variables: Mapping[str, Array] = field(default_factory=dict)
    changed: tuple[str, ...] = ()

    @property
    def counters(self) -> dict[str, int]:
        """Returns the counters of the workgroups that ran, by name."""
        return totals(self.record.kernel, self.record.counters)


@in_python()
def run_assembly(
    source: str | os.PathLike[str],
    arguments: Sequence[Value],
    *,
    grid: Sequence[int],
    block: Sequence[int] = (),
    kernel: str = "",
    shared: int | None = None,
    target: str = "",
    workgroups: int | None = None,
    max_steps: int | None = None,
    timing: bool = False,
    variables: Mapping[str, Array] | None = None,
    waits: str = "error",
    assume_xf32: bool = False,
) -> AssemblyRun:
    """Runs a kernel of an assembly file on the emulator, and counts what it does.

    Args:
        source: a path, or the assembly itself (recognized by a line break in it). A file in
            Triton's cache needs neither `block` nor `shared`, and no pointers to scratch memory.
        arguments: the kernel's arguments without hidden ones, in order. An array is a buffer; it
            is copied, and what the kernel leaves in the copy is returned. A NumPy number, as
            `np.int32(4096)`, is passed by value, and so is an array of as many bytes for a
            structure. None is a null pointer, `LdsBytes` a pointer to dynamic LDS.
        grid: the number of workgroups in x, y and z; what is missing is 1.
        block: the work items of a workgroup in x, y and z; may be empty where the kernel says them.
        kernel: the kernel's name; empty if the file holds only one.
        shared: the bytes of dynamic LDS of a workgroup; by default none, or what Triton says.
        target: the chip that the kernel must be for; empty for the one that the file names.
        workgroups: the size of the sample of workgroups to run, the first and the last among them;
            None runs all. The buffers of a sample are incomplete.
        max_steps: the most steps (`Supervision`), which ends endless loops; None for 2,000,000.
        timing: whether the time of the whole grid is predicted, as `AssemblyRun.record.timing`.
        variables: what `FileVariables` is given.
        waits: what a use of a register is that no load has written yet: `error`, `warn` or `off`.
        assume_xf32: whether factors of xf32 are rounded to 10 bits behind the point, as is assumed.

    Raises:
        AssemblyError: the text is no assembly that the emulator reads, or holds no such kernel.
        ArgumentError: an argument of the kernel is missing or does not fit, and the message begins
            with the file and line of its metadata; or an argument of this function cannot be.
        TypeError: an argument of this function has a type that cannot be; the message names it.
        EmulationError: the kernel cannot be launched so, or does what a program must not do.
        OSError: the file cannot be read.
    """
    _check_texts(kernel=kernel, target=target)
    more = {"timing": timing, "waits": waits, "assume_xf32": assume_xf32}
    options = LaunchOptions.checked(grid, block, shared, workgroups, max_steps, **more)
    return run_kernel(read_kernel(source, kernel, target), arguments, options, variables or {})


def _check_texts(**texts: object) -> None:
    for name, value in texts.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}; give a text")


@dataclass(frozen=True)
class KernelFile:
    """A kernel of an assembly file.

    Attributes:
        text: the file's text.
        triton: what Triton's cache says of the kernel; None where it is in none.
    """

    text: str
    kernel: Kernel
    triton: TritonKernel | None = None

    @property
    def parameters(self) -> Sequence[Parameter]:
        """Returns what is known of the arguments' types, one by one."""
        return (self.triton.parameters if self.triton else None) or ()


def read_kernel(source: str | os.PathLike[str], kernel: str = "", target: str = "") -> KernelFile:
    """Returns one kernel of an assembly file; `run_assembly` has the arguments.

    Raises:
        AssemblyError, OSError: `run_assembly` documents them.
        TritonCacheError: Triton's `.json` beside the file cannot be used.
    """
    text, parsed, name = _read(source, kernel, target)
    triton = kernel_beside(Path(name)) if name != _NO_FILE else None
    if triton is None or triton.name != parsed.name:
        return KernelFile(text, parsed)
    return KernelFile(text, _named(parsed, triton), triton)


def _named(kernel: Kernel, triton: TritonKernel) -> Kernel:
    """Returns the kernel with its arguments named as in its source, which Triton's assembly lacks.

    Arguments behind those of the source are pointers to scratch memory.
    """
    names = [each.name for each in triton.parameters or ()]
    explicit = explicit_arguments(kernel)
    if triton.parameters is None or not 0 <= len(explicit) - len(names) <= len(_SCRATCH):
        return kernel
    named = iter([*names, *_SCRATCH])
    arguments = tuple(
        argument if argument.hidden else replace(argument, name=next(named))
        for argument in kernel.arguments
    )
    return replace(kernel, metadata=replace(kernel.metadata, arguments=arguments))


_SCRATCH = ("global_scratch", "profile_scratch")


@dataclass(frozen=True)
class LaunchOptions:
    """How a kernel is launched; `run_assembly` says what each option means.

    `block` and `shared` are None where the kernel, or Triton's cache, says them.
    """

    grid: Size
    block: Size | None = None
    shared: int | None = None
    workgroups: int | None = None
    supervision: Supervision = field(default_factory=Supervision)
    timing: bool = False

    @classmethod
    def checked(
        cls,
        grid: Sequence[int],
        block: Sequence[int] = (),
        shared: int | None = None,
        workgroups: int | None = None,
        max_steps: int | None = None,
        watch: Callable[[RunState], None] | None = None,
        timing: bool = False,
        waits: str = "error",
        warn: Callable[[str], None] | None = None,
        assume_xf32: bool = False,
    ) -> LaunchOptions:
        """Returns options that can be.

        `watch` is told now and then how far the run is, and `warn` what may be wrong.

        Raises:
            TypeError, ArgumentError: an option cannot be; the message names it.
        """
        steps = MAX_STEPS if max_steps is None else _whole("max_steps", max_steps, 1)
        if waits not in tuple(Waits):
            raise ArgumentError(f"waits is {waits!r}, where {', '.join(Waits)} are known")
        supervision = Supervision(steps, watch, Waits(waits), assume_xf32=assume_xf32)
        return cls(
            _size("grid", grid),
            None if isinstance(block, tuple | list) and not block else _size("block", block),
            None if shared is None else _whole("shared", shared, 0),
            None if workgroups is None else _whole("workgroups", workgroups, 1),
            supervision if warn is None else replace(supervision, warn=warn),
            timing,
        )

    def completed(self, triton: TritonKernel) -> LaunchOptions:
        """Returns the options with what Triton's cache says of the kernel.

        Raises:
            ArgumentError: the cache says something else than the options.
        """
        block, shared = self.block or (triton.block, 1, 1), self.shared
        if math.prod(block) != triton.block:
            raise ArgumentError(
                f"block is {size_text(block)}, and {triton.path} says {triton.block}"
            )
        if shared not in (None, triton.shared):
            raise ArgumentError(f"shared is {shared}, and {triton.path} says {triton.shared}")
        return replace(self, block=block, shared=triton.shared)


def run_kernel(
    file: KernelFile,
    arguments: Sequence[Value],
    options: LaunchOptions,
    variables: Mapping[str, Array] = NO_VARIABLES,
) -> AssemblyRun:
    """Runs a kernel that `read_kernel` has returned, as `run_assembly` does."""
    if isinstance(arguments, str | np.ndarray) or not isinstance(arguments, Sequence):
        raise TypeError(f"arguments is {shown(arguments)}; give a list of values")
    for number, value in enumerate(arguments):
        check_type(f"argument {number}", value)
    given, parsed = len(arguments), file.kernel
    if file.triton is not None:
        options = options.completed(file.triton)
        _check_parameters(file, arguments)
        arguments = [*arguments, *_scratch(file, given, options)]
    size = options.block or _required_size(parsed)
    offsets, lds_bytes = _lds_offsets(parsed, arguments, options.shared or 0)
    # Triton's kernels store what several waves know by all of them.
    dispatch = Dispatch(parsed, options.grid, size, lds_bytes, equal_stores_race=False)
    run = _run(dispatch, file.text, arguments, offsets, options, variables)
    stored = tuple(number for number in run.stored if number < given)
    return replace(run, buffers=run.buffers[:given], stored=stored)


def _check_parameters(file: KernelFile, arguments: Sequence[Value]) -> None:
    """Refuses fewer arguments than the kernel's source has, and buffers of other elements."""
    explicit = explicit_arguments(file.kernel)
    if len(arguments) < min(len(file.parameters), len(explicit)):
        raise _missing(file.kernel, len(arguments), len(file.parameters))
    for number, (value, parameter) in enumerate(zip(arguments, file.parameters, strict=False)):
        try:
            if parameter.pointer:
                check_element(value, parameter.element)
        except ArgumentError as error:
            raise _located(file.kernel, number, explicit[number], str(error)) from None


def _scratch(file: KernelFile, given: int, options: LaunchOptions) -> list[Value]:
    """Returns the pointers to scratch memory, where as many arguments are given as the source has.

    Each program of the grid has memory of its own; a kernel that wants none gets null.
    """
    missing = len(explicit_arguments(file.kernel)) - given
    if file.triton is None or given != len(file.parameters) or missing > len(_SCRATCH):
        return []
    sizes = [size * math.prod(options.grid) for size in file.triton.scratch[:missing]]
    return [np.zeros(size, np.uint8) if size else None for size in sizes]


def _run(
    dispatch: Dispatch,
    text: str,
    arguments: Sequence[Value],
    offsets: dict[int, int],
    options: LaunchOptions,
    variables: Mapping[str, Array],
) -> AssemblyRun:
    """Runs a launch, in which pointers into the LDS have `offsets`."""
    kernel, memory = dispatch.kernel, GlobalMemory()
    values, addresses = _placed(kernel, arguments, offsets, memory)
    file_variables = FileVariables(kernel, memory, variables)
    segment = argument_block(dispatch, values, memory)
    chosen = sampled_workgroups(dispatch.grid, options.workgroups)
    watched, timed = options.supervision, options.timing
    record = run_dispatch(dispatch, segment, memory, chosen, watched, timed)
    placed = [(number, at) for number, at in enumerate(addresses) if at is not None]
    buffers: list[Array | None] = [None] * len(addresses)
    for number, address in placed:
        buffers[number] = _read_back(kernel, number, address, memory, arguments)
    stored = tuple(number for number, address in placed if memory.was_stored_to(address))
    changed = file_variables.changed()
    for symbol in changed:
        file_variables.check_defined(symbol)
    left = file_variables.values()
    return AssemblyRun(buffers, stored, record, text, left, changed)


def _size(name: str, size: Sequence[int]) -> Size:
    """Returns a size in x, y and z of which the last ones may be missing; these are 1.

    Raises:
        TypeError, ArgumentError: it is no size; the message begins with its name.
    """
    expected = "give 1 to 3 whole numbers in x, y and z, as (8, 16)"
    if isinstance(size, str | bytes) or not isinstance(size, Iterable):
        raise TypeError(f"{name} is {shown(size)}; {expected}")
    numbers = [_whole(name, number, 1) for number in size]
    if not 1 <= len(numbers) <= 3:
        raise ArgumentError(f"{name} is {shown(size)}; {expected}")
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def _whole(name: str, number: object, least: int) -> int:
    """Returns a whole number from `least` on; raises TypeError or ArgumentError for another."""
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise TypeError(f"{name} has {shown(number)}, where a whole number is expected")
    if number < least:
        raise ArgumentError(f"{name} has {number}, where numbers start at {least}")
    return int(number)


def argument_name(kernel: Kernel, number: int) -> str:
    """Returns what messages call an explicit argument, which is counted from 0."""
    name = explicit_arguments(kernel)[number].name
    return f"argument {number} '{name}'" if name else f"argument {number}"


_NO_FILE = "<text>"


def _read(source: str | os.PathLike[str], kernel: str, target: str) -> tuple[str, Kernel, str]:
    """Returns a file's text, a kernel of it, and what messages call the file."""
    if isinstance(source, str) and "\n" in source:
        return *_parsed(source, _NO_FILE, kernel, target), _NO_FILE
    name = os.fspath(source)
    contents = Path(source).read_bytes()
    if is_code_object(contents):
        return *_disassembled(contents, name, kernel, target), name
    try:
        text = contents.decode()
    except UnicodeDecodeError:
        raise AssemblyError(f"{name}: it is no text, and so no assembly") from None
    return *_parsed(text, name, kernel, target), name


def _disassembled(contents: bytes, name: str, kernel: str, target: str) -> tuple[str, Kernel]:
    found = read_code_object(contents, name, target)
    return found.text, parse_disassembly(found.text, name, kernel, target, found.data)


def _parsed(text: str, name: str, kernel: str, target: str) -> tuple[str, Kernel]:
    """Returns a text, which LLVM may have had to write anew, and a kernel of it."""
    if is_disassembly(text):
        return text, parse_disassembly(text, name, kernel, target)
    chip = named_chip(text) or target
    try:
        return text, parse_kernel(text, name, kernel, target)
    except AssemblyError as error:
        encoded = isinstance(error, EncodedCodeError)
        helped = encoded or needs_assembler(text)
        if not chip or not helped or find_tool("llvm-mc") is None:
            raise
    try:
        if not encoded:
            text, name = expanded(text, chip), f"{name}, as llvm-mc prints it"
            with suppress(EncodedCodeError):
                return text, parse_kernel(text, name, kernel, target)
        return _disassembled(assembled(text, chip), f"{name}, disassembled", kernel, target)
    except LlvmToolError as error:
        raise AssemblyError(f"{name}: {error}") from None


def _required_size(kernel: Kernel) -> Size:
    metadata = kernel.metadata
    if metadata.required_size is None:
        raise AssemblyError(
            f"{kernel.source}:{metadata.line}: kernel '{kernel.name}' may have workgroups of up to "
            f"{metadata.max_work_items} work items: say how many with --block"
        )
    return metadata.required_size


def _lds_offsets(
    kernel: Kernel, arguments: Sequence[Value], shared: int
) -> tuple[dict[int, int], int]:
    """Returns where the pointers into the LDS point, and the bytes of dynamic LDS.

    What a kernel allocates itself comes first, then what pointers point to, then `shared` bytes.
    """
    offsets: dict[int, int] = {}
    end = kernel.lds_bytes
    for number, (argument, value) in enumerate(
        zip(explicit_arguments(kernel), arguments, strict=False)
    ):
        if argument.kind == LDS_POINTER and isinstance(value, LdsBytes):
            offsets[number] = -(-end // argument.alignment) * argument.alignment
            end = offsets[number] + value.count
    return offsets, end - kernel.lds_bytes + shared


def _placed(
    kernel: Kernel, arguments: Sequence[Value], offsets: dict[int, int], memory: GlobalMemory
) -> tuple[list[bytes], list[int | None]]:
    """Puts buffers into memory; returns the bytes of each argument, and its buffer's address."""
    explicit = explicit_arguments(kernel)
    if len(arguments) > len(explicit):
        raise ArgumentError(
            f"{kernel.source}:{kernel.metadata.line}: kernel '{kernel.name}' takes "
            f"{counted(len(explicit), 'argument')}, and {len(arguments)} are given"
        )
    if len(arguments) < len(explicit):
        raise _missing(kernel, len(arguments), len(explicit))
    values: list[bytes] = []
    addresses: list[int | None] = []
    for number, (argument, value) in enumerate(zip(explicit, arguments, strict=True)):
        name = argument_name(kernel, number)
        try:
            found = value_bytes(argument, value, memory, name, offsets.get(number, 0))
        except ArgumentError as error:
            raise _located(kernel, number, argument, str(error)) from None
        values.append(found[0])
        addresses.append(found[1])
    return values, addresses


def _missing(kernel: Kernel, number: int, count: int) -> ArgumentError:
    argument = explicit_arguments(kernel)[number]
    return _located(
        kernel, number, argument, f"is missing, of {count}: write {forms_for(argument)}"
    )


def _located(kernel: Kernel, number: int, argument: KernelArgument, message: str) -> ArgumentError:
    return ArgumentError(
        f"{kernel.source}:{argument.line}: {argument_name(kernel, number)} of kernel "
        f"'{kernel.name}' {message}"
    )


def _read_back(
    kernel: Kernel, number: int, address: int, memory: GlobalMemory, arguments: Sequence[Value]
) -> Array:
    """Returns a buffer's contents as an array like the one that was given."""
    given = np.asarray(arguments[number])
    size = memory.size_at(address)
    memory.check_defined(address, size, f"{argument_name(kernel, number).capitalize()}")
    return unpacked(memory.read(address, size), given.dtype, given.shape)
