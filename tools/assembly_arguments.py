# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flags of `bankwise-run` that run a kernel's assembly."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..emulator.chips import EMULATED_CHIPS
from ..runtime.output_settings import OutputSettings
from .argument_parser import ArgumentParser
from .usage import UsageError, block_of, check_choice, flag_of, size_of, unknown_flag

ASSEMBLY_SUFFIXES = (".s", ".S", ".asm", ".amdgcn", ".rocmasm", ".co", ".hsaco")
"""How the names of files end that hold kernels as assembly or as code objects."""

Size = tuple[int, ...]


@dataclass(frozen=True)
class AssemblySettings(OutputSettings):
    """What `bankwise-run` was asked to do with a kernel's assembly.

    Attributes:
        assembly: the path of the file; empty where `triton_cache` names the folder to find it in.
        kernel: the kernel's name; empty for the only one.
        arguments: the texts of the kernel's arguments.
        grid: the number of workgroups.
        block: the number of work items of a workgroup; empty for what the kernel requires.
        shared: the bytes of dynamic LDS; None for what Triton says, or none.
        target: the chip; empty for the one that the file names.
        outputs: for each output the argument, as its number or name, and where it goes.
        expected: for each value to compare with the argument, and the value's text.
        variables: for each variable of the file that has a value of its own, its name and the text.
    """

    assembly: str
    kernel: str
    arguments: tuple[str, ...]
    grid: Size
    block: Size
    shared: int | None
    target: str
    outputs: tuple[tuple[str, str], ...]
    expected: tuple[tuple[str, str], ...]
    triton_cache: str = ""
    variables: tuple[tuple[str, str], ...] = ()


def add_assembly_flags(parser: ArgumentParser) -> None:
    """Adds the flags that only a kernel's assembly takes."""
    add = parser.add_argument_group(
        "a kernel's assembly (bankwise-run kernel.s ...)",
        "instead of a module: what clang, Triton, IREE or a person has written for AMD GPUs",
    ).add_argument
    add("--kernel", metavar="NAME", help="the kernel to run (default: the only one)")
    add("--grid", metavar="X[,Y[,Z]]", help="the number of workgroups")
    add("--block", metavar="X[,Y[,Z]]",
        help="the work items of a workgroup (default: what the kernel requires)")  # fmt: skip
    add("--arg", action="append", metavar="VALUE",
        help="the next argument of the kernel: a buffer (@a.npy, 16x16xf16=0), a number "
        "(4096:i32, 1.5:f32), null, or dynamic LDS to point to (4096:lds)")  # fmt: skip
    add("--variable", action="append", metavar="NAME:VALUE",
        help="what a variable of the file (__device__, __constant__) holds at the start, as "
        "table:8xf32=1")  # fmt: skip
    add("--shared", type=int, metavar="BYTES", help="dynamic LDS of a workgroup")
    add("--triton-cache", metavar="DIR",
        help="find the kernel in Triton's cache, which says block, shared memory and the types "
        "of arguments")  # fmt: skip
    add("--target", metavar="CHIP",
        help=f"{' or '.join(EMULATED_CHIPS)} (default: what the file says)")  # fmt: skip


def is_assembly(known: argparse.Namespace, words: Sequence[str]) -> bool:
    """Returns whether a command line asks for a kernel's assembly; `words` are no flags."""
    named = (known.module or "", *words)
    return any(word.endswith(ASSEMBLY_SUFFIXES) for word in named) or _given_assembly_flag(known)


def _given_assembly_flag(known: argparse.Namespace) -> bool:
    flags = (known.kernel, known.grid, known.block, known.arg, known.shared, known.target)
    flags += (known.triton_cache, known.variable)
    return any(value is not None for value in flags)


def assembly_settings(
    parser: ArgumentParser,
    known: argparse.Namespace,
    rest: Sequence[str],
    shown: Mapping[str, Any],
) -> AssemblySettings:
    """Returns the settings that a command line asks for.

    Args:
        parser: it has read `known`, and left `rest`.
        shown: the attributes of `OutputSettings`.

    Raises:
        UsageError: a flag that cannot be used; the message names it.
    """
    path = _file(known, rest, parser.flags)
    for name in _MEANINGLESS:
        if getattr(known, name) != parser.get_default(name):
            raise UsageError(f"--{name} has no meaning for assembly")
    if known.grid is None:
        raise UsageError("no --grid: say how many workgroups run, as --grid=64 or --grid=8,16")
    if known.shared is not None and known.shared < 0:
        raise UsageError(f"--shared={known.shared}: expects a number of bytes")
    check_limits(known)
    return AssemblySettings(
        assembly=path,
        kernel=known.kernel or "",
        arguments=tuple(known.arg or ()),
        grid=size_of("--grid", known.grid),
        block=block_of(known.block) if known.block is not None else (),
        shared=known.shared,
        target=_target(known),
        outputs=tuple(_of_argument("--output", text) for text in known.output),
        expected=tuple(_of_argument("--expected_output", text) for text in known.expected_output),
        triton_cache=known.triton_cache or "",
        variables=tuple(_of_argument("--variable", text) for text in known.variable or ()),
        **shown,
    )


def check_limits(known: argparse.Namespace) -> None:
    """Refuses limits of the emulator that are none, and a sample whose outputs are expected.

    Raises:
        UsageError: there is such a flag; the message names it.
    """
    for flag, limit in (("--max-steps", known.max_steps), ("--workgroups", known.workgroups)):
        if limit is not None and limit < 1:
            raise UsageError(f"{flag}={limit}: expects a number from 1")
    if known.workgroups is not None and known.expected_output:
        raise UsageError("--workgroups: a sample has no complete output to compare with")


_MEANINGLESS = (
    *("function", "input", "device_allocator", "parameters", "list_devices", "list_drivers"),
    *("dump_devices", "print_statistics", "trace_execution"),
)


def _file(known: argparse.Namespace, rest: Sequence[str], flags: Sequence[str]) -> str:
    """Returns the only file that a command line names, without a flag.

    Args:
        flags: those that there are.
    """
    if known.module is not None:
        what = "is assembly" if known.module.endswith(ASSEMBLY_SUFFIXES) else "is a module"
        raise UsageError(
            f"--module={known.module} {what}: "
            + (
                "write the file without a flag"
                if what == "is assembly"
                else "--kernel, --grid, --block, --arg, --variable, --shared and --target are for "
                "assembly"
            )
        )
    words = [word for word in rest if not word.startswith("-")]
    for word in rest:
        if word.startswith(("--iree-", "--bankwise-")):
            raise UsageError(f"{flag_of(word)} has no meaning for assembly")
        if word.startswith("-"):
            raise unknown_flag(word, flags, " for a kernel's assembly; see --help")
    if known.triton_cache is not None:
        if words:
            raise UsageError(f"--triton-cache={known.triton_cache} and '{words[0]}': give one")
        return ""
    if not words:
        raise UsageError("no assembly; name a file, as bankwise-run kernel.s --grid=64")
    if len(words) > 1:
        raise UsageError(f"two files, '{words[0]}' and '{words[1]}'")
    return words[0]


def _target(known: argparse.Namespace) -> str:
    """Returns the chip that `--target` or `--device` names; empty if neither does."""
    target = known.target or ""
    if target:
        check_choice("--target", target, EMULATED_CHIPS)
    device = known.device.removeprefix("emulated-")
    if known.device == "auto":
        return target
    if device == known.device or device not in EMULATED_CHIPS:
        raise UsageError(f"--device={known.device}: assembly runs on the emulator alone")
    if target and target != device:
        raise UsageError(f"--target={target} contradicts --device={known.device}")
    return device


def _of_argument(flag: str, text: str) -> tuple[str, str]:
    """Returns the parts of `ARGUMENT:VALUE`."""
    argument, separator, value = text.partition(":")
    if not separator or not argument:
        raise UsageError(
            f"{flag}={text}: say which variable, as {flag}=table:8xf32=1"
            if flag == "--variable"
            else f"{flag}={text}: say of which argument, by its number from 0 or its name, as "
            f"{flag}=1:-"
        )
    return argument, value
