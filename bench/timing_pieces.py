# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pieces of assembly whose time is known: they are emulated, and played on the model of a chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..bank_model.lds_tables import lds_of
from ..emulator.assembly import Kernel, parse_assembly
from ..emulator.dispatch import Dispatch
from ..emulator.global_memory import GlobalMemory
from ..emulator.kernel_launch import launch
from ..emulator.timing.constants import Chip
from ..emulator.timing.prediction import Prediction, predict
from ..emulator.trace import TraceRecorder, buffer_uses

_FRAME = """\t.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
k:
{code}
\ts_endpgm
.Lfunc_end0:
\t.amdhsa_kernel k
\t\t.amdhsa_group_segment_fixed_size {lds}
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_user_sgpr_count 2
\t\t.amdhsa_next_free_vgpr 512
\t\t.amdhsa_accum_offset 256
\t.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .name: k
    .kernarg_segment_size: {arguments}
    .reqd_workgroup_size: [{threads}, 1, 1]
...
\t.end_amdgpu_metadata
"""


def piece(code: str, arch: str = "gfx942", waves: int = 1, arguments: int = 0) -> Kernel:
    """Returns a kernel of some instructions, which `s_endpgm` follows.

    Args:
        arguments: the bytes of its arguments.
    """
    text = _FRAME.format(
        arch=arch,
        code=code,
        threads=64 * waves,
        arguments=arguments,
        lds=lds_of(arch).workgroup_bytes,
    )
    return parse_assembly(text, "piece.s")["k"]


def played(
    code: str,
    arch: str = "gfx942",
    waves: int = 1,
    bytes_of_buffer: int = 0,
    chip: Chip | None = None,
    defined: Mapping[str, int] | None = None,
) -> Prediction:
    """Plays one workgroup of a piece of assembly.

    Args:
        code: the instructions; `s_endpgm` follows. `v0` is the number of the lane in the workgroup.
        waves: the waves of the workgroup.
        bytes_of_buffer: the bytes of a buffer whose address `s[0:1]` point to; 0 for no buffer.
        chip: the constants; those of `CHIPS` by default.
        defined: the values of registers before `code`; registers are undefined otherwise.
    """
    moves = "\n".join(f"v_mov_b32_e32 {name}, {value}" for name, value in (defined or {}).items())
    kernel = piece(f"{moves}\n{code}", arch, waves, 8 if bytes_of_buffer else 0)
    memory, recorder = GlobalMemory(), TraceRecorder(1)
    arguments = b""
    if bytes_of_buffer:
        arguments = np.uint64(memory.allocate(bytes_of_buffer)).tobytes()
    dispatch = Dispatch.of(kernel, (1, 1, 1))
    launch(dispatch, lds_of(arch), arguments, memory, recorder=recorder)
    return predict(dispatch, recorder.finished, buffer_uses(recorder.finished, memory), chip)


def issued_at(prediction: Prediction, place: int, wave: int = 0) -> int:
    """Returns when a wave issued an instruction, counted from the end if `place` is negative."""
    count = len(prediction.instructions[wave])
    return int(prediction.issued[wave, place % count])


def cycles_of_stream(code: str, repeats: int = 64, **options: Any) -> float:
    """Returns the cycles that each repetition of a piece takes in a long stream of them.

    Lines of code are there at once. What follows the first half of the stream is measured.

    Args:
        options: those of `played`.
    """
    lines = code.strip().count("\n") + 1
    prediction = played("\n".join([code] * repeats + ["s_nop 0"]), **options)
    half = repeats // 2
    end, middle = (issued_at(prediction, -2 - lines * k) for k in (1, half + 1))
    return (end - middle) / half
