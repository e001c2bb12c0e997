# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each matrix instruction against sums over the elements that the ISA places in the lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bank_model.matrix_instructions import (
    MatrixShape,
    mfma_shapes,
    smfmac_shapes,
)
from bankwise.emulator.errors import EmulationError
from bankwise.emulator.small_floats import FP4, SmallFloat, fp8_formats

from .small_kernels import LANES, run, undefined_bits

Matrix = npt.NDArray[Any]
Places = tuple[Matrix, Matrix]

RANDOM = np.random.default_rng(0)
CASES = [(arch, name) for arch in ("gfx942", "gfx950") for name in mfma_shapes(arch)]


def factor_place(shape: MatrixShape, rows: int, row: Matrix, k: Matrix, block: Matrix) -> Places:
    """Returns the lane and the element of A[row, k] or B[k, row] (CDNA3 ISA, 7.1.4)."""
    per_lane = rows * shape.k * shape.blocks // 64
    if shape.source == "f8f6f4":
        # Two runs of 16 consecutive k, half of K apart.
        run_number, inside = np.divmod(k, shape.k // 2)
        return row + rows * (inside // 16), 16 * run_number + inside % 16
    return row + rows * (block + shape.blocks * (k // per_lane)), k % per_lane


def result_places(shape: MatrixShape) -> Places:
    """Returns the lane and the element of each D[i, j] of each block."""
    block, i, j = np.indices((shape.blocks, shape.m, shape.n), sparse=True)
    height = 1 if shape.result == "f64" else 4
    if (shape.m, shape.result) == (4, "f64"):
        return j + 4 * block + 16 * i, 0 * i
    if shape.m == 4:
        return j + 4 * block, i
    if shape.m == 16:
        return j + 16 * (i // height % 4), i % height + height * (i // (4 * height) + block)
    return j + 32 * (i // 4 % 2), i % 4 + 4 * (i // 8 + 4 * block)


def in_lanes(places: Places, matrix: Matrix) -> Matrix:
    """Returns elements as [lane, element]."""
    held = np.zeros((64, matrix.size // 64), matrix.dtype)
    held[places] = matrix
    return held


def encode(values: npt.NDArray[np.float64], kind: str) -> npt.NDArray[np.unsignedinteger]:
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8}[kind]
    codes = values.astype(dtype)
    return codes.view(f"u{codes.itemsize}")


def random_factor(
    arch: str, kind: str, size: tuple[int, ...]
) -> tuple[npt.NDArray[np.unsignedinteger], npt.NDArray[np.float64]]:
    """Returns codes and values, of a size that every format of the chip holds exactly."""
    if kind in ("fp8", "bf8"):
        values = fp8_formats(arch)[kind].values()
        codes = RANDOM.choice(np.flatnonzero(np.abs(values) < 64), size).astype(np.uint8)
        return codes, values[codes]
    values = RANDOM.integers(-8, 9, size).astype(np.float64) * (1 if kind == "i8" else 0.25)
    return encode(values, kind), values


def source_kinds(shape: MatrixShape) -> tuple[str, str]:
    if shape.source == "f8f6f4":
        return "fp8", "fp8"
    first, _, second = shape.source.partition("_")
    return first, second or first


def registers(name: str, first: int, count: int) -> str:
    return f"{name}{first}" if count == 1 else f"{name}[{first}:{first + count - 1}]"


def result_of(
    arch: str, code: str, a: Matrix, b: Matrix, c: Matrix, others: Mapping[int, Matrix]
) -> Matrix:
    """Returns what lanes hold after an instruction that writes its result over `c`.

    `code` names the matrices `{a}`, `{b}` and `{c}`; `others` are further registers.
    """
    words = [np.ascontiguousarray(x).view(np.uint32) for x in (a, b, c)]
    ends = np.cumsum([x.shape[1] for x in words]).tolist()
    at = [registers("v", e - x.shape[1], x.shape[1]) for e, x in zip(ends, words, strict=True)]
    machine = run(
        "\t" + code.format(a=at[0], b=at[1], c=at[2]),
        arch=arch,
        vectors={**dict(enumerate(np.hstack(words).T)), **others},
        active=3,
    )
    return machine.vgpr[ends[1] : ends[2], 0].T.copy().view(c.dtype)


@pytest.mark.parametrize(("arch", "name"), CASES, ids=lambda x: str(x))
def test_products_by_the_tables_of_the_isa(arch: str, name: str):
    shape = mfma_shapes(arch)[name]
    a_kind, b_kind = source_kinds(shape)
    a_codes, a = random_factor(arch, a_kind, (shape.blocks, shape.m, shape.k))
    b_codes, b = random_factor(arch, b_kind, (shape.blocks, shape.k, shape.n))
    dtype = {"f32": np.float32, "i32": np.int32, "f64": np.float64}[shape.result]
    c = RANDOM.integers(-99, 99, (shape.blocks, shape.m, shape.n)).astype(dtype)
    block, i, k = np.indices((shape.blocks, shape.m, shape.k), sparse=True)
    held_a = in_lanes(factor_place(shape, shape.m, i, k, block), a_codes)
    block, k, j = np.indices((shape.blocks, shape.k, shape.n), sparse=True)
    held_b = in_lanes(factor_place(shape, shape.n, j, k, block), b_codes)
    places = result_places(shape)
    code = f"{name} {{c}}, {{a}}, {{b}}, {{c}}"
    result = result_of(arch, code, held_a, held_b, in_lanes(places, c), {})
    np.testing.assert_array_equal(result[places], (a @ b + c).astype(dtype))


SPARSE = [(arch, name) for arch in ("gfx942", "gfx950") for name in smfmac_shapes(arch)]


@pytest.mark.parametrize(("arch", "name"), SPARSE, ids=lambda x: str(x))
def test_sparse_products(arch: str, name: str):
    """Against the dense product, for each set of indices."""
    shape = smfmac_shapes(arch)[name]
    a_kind, b_kind = source_kinds(shape)
    per_lane = shape.m * shape.k // 128
    places = np.sort(RANDOM.random((shape.m, shape.k // 4, 4)).argsort(axis=-1)[..., :2], axis=-1)
    places = places.reshape(shape.m, shape.k // 2)
    codes, values = random_factor(arch, a_kind, places.shape)
    b_codes, b = random_factor(arch, b_kind, (shape.k, shape.n))
    dense = np.zeros((shape.m, shape.k))
    columns = 4 * (np.arange(shape.k // 2) // 2) + places
    np.put_along_axis(dense, columns, values, axis=1)
    dtype = {"f32": np.float32, "i32": np.int32}[shape.result]
    c = RANDOM.integers(-99, 99, (shape.m, shape.n)).astype(dtype)
    # [lanes, elements]: rows first, then runs of K.
    held_a = codes.reshape(shape.m, -1, per_lane).swapaxes(0, 1).reshape(64, per_lane)
    held_b = np.ascontiguousarray(b_codes.T).reshape(shape.n, -1, 2 * shape.n * shape.k // 128)
    held_b = held_b.swapaxes(0, 1).reshape(64, -1)
    fields = places.reshape(shape.m, -1, per_lane).swapaxes(0, 1).reshape(64, per_lane)
    index = (fields << 2 * np.arange(per_lane)).sum(axis=1)
    where = result_places(shape)
    held = held_a, held_b, in_lanes(where, c)
    expected = (dense @ b + c).astype(dtype)
    code = f"{name} {{c}}, {{a}}, {{b}}, v63"
    sets = 16 // per_lane
    for chosen in range(sets):
        modifier = f" abid:{chosen}" if chosen else ""
        indices = {63: index << 2 * per_lane * chosen}
        result = result_of(arch, code + modifier, *held, indices)
        np.testing.assert_array_equal(result[where][0], expected)
    with pytest.raises(EmulationError, match=f"abid:{sets} where the index register has {sets}"):
        result_of(arch, f"{code} abid:{sets}", *held, {63: index})


def test_sparse_products_take_only_what_the_indices_name():
    """A holds ones at columns 1 and 2 of each four; B is infinite in all others."""
    columns = np.arange(32)
    b = np.where((columns % 4 == 1) | (columns % 4 == 2), 0x3C00, 0x7C00).astype(np.uint16)
    halves = b.reshape(4, 8).repeat(16, axis=0).copy().view(np.uint32)
    ones = 0x3C003C00
    vectors = {0: ones, 1: ones, 8: 0, 9: 0, 10: 0, 11: 0, 12: 0b10011001 << 8}
    vectors |= {2 + k: halves[:, k] for k in range(4)}
    code = "\tv_smfmac_f32_16x16x32_f16 v[8:11], v[0:1], v[2:5], v12 "
    machine = run(code + "abid:1", vectors=vectors)
    assert (machine.vgpr[8:12].view(np.float32) == 16).all()
    # With `cbsz` the first set counts, here zeros: both elements are column 0.
    machine = run(code + "cbsz:1 abid:1", vectors=vectors)
    assert np.isinf(machine.vgpr[8:12].view(np.float32)).all()


def test_result_layout_of_32x32():
    """As AMD's matrix instruction calculator prints it for v_mfma_f32_32x32x8_f16."""
    machine = run(
        "\tv_mfma_f32_32x32x8_f16 v[10:25], v[2:3], v[4:5], 0",
        vectors={
            2: np.where(LANES == 9, 0x3C00, 0),
            3: 0,
            4: np.where(LANES == 3, 0x4000, 0),
            5: 0,
        },
    )
    result = machine.vgpr[10:26, 0].view(np.float32)
    assert result[5, 3] == 2
    assert np.count_nonzero(result) == 1


def test_accumulation_registers_and_constants():
    """B of ones; A of row numbers in k = 0: D[i, j] = 1 + i."""
    one, row = 0x3F800000, (LANES % 16).astype(np.float32).view(np.uint32)
    machine = run(
        "\tv_mfma_f32_16x16x4_f32 a[4:7], a0, v2, 1.0",
        vectors={64: np.where(LANES < 16, row, 0), 2: one},
    )
    result = machine.vgpr[68:72, 0].view(np.float32)
    assert result[:, 40].tolist() == [9, 10, 11, 12]


def test_the_sum_is_rounded_once():
    """2^24 + 1 + 1 is exact in the sum, and not if each addition rounds."""
    machine = run(
        "\tv_mfma_f32_16x16x4_f32 v[4:7], v1, v2, v[4:7]",
        vectors={
            1: np.where(LANES < 32, 0x3F800000, 0),
            2: 0x3F800000,
            **dict.fromkeys(range(4, 8), np.float32(2**24).view(np.uint32)),
        },
    )
    assert machine.vgpr[4, 0].view(np.float32)[0] == 2**24 + 2


def test_integers_wrap():
    machine = run(
        "\tv_mfma_i32_16x16x32_i8 v[10:13], v[2:3], v[4:5], v[10:13]",
        vectors={
            **dict.fromkeys((2, 3, 4, 5), 0x80808080),
            **dict.fromkeys(range(10, 14), 2**31 - 1),
        },
    )
    assert machine.vgpr[10, 0, 0] == 2**31 - 1 + 32 * 128 * 128


def test_fp4_is_held_in_consecutive_nibbles():
    codes = RANDOM.integers(0, 16, (2, 16, 128)).astype(np.uint8)
    held = codes.reshape(2, 16, 4, 32).transpose(0, 2, 1, 3).reshape(2, 64, 32)
    words = (held[..., 0::2] | held[..., 1::2] << 4).copy().view(np.uint32)
    machine = run(
        "\tv_mfma_f32_16x16x128_f8f6f4 v[20:23], v[2:5], v[6:9], 0 cbsz:4 blgp:4",
        arch="gfx950",
        vectors={2 + 4 * s + k: words[s, :, k] for s in (0, 1) for k in range(4)},
    )
    values = FP4.values()[codes]
    result = machine.vgpr[20:24, 0].view(np.float32).reshape(4, 4, 16)
    assert (result.transpose(1, 0, 2).reshape(16, 16) == values[0] @ values[1].T).all()


@pytest.mark.parametrize(
    ("arch", "code", "reason"),
    [
        ("gfx942", "v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], 0", "on gfx942"),
        ("gfx942", "v_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[8:9], 0", "xf32"),
        ("gfx942", "v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, 0 cbsz:1", "no model of cbsz"),
        ("gfx942", "v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, 0 blgp:2", "no model of blgp"),
        (
            "gfx950",
            "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:9], v[10:15], 0 cbsz:2 blgp:2",
            "6-bit",
        ),
        (
            "gfx950",
            "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:15], 0 blgp:4",
            "no model of mixed",
        ),
        ("gfx942", "v_mfma_f32_16x16x4_f32 v[0:3], v[4:5], v5, 0", "1 vector register is"),
    ],
)
def test_forms_that_are_not_modelled_are_refused(arch: str, code: str, reason: str):
    with pytest.raises(EmulationError, match=reason):
        run(f"\t{code}", arch=arch)


def test_undefined_rows_stay_among_themselves():
    """Lane i holds row i of A in k = 0: row 3 of D comes from lane 3 alone."""
    code = """\ts_mov_b64 exec, s[8:9]
\tv_mov_b32_e32 v1, 1.0
\ts_mov_b64 exec, -1
\tv_mfma_f32_16x16x4_f32 v[4:7], v1, v2, 0"""
    without = 2**64 - 1 - 2**3
    scalars = {8: without & 0xFFFFFFFF, 9: without >> 32}
    machine = run(code, vectors={2: 0x3F800000}, scalars=scalars)
    # Row 3 is register 3 of lanes 0 to 15.
    undefined = [undefined_bits(machine, f"v{register}")[0] != 0 for register in range(4, 8)]
    assert not np.any(undefined[:3])
    assert (undefined[3] == (LANES < 16)).all()
    assert (machine.vgpr[4, 0].view(np.float32) == 4).all()


def test_inactive_lanes_count_too():
    code = "\tv_mov_b32_e32 v1, 0\n\tv_mfma_f32_16x16x4_f32 v[4:7], v1, v2, 0"
    machine = run(code, vectors={2: 0x3F800000}, active=1)
    assert undefined_bits(machine, "v4").any()


@pytest.mark.parametrize(
    ("form", "codes", "values"),
    [
        (
            fp8_formats("gfx950")["fp8"],
            [0x7E, 0x7F, 0x08, 0x01, 0x80],
            [448, None, 2**-6, 2**-9, 0],
        ),
        (fp8_formats("gfx942")["fp8"], [0x7F, 0x80, 0x08, 0x01], [240, None, 2**-7, 2**-10]),
        (fp8_formats("gfx950")["bf8"], [0x7B, 0x7C, 0x7D, 0x01], [57344, np.inf, None, 2**-16]),
        (fp8_formats("gfx942")["bf8"], [0x7F, 0x80, 0x01], [57344, None, 2**-17]),
        (FP4, list(range(8)), [0, 0.5, 1, 1.5, 2, 3, 4, 6]),
    ],
)
def test_small_formats(form: SmallFloat, codes: list[int], values: list[float | None]):
    """Largest, special and smallest values, as the formats' definitions list them."""
    table = form.values()
    for code, value in zip(codes, values, strict=True):
        assert np.isnan(table[code]) if value is None else table[code] == value
