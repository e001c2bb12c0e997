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

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path

import numpy as np

from ..dialect_utils.dtypes import unpacked
from ..emulator.assembly import Kernel, parse_kernel
from ..emulator.counters import totals
from ..emulator.dispatch import Dispatch
from ..emulator.global_memory import GlobalMemory
from ..emulator.instruction_text import AssemblyError
from ..emulator.kernel_arguments import LDS_POINTER, argument_block, explicit_arguments
from ..emulator.kernel_metadata import KernelArgument, Size
from ..emulator.supervision import MAX_STEPS, RunState, Supervision
from .argument_values import (
    ArgumentError,
    Array,
    LdsBytes,
    Value,
    check_type,
    forms_for,
    shown,
    value_bytes,
)
from .dispatch_record import DispatchRecord, run_dispatch, sampled_workgroups


@dataclass(frozen=True)
class AssemblyRun:
    """What a kernel left in its buffers, and what was counted.

    Attributes:
        buffers: for each argument the contents of its buffer, in the shape and with the dtype that
            it was given with; None for an argument that is no buffer.
        stored: the numbers of the arguments, from 0, to whose buffers the kernel stored.
        record: the launch, and its counters per instruction.
        assembly: the text of the file.
    """

    buffers: list[Array | None]
    stored: tuple[int, ...]
    record: DispatchRecord
    assembly: str

    @property
    def counters(self) -> dict[str, int]:
        """Returns the counters of the workgroups that ran, by name."""
        return totals(self.record.kernel, self.record.counters)


def run_assembly(
    source: str | os.PathLike[str],
    arguments: Sequence[Value],
    *,
    grid: Sequence[int],
    block: Sequence[int] = (),
    kernel: str = "",
    shared: int = 0,
    target: str = "",
    workgroups: int | None = None,
    max_steps: int | None = None,
) -> AssemblyRun:
    """Runs a kernel of an assembly file on the emulator, and counts what it does.

    Args:
        source: a path, or the assembly itself (recognized by a line break in it).
        arguments: the kernel's arguments without hidden ones, in order. An array is a buffer; it
            is copied, and what the kernel leaves in the copy is returned. A NumPy number, as
            `np.int32(4096)`, is passed by value, and so is an array of as many bytes for a
            structure. None is a null pointer, `LdsBytes` a pointer to dynamic LDS.
        grid: the number of workgroups in x, y and z; what is missing is 1.
        block: the number of work items of a workgroup in x, y and z; may be left out where the
            kernel requires one size.
        kernel: the kernel's name, which may be empty if the file holds only one.
        shared: the bytes of dynamic LDS of a workgroup.
        target: the chip that the kernel must be for; empty for the one that the file names.
        workgroups: the size of the sample of workgroups to run, the first and the last among them;
            None runs all. The buffers of a sample are incomplete.
        max_steps: the most steps of workgroups that run at once, which ends endless loops. A step
            is an instruction that waves execute together. None for 100,000,000.

    Raises:
        AssemblyError: the text is no assembly that the emulator reads, or holds no such kernel.
        ArgumentError: an argument of the kernel is missing or does not fit, and the message begins
            with the file and the line of the metadata that describes it; or `grid` or another
            argument of this function has a value that cannot be.
        TypeError: an argument of this function has a type that cannot be; the message names it.
        EmulationError: the kernel cannot be launched so, or does what a program must not do. All
            errors of the emulator derive from it: `LaunchError`, `GlobalAccessError` and so on.
        OSError: the file cannot be read.
    """
    for name, value in (("kernel", kernel), ("target", target)):
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}; give a text")
    options = LaunchOptions.checked(grid, block, shared, workgroups, max_steps)
    text, parsed = read_kernel(source, kernel, target)
    return run_kernel(parsed, text, arguments, options)


def read_kernel(
    source: str | os.PathLike[str], kernel: str = "", target: str = ""
) -> tuple[str, Kernel]:
    """Returns an assembly file's text, and one kernel of it; `run_assembly` has the arguments."""
    text, name = _read(source)
    return text, parse_kernel(text, name, kernel, target)


@dataclass(frozen=True)
class LaunchOptions:
    """How a kernel is launched; `run_assembly` says what each option means.

    `block` is None where the kernel requires one size.
    """

    grid: Size
    block: Size | None = None
    shared: int = 0
    workgroups: int | None = None
    supervision: Supervision = field(default_factory=Supervision)

    @classmethod
    def checked(
        cls,
        grid: Sequence[int],
        block: Sequence[int] = (),
        shared: int = 0,
        workgroups: int | None = None,
        max_steps: int | None = None,
        watch: Callable[[RunState], None] | None = None,
    ) -> LaunchOptions:
        """Returns options that can be; `watch` is told now and then how far the run is.

        Raises:
            TypeError, ArgumentError: an option cannot be; the message names it.
        """
        steps = MAX_STEPS if max_steps is None else _whole("max_steps", max_steps, 1)
        return cls(
            _size("grid", grid),
            None if isinstance(block, tuple | list) and not block else _size("block", block),
            _whole("shared", shared, 0),
            None if workgroups is None else _whole("workgroups", workgroups, 1),
            Supervision(steps, watch),
        )


def run_kernel(
    parsed: Kernel, text: str, arguments: Sequence[Value], options: LaunchOptions
) -> AssemblyRun:
    """Runs a kernel that `read_kernel` has returned, as `run_assembly` does."""
    if isinstance(arguments, str | np.ndarray) or not isinstance(arguments, Sequence):
        raise TypeError(f"arguments is {shown(arguments)}; give a list of values")
    for number, value in enumerate(arguments):
        check_type(f"argument {number}", value)
    size = options.block or _required_size(parsed)
    offsets, lds_bytes = _lds_offsets(parsed, arguments, options.shared)
    # Triton's kernels store what several waves know by all of them.
    dispatch = Dispatch(parsed, options.grid, size, lds_bytes, equal_stores_race=False)
    return _run(dispatch, text, arguments, offsets, options)


def _run(
    dispatch: Dispatch,
    text: str,
    arguments: Sequence[Value],
    offsets: dict[int, int],
    options: LaunchOptions,
) -> AssemblyRun:
    """Runs a launch, in which pointers into the LDS have `offsets`."""
    kernel, memory = dispatch.kernel, GlobalMemory()
    values, addresses = _placed(kernel, arguments, offsets, memory)
    segment = argument_block(dispatch, values, memory)
    chosen = sampled_workgroups(dispatch.grid, options.workgroups)
    record = run_dispatch(dispatch, segment, memory, chosen, options.supervision)
    placed = [(number, at) for number, at in enumerate(addresses) if at is not None]
    buffers: list[Array | None] = [None] * len(addresses)
    for number, address in placed:
        buffers[number] = _read_back(kernel, number, address, memory, arguments)
    stored = tuple(number for number, address in placed if memory.was_stored_to(address))
    return AssemblyRun(buffers, stored, record, text)


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


def _read(source: str | os.PathLike[str]) -> tuple[str, str]:
    """Returns an assembly file's text, and what messages call it."""
    if isinstance(source, str) and "\n" in source:
        return source, "<text>"
    try:
        return Path(source).read_text(), os.fspath(source)
    except UnicodeDecodeError:
        raise AssemblyError(f"{os.fspath(source)}: it is no text, and so no assembly") from None


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
            f"{_count(len(explicit), 'argument')}, and {len(arguments)} are given"
        )
    if len(arguments) < len(explicit):
        missing, number = explicit[len(arguments)], len(arguments)
        raise _located(
            kernel, number, missing, f"is missing, of {len(explicit)}: write {forms_for(missing)}"
        )
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


def _located(kernel: Kernel, number: int, argument: KernelArgument, message: str) -> ArgumentError:
    return ArgumentError(
        f"{kernel.source}:{argument.line}: {argument_name(kernel, number)} of kernel "
        f"'{kernel.name}' {message}"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _read_back(
    kernel: Kernel, number: int, address: int, memory: GlobalMemory, arguments: Sequence[Value]
) -> Array:
    """Returns a buffer's contents as an array like the one that was given."""
    given = np.asarray(arguments[number])
    size = memory.size_at(address)
    memory.check_defined(address, size, f"{argument_name(kernel, number).capitalize()}")
    return unpacked(memory.read(address, size), given.dtype, given.shape)
