# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published times and counters that the model of `emulator/timing/` is compared with.

A point *calibrates* if a constant of the model was taken from it, and *validates* if none was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..emulator.assembly import parse_assembly
from ..emulator.dispatch import Dispatch
from ..emulator.global_memory import GlobalMemory
from ..emulator.timing.constants import CHIPS
from ..emulator.timing.prediction import Prediction
from ..runtime.dispatch_record import DispatchRecord, run_dispatch
from ..sweep.swept_kernels import Attention, product_source
from .runs import compile_source
from .timing_pieces import cycles_of_stream, issued_at, played

CALIBRATES, VALIDATES = "calibrates", "validates"


@dataclass(frozen=True)
class Point:
    """A published figure, and how the model's is made.

    Attributes:
        name: what was measured.
        chip: on which architecture.
        family: `instructions`, `counters` or `kernels`.
        unit: the unit of the figures.
        published: the published figure.
        role: `CALIBRATES` or `VALIDATES`.
        source: who published it.
        predict: makes the model's figure.
    """

    name: str
    chip: str
    family: str
    unit: str
    published: float
    role: str
    source: str
    predict: Callable[[], float]


# -- single instructions -------------------------------------------------------------------------

_COISSUE = "tingqli/pyhip docs/mfma-valu-coissue.md, gfx942"
_LDS = "tingqli/pyhip docs/mem_latency.md, MI308X"
_WAITS = "ROCm/rocm-libraries shared/rocroller, rocprofiler tests, pull requests 2157 and 2633"
_QUEUES = "ROCm/rocm-libraries shared/rocroller, BankConflictTest.cpp, passes on gfx950"
_TRITON = "facebookexperimental/triton pull request 2507, gfx950"
_DEFINED = {f"v{k}": 0 for k in range(1, 10)}
_MATRIX = "v_mfma_f32_16x16x16_bf16 a[{0}:{1}], v[2:3], v[4:5], a[{0}:{1}]"
_MATRIX_950 = "v_mfma_f32_16x16x32_f16 a[{0}:{1}], v[2:5], v[6:9], a[{0}:{1}]"
_ADD, _EXP = "v_add_f32_e32 v6, v7, v8", "v_exp_f32_e32 v6, v7"
_PACKED = "v_pk_add_f32 v[6:7], v[8:9], v[8:9]"


def _groups(anchor: str, *others: str) -> str:
    """Returns four groups of instructions, each with another accumulator."""
    return "\n".join("\n".join([anchor.format(c, c + 3), *others]) for c in (0, 4, 8, 12))


def _stream(code: str, groups: int = 1, chip: str = "gfx942") -> float:
    constants = CHIPS[chip].with_values(instruction_fetch=0)
    return cycles_of_stream(code, arch=chip, chip=constants, defined=_DEFINED) / groups


def _vector_points() -> Iterator[Point]:
    def point(name: str, published: float, role: str, code: str, groups: int = 4) -> Point:
        make = partial(_stream, code, groups)
        return Point(name, "gfx942", "instructions", "cycles", published, role, _COISSUE, make)

    exps = "\n".join([_EXP] * 4)
    yield point("v_add_f32", 4.012, CALIBRATES, "\n".join([_ADD] * 4))
    yield point("v_exp_f32", 16.0, CALIBRATES, exps)
    yield point("v_exp_f32 and v_add_f32", 20.036, VALIDATES, "\n".join([_EXP, _ADD] * 4))
    yield point("v_exp_f32 twice", 32.036, VALIDATES, exps + "\n" + exps)
    yield point("independent v_mfma 16x16x16", 16.026, CALIBRATES, _groups(_MATRIX))
    for count, cycles in enumerate((16.044, 16.050, 16.054, 20.054), 1):
        code = _groups(_MATRIX, *[_ADD] * count)
        yield point(f"v_mfma and {count} v_add_f32", cycles, VALIDATES, code)
    for count, cycles in enumerate((20.052, 36.052, 52.052, 68.052), 1):
        code = _groups(_MATRIX, *[_EXP] * count)
        yield point(f"v_mfma and {count} v_exp_f32", cycles, VALIDATES, code)
    for count, cycles in enumerate((28.036, 32.036, 36.037, 40.037), 1):
        role = CALIBRATES if count == 1 else VALIDATES
        code = _groups(_MATRIX, *[_PACKED] * count)
        yield point(f"v_mfma and {count} v_pk_add_f32", cycles, role, code)
    first, second = _MATRIX.format(0, 3), _MATRIX.format(4, 7)
    apart = "\n".join([first, *[_ADD] * 3, second, _EXP])
    beside = "\n".join([first, second, *[_ADD] * 3, _EXP])
    yield point("v_mfma, 3 v_add_f32, v_mfma, v_exp_f32", 36.053, VALIDATES, apart, 1)
    yield point("v_mfma twice, 3 v_add_f32, v_exp_f32", 48.052, VALIDATES, beside, 1)


def _chain_points() -> Iterator[Point]:
    for name, published, code, groups in (
        ("chain of v_mfma 16x16x32", 18, _MATRIX_950.format(0, 3), 1),
        ("independent v_mfma 16x16x32", 17, _groups(_MATRIX_950), 4),
    ):
        make = partial(_stream, code, groups, "gfx950")
        yield Point(
            *(name, "gfx950", "instructions", "cycles", published, CALIBRATES, _TRITON, make)
        )


def _lds_points() -> Iterator[Point]:
    def point(name: str, published: float, role: str, source: str, shift: int, code: str) -> Point:
        make = partial(_wait_behind, shift, [code])
        return Point(name, "gfx942", "instructions", "cycles", published, role, source, make)

    b32, b128 = "ds_read_b32 v4, v1", "ds_read_b128 v[4:7], v1"
    yield point("ds_read_b32 and its wait", 52, CALIBRATES, _LDS, 2, b32)
    yield point("ds_read_b128 and its wait", 64, CALIBRATES, _LDS, 4, b128)
    yield point("ds_read_b32 on one bank, and its wait", 119, VALIDATES, _LDS, 7, b32)
    for count, cycles in ((2, 72), (3, 84), (4, 96), (5, 108)):
        make = partial(_wait_behind, 4, [b128] * count, -4 * count)
        name = f"wait behind {count} ds_read_b128"
        yield Point(name, "gfx942", "instructions", "cycles", cycles, VALIDATES, _WAITS, make)
    for name, published, shift, code in (
        ("stream of ds_read_b32", 4, 2, b32),
        ("stream of ds_read_b128", 16, 4, b128),
        ("stream of ds_read_b32, 8 lanes on a bank", 16, 5, b32),
        ("stream of ds_read_b32 on one bank", 64, 7, b32),
    ):
        make = partial(_stream_of_lds, shift, code)
        yield Point(name, "gfx942", "instructions", "cycles", published, VALIDATES, _LDS, make)


def _lanes(shift: int) -> str:
    return f"v_lshlrev_b32_e32 v1, {shift}, v0\n"


def _wait_behind(shift: int, reads: Sequence[str], more: int = 0) -> float:
    """Returns the cycles from the first of some reads to what follows the wait for all.

    `more` cycles are added.
    """
    chip = CHIPS["gfx942"].with_values(instruction_fetch=0)
    code = _lanes(shift) + "\n".join([*reads, "s_waitcnt lgkmcnt(0)", "s_nop 0"])
    prediction = played(code, chip=chip)
    return issued_at(prediction, -2) - issued_at(prediction, -3 - len(reads)) + more


def _stream_of_lds(shift: int, instruction: str, arch: str = "gfx942") -> float:
    chip = CHIPS[arch].with_values(instruction_fetch=0)
    moves = {f"v{k}": 0 for k in range(4, 8)}
    code = _lanes(shift) + "\n".join([instruction] * 96 + ["s_nop 0"])
    prediction = played(code, arch, chip=chip, defined=moves)
    return (issued_at(prediction, -3) - issued_at(prediction, -67)) / 64


def _queue_points() -> Iterator[Point]:
    """Yields streams of LDS instructions whose lanes lie 1 to 128 accesses apart.

    What rocRoller's tests find on the chip is the larger one of the cycles of the issue (4, and 4
    for each dword that is written) and of the data: some lanes are served at once, as long as their
    busiest bank takes.
    """
    for dwords, lanes_of_read, banks_of_read in ((1, 16, 32), (2, 16, 64), (4, 8, 64)):
        for stride in (1, 2, 4, 8, 16, 32, 64, 128):
            for write in (False, True):
                lanes = 16 // dwords if write else lanes_of_read
                banks = 32 if write else banks_of_read
                words = np.arange(64)[:, None] * stride * dwords + np.arange(dwords)
                data = sum(
                    int(np.bincount(part.ravel() % banks).max())
                    for part in words.reshape(-1, lanes, dwords)
                )
                cycles = max(4 + 4 * dwords * write, data)
                shift = (4 * stride * dwords).bit_length() - 1
                data_registers = f"v[4:{3 + dwords}]" if dwords > 1 else "v4"
                order = f"v1, {data_registers}" if write else f"{data_registers}, v1"
                mnemonic = f"ds_{'write' if write else 'read'}_b{32 * dwords}"
                make = partial(_stream_of_lds, shift, f"{mnemonic} {order}", "gfx950")
                yield Point(
                    *(f"stream of {mnemonic}, lanes {stride} apart", "gfx950", "instructions"),
                    *("cycles", cycles, VALIDATES, _QUEUES, make),
                )


# -- kernels -------------------------------------------------------------------------------------


def run_workgroups(
    source: str,
    arch: str,
    mode: str | None,
    grid: int,
    buffers: Sequence[int],
    chosen: Sequence[int],
    *flags: str,
    timing: bool = False,
) -> DispatchRecord:
    """Returns what some workgroups of a module with one kernel do, on buffers of zeros.

    Args:
        mode: None for `iree-compile`.
        grid: the number of workgroups.
        buffers: the bytes of the kernel's buffers.
        chosen: the workgroups that run.
        timing: whether the time of the whole grid is predicted.
    """
    ((name, text),) = compile_source(source, arch, mode, flags).items()
    (kernel,) = parse_assembly(text.decode(), name).values()
    memory = GlobalMemory()
    pointers = np.array([memory.allocate(size) for size in buffers], np.uint64).tobytes()
    arguments = pointers + bytes(kernel.kernarg_bytes - len(pointers))
    dispatch = Dispatch.of(kernel, (grid, 1, 1))
    places = [(each, 0, 0) for each in chosen]
    return run_dispatch(dispatch, arguments, memory, places, timing=timing)


def predicted_kernel(
    source: str, arch: str, mode: str | None, grid: int, buffers: Sequence[int], *flags: str
) -> Prediction:
    """Returns what is predicted of a module with one kernel, of which three workgroups run."""
    chosen = (0, grid // 2, grid - 1)
    launched = (source, arch, mode, grid, buffers, chosen)
    predicted = run_workgroups(*launched, *flags, timing=True).timing
    assert predicted is not None
    return predicted


_SWIZZLES = "iree-org/iree pull request 23778, rocprof on MI300X"


def _counter_points() -> Iterator[Point]:
    """Yields the counters of IREE's own attention in f32, in 32 workgroups."""
    found: list[Prediction] = []

    def attention() -> Prediction:
        if not found:
            attention = Attention(1, 1024, 128, "f32")
            buffers = [4 * 1024 * 128] * 4
            found.append(predicted_kernel(attention.source(), "gfx942", "stock", 32, buffers))
        return found[0]

    for name, published, make in (
        ("SQ_WAVE_CYCLES", 7.88e6, lambda: attention().counters["SQ_WAVE_CYCLES"]),
        ("SQ_WAIT_INST_ANY", 2.04e6, lambda: attention().counters["SQ_WAIT_INST_ANY"]),
        ("LdsLatency", 48.2, lambda: attention().lds_latency),
    ):
        yield Point(
            *(f"attention 1x1024x128 f32, stock: {name}", "gfx942", "counters", "", published),
            *(VALIDATES, _SWIZZLES, make),
        )


DIRECT_MATMULS_SOURCE = "iree-org/iree pull request 23932, MI355X"
HOST_MICROSECONDS = 44.4
"""What a call takes besides its kernel, from the time of the smallest matmul."""
_DIRECT_MATMULS = (
    # The size, the instruction, K of a step, the tile, and tiles of a wave. For each without a
    # swizzle, with xor_shuffle<128, 8>, and with xor_shuffle<64, 8>: published milliseconds, and
    # "LDS Bank Conflicts/Access" of ROCm Compute Profiler.
    (512, "16x16x32", 4, (64, 128), (2, 4), (0.063, 0.058, 0.055), (7.0, 0.0, 1.0)),
    (1024, "16x16x32", 4, (64, 128), (2, 4), (0.068, 0.062, 0.057), (7.0, 0.0, 1.0)),
    (2048, "16x16x32", 1, (128, 128), (4, 4), (0.096, 0.092, 0.086), (1.0, 1.0, 0.0)),
    (4096, "16x16x32", 1, (128, 128), (4, 4), (0.222, 0.214, 0.210), (1.0, 1.0, 0.0)),
    (8192, "16x16x32", 1, (128, 128), (4, 4), (1.61, 1.61, 1.47), (1.0, 1.0, 0.0)),
    (16384, "32x32x16", 2, (256, 256), (4, 4), (10.0, 9.35, 9.42), (3.0, 0.0, 1.0)),
)


@dataclass(frozen=True)
class DirectMatmul:
    """A matmul in bf16, B transposed, whose operands are loaded into the LDS directly.

    Attributes:
        size: its rows, columns and depth.
        name: what it is called in tables.
        source: MLIR with the configuration that was published.
        grid: the number of workgroups.
        milliseconds: the published time.
        conflicts: the published conflict cycles for each cycle without conflicts.
    """

    size: int
    name: str
    source: str
    grid: int
    milliseconds: float
    conflicts: float

    @property
    def launched(self) -> tuple[str, str, None, int, tuple[int, int, int]]:
        """Returns the module, chip, mode, grid and buffers, as `run_workgroups` has them."""
        area = self.size * self.size
        return (self.source, "gfx950", None, self.grid, (2 * area, 2 * area, 4 * area))


DIRECT_LOADS = "--iree-llvmgpu-use-direct-load"
"""The flag by which operands are loaded so."""


def direct_matmuls() -> Iterator[DirectMatmul]:
    """Yields the published matmuls, without and with swizzles."""
    for size, shape, step, tile, waves, times, conflicts in _DIRECT_MATMULS:
        grid = size * size // (tile[0] * tile[1])
        for width, *published in zip((0, 128, 64), times, conflicts, strict=True):
            swizzle = f"xor_shuffle<{width}, 8>" if width else "no swizzle"
            source = _direct_matmul_source(size, shape, step, tile, waves, width)
            yield DirectMatmul(size, f"matmul {size} bf16, {swizzle}", source, grid, *published)


def _direct_matmul_source(
    size: int, shape: str, step: int, tile: Sequence[int], waves: Sequence[int], width: int
) -> str:
    """Returns a matmul with the configuration that was published; `width` is 0 for no swizzle."""
    copy = "#iree_gpu.use_global_load_dma"
    swizzle = f"#iree_codegen.xor_shuffle<{width}, 8>"
    operand = f"#iree_gpu.swizzle_operand<copy_config = {copy}, swizzle = {swizzle}>"
    promoted = operand if width else copy
    lowering = (
        f"mma_kind = #iree_gpu.mma_layout<MFMA_F32_{shape}_BF16>, promote_operands = [0, 1], "
        f"promotion_types = [{promoted}, {promoted}], reduction = [0, 0, {step}], "
        f"subgroup = [{waves[0]}, {waves[1]}, 0], workgroup = [{tile[0]}, {tile[1]}, 0]"
    )
    options = (
        "prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = true, "
        "use_igemm_convolution = false"
    )
    translation = (
        "pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] "
        "subgroup_size = 64, "
        f"{{gpu_pipeline_options = #iree_gpu.pipeline_options<{options}>}}"
    )
    info = (
        "#iree_codegen.compilation_info<"
        f"lowering_config = #iree_gpu.lowering_config<{{{lowering}}}>, "
        f"translation_info = <{translation}>>"
    )
    maps = ("(m, n, k) -> (m, k)", "(m, n, k) -> (n, k)", "(m, n, k) -> (m, n)")
    order = ", ".join(f"affine_map<{each}>" for each in maps)
    operation = f"linalg.matmul indexing_maps = [{order}] {{compilation_info = {info}}}"
    return product_source("bf16", [(size, size)] * 3, "matmul", operation)


def _matmul_time(matmul: DirectMatmul) -> float:
    predicted = predicted_kernel(*matmul.launched, DIRECT_LOADS)
    return predicted.microseconds.expected + HOST_MICROSECONDS


def _matmul_points() -> Iterator[Point]:
    for each in direct_matmuls():
        role = CALIBRATES if each.size == 512 else VALIDATES
        yield Point(
            *(each.name, "gfx950", "kernels", "us", each.milliseconds * 1e3),
            *(role, DIRECT_MATMULS_SOURCE, partial(_matmul_time, each)),
        )


def instruction_points() -> list[Point]:
    """Returns the points that take no compile, some seconds in all."""
    return [*_vector_points(), *_chain_points(), *_lds_points(), *_queue_points()]


def kernel_points() -> list[Point]:
    """Returns the points of compiled kernels."""
    return [*_counter_points(), *_matmul_points()]
