# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix instructions of RDNA, with operands where the compiler's bindings have them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_gpu
from iree.compiler.dialects.iree_gpu import MMAIntrinsic

from bankwise.emulator.chips import CHIPS
from bankwise.emulator.emulation_errors import EmulationError
from bankwise.emulator.wmma import wmma_names

from .lane_programs import run_lanes
from .llvm_assembler import refused

Array = npt.NDArray[np.generic]
_NAME = re.compile(r"(WMMA(?:R3|R4)?)_([FBI]+\d+)_(\d+x\d+x\d+)_(\w+)")
_ARCHS = {"WMMAR3": "gfx1100", "WMMAR4": "gfx1201", "WMMA": "gfx1250"}
_TYPES = {
    "F8E4M3FN": ("fp8", ml_dtypes.float8_e4m3fn),
    "F8E5M2": ("bf8", ml_dtypes.float8_e5m2),
    "BF16": ("bf16", ml_dtypes.bfloat16),
    "F16": ("f16", np.float16),
    "F32": ("f32", np.float32),
    "I8": ("iu8", np.int8),
    "I32": ("i32", np.int32),
}


def intrinsics() -> Iterator[tuple[str, str, str, tuple[str, str], str]]:
    """Yields the compiler's name, chip and mnemonic, the types of A and B, and the result's."""
    for intrinsic in MMAIntrinsic:
        if match := _NAME.fullmatch(intrinsic.name):
            family, result, shape, types = match.groups()
            found = re.findall("|".join(_TYPES), types)
            pair = (found[0], found[-1])
            source = _TYPES[pair[0]][0]
            if source in ("fp8", "bf8"):
                source = f"{source}_{_TYPES[pair[1]][0]}"
            name = f"v_wmma_{_TYPES[result][0]}_{shape}_{source}"
            yield intrinsic.name, _ARCHS[family], name, pair, result


ALL = list(intrinsics())


def places(name: str, fragment: int) -> npt.NDArray[np.int64]:
    """Returns the row and the column of each element of each lane: [32, elements, 2]."""
    with ir.Context():
        attribute = iree_gpu.MMAIntrinsicAttr.get(MMAIntrinsic[name])
        layout = iree_gpu.get_single_subgroup_layout(attribute, fragment)
    lane = np.arange(32)
    rows, columns = (
        np.add.outer(
            lane // max(stride, 1) % threads * elements,
            np.add.outer(np.arange(outer) * threads * elements, np.arange(elements)).ravel(),
        )
        for outer, threads, stride, elements in zip(
            layout.outer, layout.thread, layout.tstrides, layout.element, strict=True
        )
    )
    pairs = np.broadcast_arrays(rows[:, :, None], columns[:, None, :])
    return np.stack([each.reshape(32, -1) for each in pairs], axis=-1)


def registers(matrix: Array, where: npt.NDArray[np.int64], apart: bool = False) -> Array:
    """Returns the registers [count, 32] of a matrix; 16-bit numbers lie `apart` in the low half."""
    values = np.ascontiguousarray(matrix[where[..., 0], where[..., 1]])
    if apart and values.dtype.itemsize == 2:
        return values.view(np.uint16).astype(np.uint32).T
    return values.view(np.uint32).T


def numbers(shape: tuple[int, int], kind: str, seed: int) -> Array:
    """Returns small numbers of a type, of which all sums of products are exact."""
    random = np.random.default_rng(seed)
    return random.integers(-3, 4, shape).astype(_TYPES[kind][1])


@pytest.mark.parametrize(("name", "arch", "mnemonic", "kinds", "result"), ALL)
def test_products_of_the_compilers_fragments(
    name: str, arch: str, mnemonic: str, kinds: tuple[str, str], result: str
) -> None:
    k = int(name.split("_")[2].split("x")[2])
    a, b = numbers((16, k), kinds[0], 1), numbers((k, 16), kinds[1], 2)
    c = numbers((16, 16), result, 3)
    apart = arch == "gfx1100"
    held = [registers(a, places(name, 0)), registers(b, places(name, 1))]
    held.append(registers(c, places(name, 2), apart))
    starts = np.cumsum([0, *(len(each) for each in held)])
    vectors = {
        int(start) + i: row
        for start, part in zip(starts, held, strict=False)
        for i, row in enumerate(part)
    }
    ranges = [f"v[{s}:{s + len(part) - 1}]" for s, part in zip(starts, held, strict=False)]
    signed = " neg_lo:[1,1,0]" if result == "I32" else ""
    code = f"{mnemonic} {ranges[2]}, {', '.join(ranges)}{signed}"
    machine = run_lanes(code, vectors, arch=arch, count=32)
    exact = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
    expected = registers(exact.astype(_TYPES[result][1]), places(name, 2), apart)
    first = int(starts[2])
    assert (machine.vgpr[first : first + len(expected), 0] == expected).all()


def test_names_are_those_of_the_assembler() -> None:
    for arch in _ARCHS.values():
        names = wmma_names(CHIPS[arch].isa)
        unknown = [
            text for text in refused(arch, names).values() if "not supported" in text
            or "invalid instruction" in text
        ]  # fmt: skip
        assert names and not unknown


ONE = 0x3C003C00


def test_sixteen_bit_results_of_rdna3_keep_the_other_half() -> None:
    vectors = {**dict.fromkeys(range(16), ONE), **dict.fromkeys(range(16, 24), 0x40001234)}
    high = "v_wmma_f16_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23] op_sel:[0,0,1]"
    machine = run_lanes(high, vectors, arch="gfx1100", count=32)
    # 2 + 16 in the high half.
    assert (machine.vgpr[16:24, 0] == 0x4C801234).all()


def test_waves_of_64_lanes_have_half_as_many_results_on_rdna3() -> None:
    rows = np.float16(np.arange(64) % 16).view(np.uint16).astype(np.uint32)
    vectors = {**dict.fromkeys(range(8), rows | rows << 16), **dict.fromkeys(range(8, 16), ONE)}
    code = "v_wmma_f32_16x16x16_f16 v[16:19], v[0:7], v[8:15], 0"
    machine = run_lanes(code, vectors, arch="gfx1100")
    found = machine.vgpr[16:20, 0].view(np.float32)
    expected = 16 * (4 * np.arange(4)[:, None] + np.arange(64) // 16)
    assert (found == expected).all()


def test_lanes_that_do_not_repeat_the_operands_are_an_error() -> None:
    vectors = {**dict.fromkeys(range(16), ONE), 3: np.arange(32)}
    code = "v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], 0"
    with pytest.raises(EmulationError, match="lanes 16 to 31 do not repeat the operands"):
        run_lanes(code, vectors, arch="gfx1100", count=32)
    run_lanes(code.replace("v[0:7], v[8:15]", "v[0:3], v[8:11]"), vectors, arch="gfx1201", count=32)


@pytest.mark.parametrize(
    ("sources", "clamp", "result"),
    [
        ("neg_lo:[1,1,0]", "", 16 * 4),
        ("neg_lo:[1,0,0]", "", -16 * 2 * 254),
        ("", "", 16 * 254 * 254),
        ("", "clamp", 16 * 254 * 254),
    ],
)
def test_integers_are_signed_where_neg_lo_says_so(sources: str, clamp: str, result: int) -> None:
    vectors = dict.fromkeys(range(8), 0xFEFEFEFE)
    code = f"v_wmma_i32_16x16x16_iu8 v[8:15], v[0:3], v[4:7], 0 {sources} {clamp}"
    machine = run_lanes(code, vectors, arch="gfx1100", count=32)
    assert (machine.vgpr[8:16, 0].view(np.int32) == result).all()


def test_clamp_saturates_integers() -> None:
    vectors = {**dict.fromkeys(range(8), 0x7F7F7F7F), **dict.fromkeys(range(8, 16), 0x7FFFFFFF)}
    code = "v_wmma_i32_16x16x16_iu8 v[8:15], v[0:3], v[4:7], v[8:15]"
    clamped = run_lanes(f"{code} clamp", vectors, arch="gfx1100", count=32)
    assert (clamped.vgpr[8:16, 0] == 0x7FFFFFFF).all()
    wrapped = run_lanes(code, vectors, arch="gfx1100", count=32)
    assert (wrapped.vgpr[8:16, 0] == 0x7FFFFFFF + 16 * 127 * 127).all()


def test_four_bit_integers_lie_two_in_a_byte() -> None:
    # 15 and 1 in turn, times 1: the low four bits of a byte come first, and both are summed.
    vectors = {0: 0x1F1F1F1F, 1: 0x11111111}
    code = "v_wmma_i32_16x16x16_iu4 v[8:15], v0, v1, 0"
    machine = run_lanes(code, vectors, arch="gfx1201", count=32)
    assert (machine.vgpr[8:16, 0] == 8 * 16).all()
    signed = run_lanes(f"{code} neg_lo:[1,1,0]", vectors, arch="gfx1201", count=32)
    assert (signed.vgpr[8:16, 0].view(np.int32) == 0).all()


@pytest.mark.parametrize(
    ("code", "arch", "message"),
    [
        ("v_swmmac_f32_16x16x32_f16 v[0:7], v[8:11], v[12:19], v20", "gfx1201", "does not know"),
        ("v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], 0", "gfx1201", "does not know"),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], 0 neg_lo:[1,0,0]", "gfx1100", "sign"),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[16:23], 0", "gfx1100", "8 vector registers"),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], 0", "gfx942", "gfx942 has no"),
    ],
)
def test_what_is_not_modelled_is_refused(code: str, arch: str, message: str) -> None:
    with pytest.raises(EmulationError, match=message):
        run_lanes(code, arch=arch, count=64 if arch == "gfx942" else 32)
