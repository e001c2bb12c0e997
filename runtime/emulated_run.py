# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calling a function of a module on the emulator, from its MLIR to its outputs and counters."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ..emulator.assembly import Kernel
from ..emulator.counters import totals
from ..passes.decisions import DecisionLog
from ..passes.pipeline_edit import PipelineEdit
from ..tuning.forced_tile import ForceTile
from .dispatch_record import DispatchRecord
from .emulated_device import EmulatedDevice
from .emulated_module import compile_for_emulation
from .host_program import HostProgram
from .host_values import HostProgramError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class EmulatedRun:
    """The outputs of a function, and what was counted.

    Attributes:
        records: an entry for each dispatch, in order.
        assembly: the text of each kernel's file, by the kernel's name.
    """

    outputs: list[Array]
    records: Sequence[DispatchRecord]
    assembly: Mapping[str, str]

    @property
    def counters(self) -> dict[str, int]:
        """Returns the counters of the workgroups that ran, summed over the dispatches."""
        counted: Counter[str] = Counter()
        for record in self.records:
            counted.update(totals(record.kernel, record.counters))
        return dict(counted)

    @property
    def workgroups(self) -> int:
        """Returns the number of workgroups of the whole grids of all dispatches."""
        return sum(record.total for record in self.records)

    @property
    def emulated(self) -> int:
        """Returns the number of workgroups that ran."""
        return sum(record.emulated for record in self.records)

    @property
    def lds_bytes(self) -> int:
        """Returns the LDS bytes of a workgroup, of the dispatch that takes the most."""
        return max((record.lds_bytes for record in self.records), default=0)


def run_emulated(
    source: str | os.PathLike[str],
    flags: Sequence[str],
    mode: str,
    inputs: Sequence[Array | int | float],
    *,
    function: str = "",
    edits: Sequence[PipelineEdit] = (),
    decisions: DecisionLog | None = None,
    forced: ForceTile | None = None,
    device: Callable[[Mapping[str, Kernel]], EmulatedDevice] = EmulatedDevice,
) -> EmulatedRun:
    """Compiles MLIR for an AMD GPU, and calls one of its functions on the emulator.

    Args:
        source, flags, mitigation, edits, decisions, forced: `compile_for_emulation` takes them.
        function: the function's name, which may be empty if the module exports only one.
        device: makes the emulator for the module's kernels.

    Raises:
        CompileError, OSError, AssemblyError: `compile_for_emulation` raises them.
        HostProgramError: the function cannot be called, or the program cannot be interpreted.
        EmulationError: a kernel does what a program must not do.
    """
    compiled = compile_for_emulation(
        source, flags, mode, edits=edits, decisions=decisions, forced=forced
    )
    with compiled as module:
        emulator = device(module.kernels)
        program = HostProgram(module.host, emulator)
        names = [signature.name for signature in program.signatures]
        if not function and len(names) != 1:
            raise HostProgramError(f"name a function; the module exports {', '.join(names)}")
        outputs = program.call(function or names[0], inputs)
    return EmulatedRun(outputs, emulator.records, module.assembly)
