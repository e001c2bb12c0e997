# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a module on the emulator as compiled in each of several modes, whole or by sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..passes.decisions import DecisionLog
from ..passes.mode import LEVELLED, Mode
from ..runtime.emulated_device import EmulatedDevice
from ..runtime.emulated_run import EmulatedRun, run_emulated
from ..runtime.host_values import DispatchCommand, HostProgramError
from ..sweep.swept_kernels import Mask
from .benchmark import each_mode

Array = npt.NDArray[Any]

_WHOLE = 1 << 62
"""More workgroups than any grid has."""
MODES = ("none", "stock", "auto")
"""The modes that are compared where levels are not: `auto` has the default level."""


def is_ours(mode: str) -> bool:
    """Returns whether a mode is judged against `stock`, and has decisions that explain it."""
    return mode.split("/", 1)[0] == "auto"


def keeps_bits(mode: str) -> bool:
    """Returns whether outputs must be the same bits as those of `stock`."""
    return not mode.endswith("/fast")


def at_given_tiles(mode: str) -> str:
    """Returns a mode that is the same but for tiles, which stay those of IREE.

    Samples of a grid compute the same elements in several modes only if their tiles are the same.
    """
    parsed = Mode.parse(mode)
    return f"{parsed.mitigation}/{parsed.level}/off" if parsed.mitigation in LEVELLED else mode


_UNWRITTEN = 0x5A
"""What each byte of fresh memory holds. Four of them are 1.5e9 as i32 and 1.5e16 as f32, and no sum
comes near."""


@dataclass
class MarkingDevice(EmulatedDevice):
    """Marks fresh memory, so that what no kernel writes does not pass for a result.

    Attributes:
        whole_grid: grids of up to this many workgroups run whole. Of larger ones the first and the
            last workgroup run.
    """

    whole_grid: int = _WHOLE

    def allocate(self, size: int) -> int:
        """Reserves memory that holds marks, not zeros."""
        address = super().allocate(size)
        self.write(address, np.full(size, _UNWRITTEN, np.uint8))
        return address

    def dispatch(self, command: DispatchCommand) -> None:
        """Runs a kernel, whole or by sample.

        Raises:
            HostProgramError: a dispatch may read what a sample of another one did not write.
        """
        self.sample = None if math.prod(command.workgroups) <= self.whole_grid else 2
        super().dispatch(command)
        if len(self.records) > 1 and any(each.emulated < each.total for each in self.records):
            raise HostProgramError(f"{len(self.records)} dispatches cannot be sampled")


def written(output: Array) -> Mask:
    """Returns the elements of an output that the emulated workgroups wrote."""
    marks = np.full(output.itemsize, _UNWRITTEN, np.uint8)
    kind = f"u{output.itemsize}"
    return output.view(kind) != marks.view(kind)


@dataclass(frozen=True)
class ModeRuns:
    """What a module gave in each mode, such as `stock` or `auto/fast`.

    Attributes:
        runs: by mode, where it did not fail.
        errors: by mode, where it failed.
        decisions: the decisions of each mode that `is_ours` names.
    """

    runs: Mapping[str, EmulatedRun]
    errors: Mapping[str, str]
    decisions: Mapping[str, DecisionLog]

    @property
    def distinct(self) -> list[EmulatedRun]:
        """Returns one run for each of the outputs that are not bitwise equal."""
        return list({_bits(run): run for run in self.runs.values()}.values())

    @property
    def equal(self) -> bool:
        """Returns whether outputs are bitwise equal in all modes that keep the bits."""
        return len({_bits(run) for mode, run in self.runs.items() if keeps_bits(mode)}) <= 1


def _bits(run: EmulatedRun) -> tuple[bytes, ...]:
    return tuple(output.tobytes() for output in run.outputs)


def run_modes(
    source: str,
    flags: Sequence[str],
    inputs: Sequence[Array],
    modes: Sequence[str] = MODES,
    *,
    whole_grid: int = _WHOLE,
    needs_process: bool = False,
) -> ModeRuns:
    """Compiles and runs a module in each mode; what fails is in the result too.

    Args:
        flags: flags of the compiler, which name a hip target.
        modes: such as `stock` or `auto/fast`.
        whole_grid: see `MarkingDevice`; where it is given, tiles stay those of IREE.
        needs_process: whether a flag exists only on a compiler's command line. The decisions are
            not known then.
    """
    logs = {mode: DecisionLog() for mode in modes if is_ours(mode)}
    device = partial(MarkingDevice, whole_grid=whole_grid)
    is_sampled = whole_grid < _WHOLE

    def run(mode: str) -> EmulatedRun:
        log = None if needs_process else logs.get(mode)
        compiled = at_given_tiles(mode) if is_sampled else mode
        return run_emulated(source, flags, compiled, inputs, decisions=log, device=device)

    runs, errors = each_mode(modes, run)
    return ModeRuns(runs, errors, logs)
