# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the model knows of each chip: rates and latencies, each with its source and its status.

Cycles are those of the compute units. A *wait state* is the time of one `s_nop 0`, 4 cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from ...bank_model.lds_rules import Status
from ..chips import CDNA3, CDNA4


@dataclass(frozen=True)
class Constant:
    """One number, in the unit that its field in `Chip` names."""

    value: float
    status: Status
    source: str


@dataclass(frozen=True)
class Chip:
    """A chip as the model sees it.

    Attributes:
        product: the GPU that has the chip.
        units: compute units.
        dies: accelerator dies (XCDs), each of which has an L2 cache.
        gigahertz: the highest clock of the compute units.
        clock_per_matrix: the part of the clock that power takes when matrix units are always busy
            with products of bf16; the operands are as those of models, normally distributed.
        clock_per_half: the same with products of f16.
        clock_per_byte: the same with products of 8-bit floats and narrower ones.
        clock_per_single: the same with products of f32.
        clock_on_zeros: the part of these that is left where all operands are zeros.
        launch_microseconds: the time between the start of a dispatch and of its first workgroup.
        workgroup_cycles: the cycles between the start of a workgroup and its first instruction.
        issue: the cycles between two instructions of a wave.
        transcendental: the cycles that a transcendental instruction takes of a SIMD's vector ALU.
        vector_latency: the cycles from a vector instruction to one that uses its result.
        scalar_latency: the cycles from a scalar instruction to one that uses its result.
        branch_taken: the cycles of a branch that is taken.
        branch_not_taken: the cycles of a branch that is not taken.
        barrier: the cycles from the arrival of the last wave at a barrier to the next instruction.
        instruction_fetch: the cycles of the first fetch of a line of code.
        matrix_gap: the cycles of the matrix unit beyond an instruction's passes.
        matrix_chain: the cycles beyond its passes after which a matrix instruction's result can be
            the addend of the next one.
        matrix_result: the cycles beyond its passes after which other instructions can use a matrix
            instruction's result.
        packed_after_matrix: the cycles beyond a matrix instruction's passes after which a packed
            f32 instruction can begin on the same SIMD.
        lds_round_trip: the cycles of an LDS instruction beyond its data cycles.
        lds_commands: the LDS instructions that can wait in the queue of two SIMDs.
        lds_data: the rows of 64 lanes that can wait in the queue of two SIMDs.
        l1_kib: the size of the L1 cache of a compute unit, in KiB.
        l1_ways: its ways.
        l1_latency: the cycles of a load that hits in the L1 cache.
        l1_bytes: the bytes that the L1 cache delivers in a cycle.
        l2_mib: the size of the L2 cache of a die, in MiB.
        l2_latency: the cycles of a load that hits in the L2 cache.
        l2_bytes: the bytes that the L2 cache of a die delivers in a cycle.
        mall_mib: the size of the Infinity Cache, in MiB.
        mall_nanoseconds: the time of a load that hits in the Infinity Cache.
        mall_terabytes: the terabytes a second that the Infinity Cache delivers.
        hbm_nanoseconds: the time of a load from HBM.
        hbm_terabytes: the terabytes a second that HBM delivers.
        scalar_load: the cycles of a scalar load that hits in its cache.
        store_done: the cycles after which a store is counted as done.
    """

    product: str
    units: Constant
    dies: Constant
    gigahertz: Constant
    clock_per_matrix: Constant
    clock_per_half: Constant
    clock_per_byte: Constant
    clock_per_single: Constant
    clock_on_zeros: Constant
    launch_microseconds: Constant
    workgroup_cycles: Constant
    issue: Constant
    transcendental: Constant
    vector_latency: Constant
    scalar_latency: Constant
    branch_taken: Constant
    branch_not_taken: Constant
    barrier: Constant
    instruction_fetch: Constant
    matrix_gap: Constant
    matrix_chain: Constant
    matrix_result: Constant
    packed_after_matrix: Constant
    lds_round_trip: Constant
    lds_commands: Constant
    lds_data: Constant
    l1_kib: Constant
    l1_ways: Constant
    l1_latency: Constant
    l1_bytes: Constant
    l2_mib: Constant
    l2_latency: Constant
    l2_bytes: Constant
    mall_mib: Constant
    mall_nanoseconds: Constant
    mall_terabytes: Constant
    hbm_nanoseconds: Constant
    hbm_terabytes: Constant
    scalar_load: Constant
    store_done: Constant

    def with_values(self, **values: float) -> Chip:
        """Returns the chip with other values of some constants, for experiments."""
        changed = {n: replace(getattr(self, n), value=v) for n, v in values.items()}
        return replace(self, **changed)

    def names(self) -> tuple[str, ...]:
        """Returns the names of all constants."""
        return tuple(each.name for each in fields(self) if each.name != "product")


def _published(value: float, source: str) -> Constant:
    return Constant(value, Status.PUBLISHED, source)


def _derived(value: float, source: str) -> Constant:
    return Constant(value, Status.DERIVED, source)


def _assumed(value: float, source: str) -> Constant:
    return Constant(value, Status.ASSUMED, source)


_DATA_SHEET_942 = "AMD Instinct MI300X data sheet"
_DATA_SHEET_950 = "AMD Instinct MI355X data sheet"
_MI300_PAGE = "ROCm documentation, AMD Instinct MI300 microarchitecture"
_COISSUE = "tingqli/pyhip docs/mfma-valu-coissue.md, measured on gfx942"
_LDS_READS = "tingqli/pyhip docs/mem_latency.md, measured on MI308X"
_ROCROLLER = "ROCm/rocm-libraries shared/rocroller LDSModel, which its tests compare with gfx950"
_LLVM_942 = "LLVM GCNHazardRecognizer: passes + 3 wait states from an XDL result on gfx940"
_LLVM_950 = "LLVM GCNHazardRecognizer: one wait state more than gfx940"
_CHIPS_AND_CHEESE = "Chips and Cheese, Testing AMD's Giant MI300X"
_CLOCKS = "ROCm blog, Measuring Max-Achievable FLOPs, part 2, MI300X"
_SINGLE_PRODUCTS = (
    "100 TFLOP/s of sgemm, below which ROCmValidationSuite (rvs/conf/MI300X/gst_single.conf) fails "
    "a card, with 94 % busy matrix units as in bf16; with 100 % it would be 0.39. 97, 89 and 100 "
    "of 4096, 8192 and 16384 were measured at the power limit "
    "(UCHINO-Yuki/GEMMul8_numerical_results, results_04)"
)
_TRITON_950 = "facebookexperimental/triton #2507, AMDLatencyModel.cpp, measured on gfx950"

_GFX942 = Chip(
    product="MI300X",
    units=_published(304, _DATA_SHEET_942),
    dies=_published(8, _DATA_SHEET_942),
    gigahertz=_published(2.1, _DATA_SHEET_942),
    clock_per_matrix=_derived(0.45, f"1207 MHz in bf16 with 94 % busy matrix units: {_CLOCKS}"),
    clock_per_half=_derived(0.50, f"1115 MHz in f16 with 94 % busy matrix units: {_CLOCKS}"),
    clock_per_byte=_derived(0.50, f"1230 MHz in fp8 with 83 % busy matrix units: {_CLOCKS}"),
    clock_per_single=_derived(0.37, _SINGLE_PRODUCTS),
    clock_on_zeros=_derived(
        0.34, f"fp8 4096x4096x4096 at 1792 MHz with zeros, 1188 with normal data: {_CLOCKS}"
    ),
    launch_microseconds=_assumed(2.0, "what profilers show of empty kernels"),
    workgroup_cycles=_assumed(200, "a wave is launched a cycle, and its registers are set"),
    issue=_published(4, _COISSUE),
    transcendental=_published(16, _COISSUE),
    vector_latency=_derived(4, "CDNA3 ISA: a wave's vector instructions follow every 4 cycles"),
    scalar_latency=_assumed(4, "as vector instructions"),
    branch_taken=_assumed(16, "LLVM's schedule model says 8 wait states at most"),
    branch_not_taken=_assumed(8, "as branch_taken"),
    barrier=_assumed(20, "a message to the workgroup's other waves"),
    instruction_fetch=_assumed(300, "a hit in the L2 cache, and the way back"),
    matrix_gap=_published(0, _COISSUE),
    matrix_chain=_assumed(2, "as gfx950"),
    matrix_result=_derived(12, _LLVM_942),
    packed_after_matrix=_derived(8, _COISSUE),
    lds_round_trip=_derived(44, f"64 cycles of b128 and 52 of b32 with the wait: {_LDS_READS}"),
    lds_commands=_published(8, _ROCROLLER),
    lds_data=_published(10, _ROCROLLER),
    l1_kib=_published(32, _MI300_PAGE),
    l1_ways=_assumed(64, "as CDNA2"),
    l1_latency=_assumed(120, "CDNA's L1 takes more than twice as long as the LDS"),
    l1_bytes=_published(64, _MI300_PAGE),
    l2_mib=_published(4, _MI300_PAGE),
    l2_latency=_assumed(250, "half of the Infinity Cache's"),
    l2_bytes=_published(2048, f"{_MI300_PAGE}: 16 channels of 128 bytes"),
    mall_mib=_published(256, _DATA_SHEET_942),
    mall_nanoseconds=_derived(
        260, f"the median of 218 ({_CHIPS_AND_CHEESE}) and of two others' 260 and 300, measured too"
    ),
    mall_terabytes=_published(11.9, f"{_CHIPS_AND_CHEESE}, measured"),
    hbm_nanoseconds=_derived(340, f"500 to 800 cycles: {_LDS_READS}"),
    hbm_terabytes=_derived(4.3, f"{_DATA_SHEET_942}: 5.3, of which about 81 % is reached"),
    scalar_load=_assumed(200, "a hit in the L2 cache or the scalar cache"),
    store_done=_assumed(500, "as a load beyond the L2 cache"),
)

_GFX950 = replace(
    _GFX942,
    product="MI355X",
    units=_published(256, _DATA_SHEET_950),
    gigahertz=_published(2.4, _DATA_SHEET_950),
    clock_per_matrix=_derived(
        0.49, "bf16 GEMM 8192: 1.48 GHz at 78 % of the matrix units' peak (HipKittens on MI355X)"
    ),
    clock_per_half=_assumed(0.54, "to bf16 as on gfx942"),
    clock_per_byte=_assumed(0.54, "to bf16 as on gfx942"),
    clock_per_single=_assumed(0.40, "to bf16 as on gfx942"),
    vector_latency=_published(8, _TRITON_950),
    matrix_gap=_published(1, _TRITON_950),
    matrix_chain=_published(2, _TRITON_950),
    matrix_result=_derived(16, _LLVM_950),
    packed_after_matrix=_assumed(8, "as gfx942"),
    lds_round_trip=_published(40, _ROCROLLER),
    hbm_nanoseconds=_published(329, f"790 cycles: {_TRITON_950}"),
    hbm_terabytes=_derived(6.5, f"{_DATA_SHEET_950}: 8, of which 81 % is reached as on MI300X"),
)

CHIPS: Mapping[str, Chip] = MappingProxyType({CDNA3: _GFX942, CDNA4: _GFX950})
"""The chips whose kernels can be timed, by architecture."""

TIMED_CHIPS = tuple(CHIPS)
"""Their names."""
