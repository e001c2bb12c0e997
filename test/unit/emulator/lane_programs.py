# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One wave that runs a few vector instructions on lanes a test sets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from bankwise.emulator.chips import CHIPS
from bankwise.emulator.instruction_text import EXEC
from bankwise.emulator.wave_state import Machine, WaveGroup

from .small_kernels import kernel, machine_of, program_of

FLUSH_F32 = "\t\t.amdhsa_float_denorm_mode_32 0"
NO_IEEE = "\t\t.amdhsa_ieee_mode 0"


def run_lanes(
    code: str,
    vectors: Mapping[int, npt.ArrayLike] | None = None,
    scalars: Mapping[int, int] | None = None,
    arch: str = "gfx942",
    directives: str = "",
    active: int = 2**64 - 1,
    count: int = 64,
) -> Machine:
    """Runs the lines of `code`, without branches; registers hold u32 words or 32-bit floats.

    The wave has `count` lanes.
    """
    if CHIPS[arch].is_rdna:
        directives += f"\n\t\t.amdhsa_wavefront_size32 {int(count == 32)}"
    lines = "\n".join(f"\t{line.strip()}" for line in code.strip().splitlines())
    parsed = kernel(lines, arch=arch, directives=directives)
    machine = machine_of(parsed, started=False)
    for index, values in (vectors or {}).items():
        machine.define_vector(index, np.broadcast_to(words_of(values), (1, count)).copy())
    pairs = {EXEC.index: active & 0xFFFFFFFF, EXEC.index + 1: active >> 32}
    for index, value in {**(scalars or {}), **pairs}.items():
        machine.define_scalar(index, np.full(1, value & 0xFFFFFFFF, np.uint32))
    program = program_of(parsed)
    group = WaveGroup(machine, np.arange(1))
    with np.errstate(all="ignore"):  # As the executor runs them.
        program.run_straight(group, 0, len(program.steps) - 1)
    return machine


def words_of(values: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    """Returns u32 words of integers or floats."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return array.astype(np.float32).view(np.uint32)
    return (array.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)


def lanes(machine: Machine, index: int) -> npt.NDArray[np.uint32]:
    """Returns [64], a vector register."""
    return machine.vgpr[index, 0]


def floats(machine: Machine, index: int) -> npt.NDArray[np.float32]:
    """Returns [64], a vector register as floats."""
    return lanes(machine, index).view(np.float32)


def mask(machine: Machine, index: int) -> int:
    """Returns a scalar pair."""
    return int(machine.sgpr[index, 0]) | int(machine.sgpr[index + 1, 0]) << 32
