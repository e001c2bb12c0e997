# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions with a scale, against ml_dtypes and float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from bankwise.emulator.emulation_errors import EmulationError

from .lane_programs import lanes, run_lanes

RANDOM = np.random.default_rng(0)
NARROW = {
    "fp8": (ml_dtypes.float8_e4m3fn, 8),
    "bf8": (ml_dtypes.float8_e5m2, 8),
    "fp4": (ml_dtypes.float4_e2m1fn, 4),
}
WIDE = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
SCALE = np.ldexp(np.float32(1.75), RANDOM.integers(-7, 8, 64)).astype(np.float32)
"""The mantissas and the signs do not count."""
POWER = np.exp2(np.floor(np.log2(SCALE.astype(np.float64))))


def values_of(codes: npt.NDArray[np.unsignedinteger], name: str) -> npt.NDArray[np.float64]:
    return codes.astype(np.uint8).view(NARROW[name][0]).astype(np.float64)


def words(values: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Returns the bits of numbers, each in a word of its own."""
    return values.view(f"u{values.itemsize}").astype(np.uint32)


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", NARROW)
def test_pairs_become_wider(name: str, wide: str) -> None:
    bits = NARROW[name][1]
    source = RANDOM.integers(0, 2**32, 64).astype(np.uint32)
    parts = {"": 0, "op_sel:[1,0,0]": 1}
    if bits == 4:
        parts.update({"op_sel:[0,1,0]": 2, "op_sel:[1,1,0]": 3})
    for op_sel, part in parts.items():
        at = "v[8:9]" if wide == "f32" else "v8"
        code = f"v_cvt_scalef32_pk_{wide}_{name} {at}, v0, v1 {op_sel}"
        machine = run_lanes(code, {0: source, 1: -SCALE}, arch="gfx950")
        for k in (0, 1):
            codes = source >> np.uint32((2 * part + k) * bits) & np.uint32((1 << bits) - 1)
            with np.errstate(over="ignore"):
                expected = (values_of(codes, name) * POWER).astype(WIDE[wide])
            held = lanes(machine, 8 + k * (wide == "f32"))
            held = held if wide == "f32" else held >> np.uint32(16 * k) & np.uint32(0xFFFF)
            numbers = ~np.isnan(expected.astype(np.float32))
            assert (held == words(expected))[numbers].all()
            assert np.isnan(held.astype(f"u{expected.itemsize}").view(WIDE[wide])[~numbers]).all()


@pytest.mark.parametrize("name", ["fp8", "bf8"])
def test_one_number_becomes_wider(name: str) -> None:
    source = RANDOM.integers(0, 2**32, 64).astype(np.uint32) & np.uint32(0x3F3F3F3F)
    vectors = {0: source, 1: SCALE, 8: 0xAAAABBBB}
    expected = values_of(source >> np.uint32(16) & np.uint32(0xFF), name) * POWER
    code = f"v_cvt_scalef32_f32_{name} v8, v0, v1 op_sel:[0,1,0]"
    machine = run_lanes(code, vectors, arch="gfx950")
    assert (lanes(machine, 8) == words(expected.astype(np.float32))).all()
    for last, kept in ((0, 0xAAAA0000), (1, 0xBBBB)):
        code = f"v_cvt_scalef32_f16_{name} v8, v0, v1 op_sel:[0,1,{last}]"
        half = words(expected.astype(np.float16)) << np.uint32(16 * last)
        assert (lanes(run_lanes(code, vectors, arch="gfx950"), 8) == half | np.uint32(kept)).all()


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", NARROW)
def test_pairs_become_narrower(name: str, wide: str) -> None:
    dtype, bits = NARROW[name]
    pair = (RANDOM.normal(size=(2, 64)) * 4).astype(WIDE[wide])
    pair[:, 0], pair[:, 1] = 0, -0.0
    vectors: dict[int, Any] = {2: SCALE, 8: 0x12345678}
    if wide == "f32":
        vectors.update({0: pair[0], 1: pair[1]})
        sources, zeros = "v0, v1", "0,0,"
    else:
        vectors[0] = words(pair[0]) | words(pair[1]) << np.uint32(16)
        sources, zeros = "v0", "0,0," if bits == 4 else "0,"
    low, high = (words((each.astype(np.float64) / POWER).astype(dtype)) for each in pair)
    lists = ["0,0", "1,0", "0,1", "1,1"] if bits == 4 else ["0,0", "0,1"]
    for part, last in enumerate(lists):
        code = f"v_cvt_scalef32_pk_{name}_{wide} v8, {sources}, v2 op_sel:[{zeros}{last}]"
        shift, mask = 2 * bits * part, (1 << 2 * bits) - 1
        expected = (0x12345678 & ~(mask << shift)) | (low | high << np.uint32(bits)) << np.uint32(
            shift
        )
        assert (lanes(run_lanes(code, vectors, arch="gfx950"), 8) == expected).all()


@pytest.mark.parametrize(
    ("name", "large", "nan"), [("fp4", 7, 7), ("bf8", 0x7C, 0x7F), ("fp8", 0x7F, 0x7F)]
)
def test_what_no_code_has(name: str, large: int, nan: int) -> None:
    """Too large a number, and a scale that is no number; fp4 has codes for neither."""
    code = f"v_cvt_scalef32_pk_{name}_f32 v8, v0, v0, v1"
    mask, vectors = (1 << NARROW[name][1]) - 1, {0: 1.0, 8: 0}
    for scale, expected in ((0x00000000, large), (0x7F800000, nan)):
        machine = run_lanes(code, {**vectors, 1: scale}, arch="gfx950")
        assert lanes(machine, 8)[0] & mask == expected


def test_a_scale_of_exponent_zero_is_a_power_of_two() -> None:
    """2 ** -127, the least number of E8M0, is a denormal f32."""
    code = "v_cvt_scalef32_pk_f32_fp4 v[8:9], v0, v1"
    machine = run_lanes(code, {0: 0x22, 1: 0x00400000}, arch="gfx950")
    assert lanes(machine, 8)[0] == 0x00400000


@pytest.mark.parametrize(
    ("arch", "code", "reason"),
    [
        ("gfx942", "v_cvt_scalef32_pk_f32_fp8 v[8:9], v0, v1", "does not exist on gfx942"),
        ("gfx950", "v_cvt_scalef32_pk_f32_fp8 v[8:9], v0, v1 op_sel:[0,1,0]", "this op_sel"),
        ("gfx950", "v_cvt_scalef32_pk_fp8_f32 v8, v0, v1", "this number of operands"),
        ("gfx950", "v_cvt_scalef32_pk_fp8_f16 v8, -v0, v1", "sign modifier"),
    ],
)
def test_forms_that_are_not_modelled_are_refused(arch: str, code: str, reason: str) -> None:
    with pytest.raises(EmulationError, match=reason):
        run_lanes(code, {0: 0, 1: 0, 8: 0}, arch=arch)
