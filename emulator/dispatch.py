# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel with the sizes of one launch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import mul

from ..bank_model.lds_rules import Lds
from .assembly import Kernel
from .chips import EMULATED_CHIPS
from .emulation_errors import LaunchError
from .kernel_metadata import MAX_WORKGROUP_SIZE, Size

# The dispatch packet counts the work items of each axis in 32 bits.
_MOST_ITEMS = (1 << 32) - 1


@dataclass(frozen=True)
class Dispatch:
    """A kernel with the sizes of one launch.

    Attributes:
        grid: the number of workgroups in x, y and z.
        workgroup_size: the number of work items of a workgroup in x, y and z.
        dynamic_lds_bytes: the LDS of a workgroup beyond what the kernel allocates itself.
        equal_stores_race: whether waves race that store the same value to a byte of the LDS by one
            instruction.
    """

    kernel: Kernel
    grid: Size
    workgroup_size: Size
    dynamic_lds_bytes: int = 0
    equal_stores_race: bool = True

    @classmethod
    def of(cls, kernel: Kernel, grid: Size) -> Dispatch:
        """Returns a launch of a kernel that may have one workgroup size only.

        Raises:
            LaunchError: the kernel leaves the workgroup size to the launch.
        """
        if kernel.metadata.required_size is None:
            raise LaunchError(f"kernel '{kernel.name}' has no required workgroup size")
        return cls(kernel, grid, kernel.metadata.required_size)

    @property
    def lds_bytes(self) -> int:
        """Returns the bytes of LDS that a workgroup has."""
        return self.kernel.lds_bytes + self.dynamic_lds_bytes

    @property
    def work_items(self) -> int:
        """Returns the number of work items of a workgroup."""
        return math.prod(self.workgroup_size)

    @property
    def waves_per_workgroup(self) -> int:
        """Returns the number of waves of a workgroup, of which the last may be partly off."""
        return -(-self.work_items // self.kernel.lanes)

    def check(self, lds_model: Lds) -> None:
        """Refuses a launch that the chip or the kernel's metadata does not allow.

        Raises:
            LaunchError: the chip or a size does not fit.
        """
        kernel, name = self.kernel, f"kernel '{self.kernel.name}'"
        if lds_model.arch not in EMULATED_CHIPS:
            raise LaunchError(
                f"{lds_model.arch} cannot be emulated; use one of {', '.join(EMULATED_CHIPS)}"
            )
        if kernel.arch != lds_model.arch:
            raise LaunchError(
                f"{name} is for {kernel.arch}: emulate that, or compile for {lds_model.arch}"
            )
        if self.lds_bytes > lds_model.workgroup_bytes:
            raise LaunchError(
                f"{name} needs {self.lds_bytes} bytes of LDS; "
                f"a workgroup on {lds_model.arch} has {lds_model.workgroup_bytes}"
            )
        if min(self.grid) < 1:
            raise LaunchError(f"{name}: a grid of {self.grid} workgroups is empty")
        items = max(map(mul, self.grid, self.workgroup_size))
        if items > _MOST_ITEMS:
            raise LaunchError(
                f"{name}: a grid of {size_text(self.grid)} workgroups has {items} work items along "
                f"one axis, where a launch may have {_MOST_ITEMS}"
            )
        required = kernel.metadata.required_size
        if required is not None and self.workgroup_size != required:
            raise LaunchError(
                f"{name} requires workgroups of {size_text(required)} work items, "
                f"not {size_text(self.workgroup_size)}"
            )
        if min(self.workgroup_size) < 1:
            raise LaunchError(f"{name}: a workgroup of {self.workgroup_size} work items is empty")
        most = min(kernel.metadata.max_work_items, MAX_WORKGROUP_SIZE)
        if self.work_items > most:
            raise LaunchError(
                f"{name} may have workgroups of up to {most} work items, not "
                f"{self.work_items} ({size_text(self.workgroup_size)})"
            )


def size_text(size: Size) -> str:
    """Returns a size as messages spell it: `16x16x1`."""
    return "x".join(map(str, size))
