# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-run` shows and compares of a run, be it of a module or of a kernel's assembly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OutputSettings:
    """What is emulated and shown of a run, and how its outputs are compared.

    Attributes:
        counters: whether the emulator's counters are printed.
        timing: whether the predicted time of each dispatch is printed, and annotated.
        timeline: where the predicted timelines of waves are written to; None if nowhere.
        counters_json: where they are written to; None if nowhere.
        annotate: whether the assembly is printed with the counters of each line.
        workgroups: the size of the sample to emulate; None for whole grids.
        max_steps: the most steps that a dispatch takes; None for the emulator's limit.
        waits: what becomes of uses without a wait: `off`, `warn` or `error`.
        assume_xf32: whether products of xf32 are rounded as is assumed.
        max_elements: the most elements of an output to print.
        thresholds: absolute tolerances by element type.
        relative: the relative tolerance.
        exact: whether only equal bits are equal.
    """

    counters: bool
    timing: bool
    timeline: str | None
    counters_json: str | None
    annotate: bool
    workgroups: int | None
    max_steps: int | None
    waits: str
    assume_xf32: bool
    max_elements: int
    thresholds: Mapping[str, float]
    relative: float
    exact: bool

    @property
    def predicts(self) -> bool:
        """Returns whether times are predicted."""
        return self.timing or self.timeline is not None
