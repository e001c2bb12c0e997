# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels, and what a machine without the compiler has to know of them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from ..documents import Listing, of_document
from .modes import EXACT, FAST, mode_for

PREDICTIONS_FILE = "predictions.json"
ATTENTION, MATMUL, CONVOLUTION = FUNCTIONS = ("attention", "matmul", "conv")
"""What kernels are, by the function in their module."""


@dataclass(frozen=True)
class TimedKernel:
    """A kernel, and the modes in which it was compiled.

    Attributes:
        function: the function to call in the kernel's module, one of `FUNCTIONS`.
        operands: the types of its inputs, such as `2x1024x128xf16`.
        modes: what the kernel was compiled with; others are compared with the first.
        inexact: the modes whose outputs may differ from the first one's in their rounding.
        scale: what an attention multiplies its scores by, as its type represents it.
        transposed: whether the second operand of a matmul is [n, k] in place of [k, n].
        channels_last: whether the channels of a convolution are its last dimension.
        stride: by how many elements of the image the window of a convolution moves.
    """

    name: str
    function: str
    operands: tuple[str, ...]
    modes: tuple[str, ...]
    inexact: tuple[str, ...] = ()
    scale: float | None = None
    transposed: bool = False
    channels_last: bool = False
    stride: int = 1

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Returns the shapes of the inputs."""
        return tuple(tuple(map(int, each.split("x")[:-1])) for each in self.operands)

    @property
    def dtype(self) -> str:
        """Returns the element type of the inputs, such as `f16`."""
        return self.types[0]

    @property
    def types(self) -> tuple[str, ...]:
        """Returns the element types of the inputs, of which a mask may have another than q."""
        return tuple(each.rpartition("x")[2] for each in self.operands)

    @property
    def attention_shape(self) -> tuple[int, ...]:
        """Returns the shape of an attention's output: the rows of q, and the columns of v."""
        return (*self.shapes[0][:-1], self.shapes[2][-1])

    @property
    def label(self) -> str:
        """Returns the name without the function, such as `2x1024x128_f16`."""
        return self.name.removeprefix(f"{self.function}_")

    def module(self, directory: Path, mode: str) -> Path:
        """Returns the path of the module that a mode compiles.

        It has no "@", behind which `iree-run-module` looks for something else.
        """
        return directory / f"{self.name}.{re.sub('[/@]', '_', mode)}.vmfb"

    def case(self, series: str) -> str:
        """Returns what names the kernel in a mode, or in another library."""
        return f"{self.name} {series}"

    def also_for(self, target: str) -> TimedKernel:
        """Returns the kernel as compiled at `exact` and `fast` for another GPU too, if at all."""
        added = {mode: mode_for(mode, target) for mode in (EXACT, FAST) if mode in self.modes}
        inexact = (added[mode] for mode in self.inexact if mode in added)
        return replace(
            self, modes=(*self.modes, *added.values()), inexact=(*self.inexact, *inexact)
        )

    def without(self, modes: Collection[str]) -> TimedKernel:
        """Returns the kernel as compiled with all but some modes."""
        kept = tuple(mode for mode in self.modes if mode not in modes)
        inexact = tuple(mode for mode in self.inexact if mode not in modes)
        return replace(self, modes=kept, inexact=inexact)


@dataclass(frozen=True)
class CompiledKernels(Listing):
    """What one step of compiling left in a directory.

    Attributes:
        target: the architecture that the kernels were compiled for, such as `sm_80`.
        versions: the versions of what compiled them.
    """

    file_name: ClassVar[str] = "kernels.json"
    made_by: ClassVar[str] = "compile into it"

    target: str
    versions: dict[str, str]
    kernels: tuple[TimedKernel, ...]


@dataclass(frozen=True)
class Predicted:
    """What shared memory does in a whole grid by the bank model, which looks at the final IR.

    Attributes:
        conflicts: the conflict cycles of all accesses.
        wavefronts: all their cycles, conflicts included.
        decided: the conflict cycles that the decisions leave; None where nothing is decided.
    """

    conflicts: int
    wavefronts: int
    decided: int | None


def predictions(directory: Path) -> dict[str, Predicted]:
    """Returns what is predicted of the kernels in a directory, by `TimedKernel.case`.

    Raises:
        OSError: the predictions cannot be read.
    """
    return of_document(dict[str, Predicted], json.loads((directory / PREDICTIONS_FILE).read_text()))


def digest(data: bytes) -> str:
    """Returns the first 16 hexadecimal digits of the SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def module_digests(directory: Path, kernels: Sequence[TimedKernel]) -> dict[tuple[str, str], str]:
    """Returns the digest of each kernel's module in each mode.

    Raises:
        OSError: a module is missing.
    """
    return {
        (kernel.name, mode): digest(kernel.module(directory, mode).read_bytes())
        for kernel in kernels
        for mode in kernel.modes
    }
