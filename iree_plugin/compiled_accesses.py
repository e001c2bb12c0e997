# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which LDS instructions the compiled code of a kernel has.

LLVM joins accesses to neighbouring elements where it finds out that they are neighbours, which
happens behind all passes of ours. Whether it has done so stands in the assembly alone: where no
instruction accesses 4 bytes of a lane, every access of 4 bytes has become part of a wider one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from iree.compiler import ir

from ..bank_model.accesses import AccessKind
from ..dialect_utils.operations import children
from ..passes.base import Unsettled, Width
from .compile_settings import AFTER_LLVM, SERIALIZED
from .embedding import StepError
from .executable_copies import EXECUTABLE, copy_executables
from .invocations import Invocations
from .temporary_files import temporary_directory

DUMP_FLAG = "iree-hal-dump-executable-intermediates-to"
_DUMP_FLAGS = (DUMP_FLAG, "iree-hal-dump-executable-binaries-to")
"""PTX is what IREE writes for an NVIDIA GPU in the end: it counts as a binary."""
_SUFFIXES = ("*.rocmasm", "*.ptx")
_KERNEL = re.compile(r"^(?:([\w$.]+):|.*\.entry ([\w$.]+)\()")
_DS = re.compile(
    r"\bds_(read|write|load|store)(?:_?(2)(?:addr)?(?:_?st(?:ride)?64)?)?_(?:tr\d+_)?[a-z]+(\d+)"
)
"""LLVM's names: `ds_read2st64_b32` of gfx9 is `ds_load_2addr_stride64_b32` since gfx11."""
_SHARED = re.compile(r"\b(ld|st)(?:\.volatile)?\.shared\S*?(?:\.v([24]))?\.[busf](\d+)\b")
_READS = ("read", "load", "ld")


def settle(module: ir.Operation, unsettled: Iterable[Unsettled], invocations: Invocations) -> None:
    """Emits the failures of passes that stand because of what the compiled code has.

    Args:
        module: after phase `AFTER_LLVM`; a copy of it is compiled to assembly.
        invocations: compile it; the flags of their session are the same afterwards.

    Raises:
        StepError: one stands.
    """
    session = invocations.session
    found: dict[str, Counter[Width]] = {}
    flags = session.get_flags(non_default_only=True)
    before = [each for each in flags if each.lstrip("-").partition("=")[0] in _DUMP_FLAGS]
    with temporary_directory("bankwise-verify-") as directory:
        session.set_flags(*(f"--{each}={directory}" for each in _DUMP_FLAGS))
        try:
            copies = copy_executables(module.context, children(module, EXECUTABLE))
            invocations.resume(copies.operation, AFTER_LLVM, SERIALIZED)
        finally:
            session.set_flags(*(f"--{each}=" for each in _DUMP_FLAGS), *before)
        for suffix in _SUFFIXES:
            for path in sorted(directory.glob(suffix)):
                found |= widths_of(path.read_text())
    standing = [
        each for each in unsettled if each.kernel not in found or each.stands(found[each.kernel])
    ]
    for each in standing:
        each.failure.location.emit_error(each.failure.message)
    if standing:
        raise StepError


def widths_of(assembly: str) -> dict[str, Counter[Width]]:
    """Returns how many LDS instructions assembly has, AMD's or NVIDIA's, by the label above them.

    What accesses two places with one instruction counts twice.
    """
    found: dict[str, Counter[Width]] = {}
    widths = Counter[Width]()
    for line in assembly.splitlines():
        label = _KERNEL.match(line)
        name = (label[1] or label[2]) if label else ""
        if name and not name.startswith((".", "$")):
            widths = found.setdefault(name, Counter())
        elif (access := _DS.search(line)) is not None:
            widths[_kind(access[1]), int(access[3]) // 8] += int(access[2] or 1)
        elif (access := _SHARED.search(line)) is not None:
            widths[_kind(access[1]), int(access[2] or 1) * int(access[3]) // 8] += 1
    return found


def _kind(name: str) -> AccessKind:
    return AccessKind.READ if name in _READS else AccessKind.WRITE
