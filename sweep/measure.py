# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures one case of a sweep: compiles it, and emulates a few workgroups of each dispatch."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..bank_model.targets import target
from ..emulator.assembly import Kernel
from ..emulator.counters import Counters, totals
from ..emulator.kernel_launch import launch_each
from ..runtime.emulated_device import EmulatedDevice, kernel_arguments, sampled_workgroups
from ..runtime.emulated_module import compile_for_emulation
from ..runtime.host_program import DispatchCommand, HostProgram, HostProgramError
from ..runtime.values import parse_values
from .cases import Case, SweptKernel, target_flags
from .rows import Row, empty_row, installed_versions, swept_counters

MOST_WORKGROUPS = 32
"""Where workgroups differ: up to so many are emulated, and a grid of no more is emulated whole."""

Workgroup = tuple[int, int, int]


def measure(case: Case) -> Row:
    """The row of one case; a failure is a row too, with the reason."""
    row = empty_row(case, installed_versions())
    started = time.perf_counter()
    try:
        samples = emulate(case.kernel, case.target, case.mitigation, case.sample)
    except Exception as error:
        # Whatever fails, the other rows are wanted.
        kind = "" if isinstance(error, RuntimeError | ValueError) else f"{type(error).__name__}: "
        message = f"{kind}{error}".strip().replace("<text>", case.kernel.name)
        return replace(row, error=message or type(error).__name__)
    grid = _summed([s.grid for s in samples])
    return replace(
        row,
        dispatches=len(samples),
        workgroups=sum(s.workgroups for s in samples),
        emulated=sum(len(s.counters) for s in samples),
        agree=_all_agree(samples),
        lds_bytes=max((s.kernel.lds_bytes for s in samples), default=0),
        workgroup=_summed([s.one for s in samples]),
        grid=grid,
        measured=_summed([s.measured for s in samples]) if grid is None else None,
        seconds=round(time.perf_counter() - started, 3),
    )


@dataclass(frozen=True)
class DispatchSample:
    """The workgroups of one dispatch that ran.

    Attributes:
        workgroups: of the whole grid.
        counters: of each that ran.
    """

    kernel: Kernel
    workgroups: int
    counters: tuple[Counters, ...]

    @property
    def agree(self) -> bool | None:
        """Whether all that ran counted the same; None where only one did."""
        first, *others = self.counters
        return all(first.equals(other) for other in others) if others else None

    @property
    def measured(self) -> dict[str, int]:
        """The sums over those that ran."""
        return _swept(self.kernel, Counters.sum(self.counters))

    @property
    def one(self) -> dict[str, int] | None:
        """What each workgroup counts, if that is one answer."""
        return None if self.agree is False else _swept(self.kernel, self.counters[0])

    @property
    def grid(self) -> dict[str, int] | None:
        """What the whole grid counts, where it is known."""
        if len(self.counters) == self.workgroups:
            return self.measured
        if not self.agree or self.one is None:
            return None
        return {name: value * self.workgroups for name, value in self.one.items()}


@dataclass
class SamplingDevice(EmulatedDevice):
    """Emulates `sample` workgroups of each dispatch, and more where these differ."""

    samples: list[DispatchSample] = field(default_factory=list)

    def dispatch(self, command: DispatchCommand) -> None:
        """Runs the sample in one launch, which costs little more than one workgroup."""
        if command.kernel not in self.kernels:
            raise HostProgramError(f"the assembly holds no kernel '{command.kernel}'")
        kernel = self.kernels[command.kernel]
        grid, total = command.workgroups, math.prod(command.workgroups)
        arguments = kernel_arguments(kernel, command)

        def run(chosen: Sequence[Workgroup]) -> DispatchSample:
            place = (kernel, target(kernel.arch), grid, arguments, self.memory)
            return DispatchSample(kernel, total, tuple(launch_each(*place, chosen)))

        chosen = spread(grid, self.sample or total)
        found = run(chosen)
        if found.agree is False and len(chosen) < total:
            rest = [w for w in spread(grid, MOST_WORKGROUPS) if w not in chosen]
            if rest:
                found = replace(found, counters=found.counters + run(rest).counters)
        self.samples.append(found)


def spread(grid: Workgroup, count: int) -> list[Workgroup]:
    """`count` workgroups of a grid from first to last, or all if there are no more."""
    chosen = sampled_workgroups(grid, count)
    if chosen is not None:
        return chosen
    x, y, z = grid
    return [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]


def emulate(
    kernel: SweptKernel, arch: str, mitigation: str, sample: int
) -> tuple[DispatchSample, ...]:
    """Compiles and calls a kernel.

    Raises:
        RuntimeError, ValueError: it does not compile, or cannot be run; the message says why.
    """
    inputs = [value for text in kernel.inputs for value in parse_values(text)]
    with compile_for_emulation(kernel.source, target_flags(arch), mitigation) as module:
        device = SamplingDevice(module.kernels, sample)
        program = HostProgram(module.host, device)
        names = [signature.name for signature in program.signatures]
        if not kernel.function and len(names) != 1:
            raise HostProgramError(f"name a function; the module exports {', '.join(names)}")
        program.call(kernel.function or names[0], inputs)
    if not device.samples:
        raise HostProgramError("the function dispatches no kernel")
    return tuple(device.samples)


def _all_agree(samples: Sequence[DispatchSample]) -> bool | None:
    known = [s.agree for s in samples if s.agree is not None]
    return all(known) if known else None


def _summed(parts: Sequence[Mapping[str, int] | None]) -> dict[str, int] | None:
    present = [part for part in parts if part is not None]
    if len(present) < len(parts):
        return None
    return {name: sum(part[name] for part in present) for name in swept_counters()}


def _swept(kernel: Kernel, counters: Counters) -> dict[str, int]:
    counted = totals(kernel, counters)
    return {name: counted[name] for name in swept_counters()}
