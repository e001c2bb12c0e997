# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The settings of a whole sweep, as `bankwise-sweep` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KERNEL_SETS = ("attention", "matmul")


@dataclass(frozen=True)
class SweepSettings:
    """What to sweep, how, and where files go.

    Attributes:
        kernels: one of `KERNEL_SETS`, or the path of a file of kernels.
        output: the directory of all files.
        jobs: how many cases are measured at a time; -1 for one per core.
        every: every how many-th kernel is taken.
        workgroups: how many workgroups of each dispatch to emulate.
        timing: whether the time of each kernel is predicted.
        backend: joblib's name of a backend; None for the active one.
        scheduler: the `host:port` of a Dask scheduler.
        redrawn: the JSON table of a sweep whose files are to be written again, if nothing is to be
            measured.
    """

    kernels: str
    dtypes: tuple[str, ...]
    targets: tuple[str, ...]
    modes: tuple[str, ...]
    output: Path
    jobs: int
    every: int
    workgroups: int
    backend: str | None
    scheduler: str | None
    timing: bool = False
    redrawn: Path | None = None

    @property
    def stem(self) -> str:
        """Returns the name that the files begin with."""
        return self.redrawn.stem if self.redrawn else f"{Path(self.kernels).stem}_sweep"

    def path(self, suffix: str) -> Path:
        """Returns where the file with this suffix goes."""
        return self.output / f"{self.stem}.{suffix}"
