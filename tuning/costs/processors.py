# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rates of GPUs, by which tiles are compared.

A GPU whose tiles are to be compared is a row of `_processors`. What its LDS and its instructions
are is in `bank_model/`, and needs no row here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from ...bank_model.quick_tuple import NamedTuple


class Processor(NamedTuple):
    """What the models of times, such as `tile_cost.py`, know of a GPU.

    Attributes:
        multiprocessors: how many there are; AMD's compute units.
        lanes: the lanes of a warp.
        registers: 32-bit registers of a multiprocessor.
        lane_registers: the most that a lane can have.
        lds_bytes: the LDS of a multiprocessor.
        lds_overhead: the bytes of it that each workgroup takes besides its own.
        max_warps: the most warps on a multiprocessor.
        matrix_cycles: the cycles that a matrix instruction takes of a multiprocessor's matrix
            units.
        described_cycles: the same where descriptors give the operands, as for `wgmma`; 0 where
            there are no descriptors.
        least_warps: the fewest warps of a workgroup that are proposed.
        issue_cycles: the cycles that another instruction takes of one of the 4 schedulers.
        fma_cycles: the cycles of a multiprocessor that a warp's f32 multiply-add takes; 0 where
            kernels of multiply-adds are not modelled.
        memory_bytes_a_cycle: the bytes that global memory moves in a cycle, for all
            multiprocessors, by the data sheets.
        busy_norm: how units that are busy side by side add up: (a^n + b^n)^(1/n).
        latency_norm: how that adds up with the latency of a warp.
        clock_per_matrix: the part of the clock that power takes when matrix units are always busy.
        larger_latency: the cycles of a warp in which an instruction of 32 rows and columns does as
            much as one of 16 does in `matrix_latency`.
        spare_registers: what a lane is given beside the registers that the work of a tile counts.
        path_latency: the cycles that a warp waits for each copy of each warp of its workgroup,
            which all come over one path.
        read_bytes: the bytes of 16-byte reads that the LDS moves in a cycle.
        matrix_bytes: the bytes of each operand that a lane gives a matrix instruction, at most; 0
            where that is not asked.
        measured: whether predictions were compared with measured times.
        modelled: whether they were compared with those of the model of a compute unit
            (`emulator/timing/`).
        mixes_exponentials: whether kernels are predicted to gain where LLVM mixes products with
            exponentials (`tuning/overlap/mix_exponentials.py`).
        wave_priorities: whether they are where some waves issue first
            (`tuning/overlap/raise_priority.py`).
    """

    multiprocessors: int
    lanes: int
    registers: int
    lane_registers: int
    lds_bytes: int
    lds_overhead: int
    max_warps: int
    matrix_cycles: float
    issue_cycles: float
    least_warps: int
    measured: bool = False
    modelled: bool = False
    mixes_exponentials: bool = False
    wave_priorities: bool = False
    megahertz: float = 1500.0
    wait_cycles: float = 670.0
    matrix_latency: float = 2.0
    issue_latency: float = 1.8
    copy_latency: float = 4.4
    path_latency: float = 0.0
    spill_latency: float = 20.0
    outer_steps: float = 2.6
    launch_cycles: float = 2000.0
    fma_cycles: float = 0.0
    memory_bytes_a_cycle: float = math.inf
    busy_norm: float = 4.0
    latency_norm: float = 2.0
    clock_per_matrix: float = 0.0
    larger_latency: float = 0.0
    spare_registers: float = 0.0
    described_cycles: float = 0.0
    read_bytes: int = 128
    matrix_bytes: int = 0


def _nvidia_processor(
    multiprocessors: int, lds_kib: int, warps: int, gigabytes: int, measured: bool = False
) -> Processor:
    """Returns a processor whose memory moves so many gigabytes a second."""
    return Processor(
        multiprocessors=multiprocessors,
        lanes=32,
        registers=65536,
        lane_registers=255,
        lds_bytes=lds_kib * 1024,
        lds_overhead=1024,
        max_warps=warps,
        matrix_cycles=2.0,
        issue_cycles=1.26,
        # A warp alone issues all copies, which the model knows: by it and on an H200, 2x1024x128
        # f16 takes a little longer with 16 rows and one warp than with 32 rows and two.
        least_warps=1,
        fma_cycles=0.25,
        memory_bytes_a_cycle=gigabytes / 1.5,
        measured=measured,
    )


def _amd_processor(
    units: int,
    lds_kib: int,
    matrix_cycles: float,
    megahertz: int,
    gigabytes: int,
    read_bytes: int,
    matrix_bytes: int,
) -> Processor:
    """Returns a processor whose memory moves so many gigabytes a second.

    Latencies, norms and `issue_cycles` were fitted to what the model of `emulator/timing/` predicts
    of 162 kernels with forced tiles (`bench/results/timing_tiles.md`).
    """
    return Processor(
        multiprocessors=units,
        lanes=64,
        registers=4 * 512 * 64,
        lane_registers=512,
        lds_bytes=lds_kib * 1024,
        lds_overhead=0,
        max_warps=32,
        matrix_cycles=matrix_cycles,
        # Wave64 instructions take four cycles of a SIMD.
        issue_cycles=4.5,
        least_warps=4,  # A wave for each SIMD.
        modelled=True,
        mixes_exponentials=True,
        wave_priorities=True,
        megahertz=megahertz,
        # A step waits 3.1 times as long whose copies are not loaded ahead.
        wait_cycles=200.0,
        path_latency=4.0,
        # An MFMA of 16 x 16 results takes 16 cycles, in which others may issue.
        matrix_latency=12.0,
        issue_latency=6.0,
        copy_latency=0.0,
        outer_steps=0.0,
        # Most of it is code that is fetched for the first time.
        launch_cycles=15500.0,
        memory_bytes_a_cycle=1000 * gigabytes / megahertz,
        busy_norm=3.2,
        latency_norm=1.33,
        # `emulator/timing/constants.py` has 0.45 and 0.49.
        clock_per_matrix=0.46,
        larger_latency=7.0,
        spare_registers=4.0,
        read_bytes=read_bytes,
        matrix_bytes=matrix_bytes,
    )


def _processors() -> Mapping[str, Processor]:
    """Returns the processors whose rates are known, by architecture."""
    # Code for 8.0 and 9.0 was measured on an H200: its multiprocessors, their LDS, and its memory.
    h200 = _nvidia_processor(132, 227, 64, 4800, measured=True)
    return MappingProxyType(
        {
            # v_mfma_f32_16x16x16_f16 takes 16 cycles of a SIMD (CDNA3 ISA), and 16x16x32, which
            # CDNA4 has, takes 17 (facebookexperimental/triton #2507). CDNA4 reads 256 bytes of its
            # LDS in a cycle (ROCm blog, FP8 GEMM on CDNA4).
            "gfx942": _amd_processor(304, 64, 4.0, 2100, 5300, 128, 8),
            "gfx950": _amd_processor(256, 160, 4.25, 2400, 8000, 256, 16),
            "sm_80": h200,
            "sm_86": _nvidia_processor(84, 100, 48, 696),
            "sm_89": _nvidia_processor(142, 100, 48, 864),
            "sm_90": h200,
            "sm_90a": h200._replace(described_cycles=1.0),
        }
    )


_PROCESSORS = _processors()


def processor_of(arch: str) -> Processor | None:
    """Returns the rates of an architecture, such as "gfx942"; None where they are not known."""
    return _PROCESSORS.get(arch)


def modelled_targets() -> tuple[str, ...]:
    """Returns the architectures whose rates are known."""
    return tuple(_PROCESSORS)
