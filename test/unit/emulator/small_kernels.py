# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a few instructions, run from registers that a test sets."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bankwise.bank_model.lds_tables import lds_of
from bankwise.emulator.assembly import Kernel, parse_assembly
from bankwise.emulator.chips import CHIPS
from bankwise.emulator.counters import Counters
from bankwise.emulator.dispatch import Dispatch
from bankwise.emulator.executor import Program
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.initial_state import LaunchState, set_initial_state
from bankwise.emulator.instruction_text import EXEC
from bankwise.emulator.kernel_launch import launch
from bankwise.emulator.kernel_metadata import Size
from bankwise.emulator.step import BuildContext
from bankwise.emulator.wave_state import SCC, Machine

LANES = np.arange(64)
NARROW_LOADS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "u8": lambda old, byte, half: byte,
    "i8": lambda old, byte, half: (byte ^ 0x80) - 0x80 & 0xFFFFFFFF,
    "u16": lambda old, byte, half: half,
    "i16": lambda old, byte, half: (half ^ 0x8000) - 0x8000 & 0xFFFFFFFF,
    "u8_d16": lambda old, byte, half: old & 0xFFFF0000 | byte,
    "u8_d16_hi": lambda old, byte, half: old & 0xFFFF | byte << 16,
    "i8_d16": lambda old, byte, half: old & 0xFFFF0000 | (byte ^ 0x80) - 0x80 & 0xFFFF,
    "i8_d16_hi": lambda old, byte, half: old & 0xFFFF | ((byte ^ 0x80) - 0x80 & 0xFFFF) << 16,
    "u16_d16": lambda old, byte, half: old & 0xFFFF0000 | half,
    "u16_d16_hi": lambda old, byte, half: old & 0xFFFF | half << 16,
}
"""What a load of less than a word makes of a register that held `old`, by the LDS load's name.

`byte` and `half` are the 8 and 16 bits at the address.
"""


def assembly(
    code: str,
    arch: str = "gfx942",
    threads: int = 64,
    lds_bytes: int = 0,
    kernarg_bytes: int = 0,
    directives: str = "",
) -> str:
    """Returns a file as the compiler prints it, with one kernel `k` of `code`.

    A wave has as many lanes as the chip's usually have, if the directives do not say otherwise.
    The chip may have settings, as `gfx942:sramecc-`.
    """
    chip = arch.partition(":")[0]
    accumulates = CHIPS[chip].accumulators if chip in CHIPS else arch.startswith("gfx9")
    accumulators = "\t\t.amdhsa_accum_offset 64" if accumulates else ""
    return f"""\t.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
k:
{code}
\ts_endpgm
.Lfunc_end0:
\t.amdhsa_kernel k
\t\t.amdhsa_group_segment_fixed_size {lds_bytes}
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_user_sgpr_count 2
\t\t.amdhsa_next_free_vgpr 128
{accumulators}
\t\t.amdhsa_float_denorm_mode_32 3
{directives}
\t.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .name: k
    .kernarg_segment_size: {kernarg_bytes}
    .reqd_workgroup_size: [{threads}, 1, 1]
...
\t.end_amdgpu_metadata
"""


def kernel(code: str, **options: object) -> Kernel:
    """Returns the parsed kernel of `assembly`."""
    return parse_assembly(assembly(code, **options), "small.s")["k"]  # type: ignore[arg-type]


def program_of(parsed: Kernel) -> Program:
    """Returns the steps of a kernel, on the chip that it is for."""
    return Program(BuildContext(parsed, lds_of(parsed.arch)))


def machine_of(
    parsed: Kernel, workgroups: int = 1, memory: GlobalMemory | None = None, started: bool = True
) -> Machine:
    """Returns workgroups before their first instruction; if not `started`, without its registers.

    The workgroups lie along x.
    """
    ids = np.stack([np.arange(workgroups), *[np.zeros(workgroups, np.int64)] * 2], axis=1)
    machine = Machine(Dispatch.of(parsed, (workgroups, 1, 1)), ids, memory or GlobalMemory())
    if started:
        machine.private_segment = machine.memory.allocate(machine.waves * 64 * parsed.private_bytes)
        set_initial_state(machine, LaunchState(b"", 0))
    return machine


def run(
    code: str,
    arch: str = "gfx942",
    threads: int = 64,
    workgroups: int = 1,
    lds_bytes: int = 0,
    private_bytes: int = 0,
    vectors: Mapping[int, npt.ArrayLike] | None = None,
    scalars: Mapping[int, npt.ArrayLike] | None = None,
    active: int | None = None,
    memory: GlobalMemory | None = None,
    directives: str = "",
) -> Machine:
    """Runs `code` and returns the machine as it ends.

    Args:
        vectors: initial vector registers, u32 that broadcast to [waves, lanes].
        scalars: initial scalar registers, u32 that broadcast to [waves].
        active: EXEC of all waves, if not what the launch sets.
    """
    private = f"\t\t.amdhsa_private_segment_fixed_size {private_bytes}"
    directives = f"{private}\n{directives}"
    parsed = kernel(code, arch=arch, threads=threads, lds_bytes=lds_bytes, directives=directives)
    machine = machine_of(parsed, workgroups, memory)
    for index, values in (vectors or {}).items():
        words = np.broadcast_to(np.asarray(values).astype(np.uint32), machine.vgpr.shape[1:])
        machine.define_vector(index, words)
    for index, values in (scalars or {}).items():
        words = np.broadcast_to(np.asarray(values).astype(np.uint32), machine.waves)
        machine.define_scalar(index, words)
    if active is not None:
        for half in (0, 1):
            word = np.full(machine.waves, active >> 32 * half & 0xFFFFFFFF, np.uint32)
            machine.define_scalar(EXEC.index + half, word)
    program_of(parsed).run(machine, max_steps=100_000)
    return machine


def launched(
    source: str | Kernel,
    words: int,
    more: bytes = b"",
    grid: Size = (1, 1, 1),
    memory: GlobalMemory | None = None,
    **options: Any,
) -> tuple[npt.NDArray[np.uint32], Counters]:
    """Launches a kernel whose first argument is a buffer of so many `words`, and `more` follow.

    Returns the words, and what was counted. Options are those of `launch`.
    """
    parsed = source if isinstance(source, Kernel) else parse_assembly(source)["k"]
    memory = memory or GlobalMemory()
    output = memory.allocate(4 * words)
    arguments = struct.pack("<Q", output) + more
    counters = launch(Dispatch.of(parsed, grid), lds_of(parsed.arch), arguments, memory, **options)
    return memory.read(output, 4 * words).view(np.uint32), counters


def undefined_bits(machine: Machine, name: str) -> npt.NDArray[np.uint32]:
    """Returns the undefined bits of a register `v1`, `s1` or `scc`: [waves, lanes] or [waves]."""
    vector = name.startswith("v")
    file = machine.v_defined if vector else machine.s_defined
    found = file.undefined(SCC if name == "scc" else int(name[1:]), slice(None))
    shape = machine.vgpr.shape[1:] if vector else (machine.waves,)
    return np.zeros(shape, np.uint32) if found is None else found.bits


def descriptor(memory: GlobalMemory, address: int, size: int) -> dict[int, int]:
    """Returns a raw buffer's descriptor in s[4:7]."""
    return {4: address & 0xFFFFFFFF, 5: address >> 32, 6: size, 7: 0x27000}
