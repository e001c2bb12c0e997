# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each matrix instruction against sums over the elements that the ISA places in the lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.matrix_instructions import (
    MatrixShape,
    mfma_shapes,
    smfmac_shapes,
    xf32_shapes,
)
from bankwise.emulator.emulation_errors import EmulationError
from bankwise.emulator.executor import Program
from bankwise.emulator.small_floats import BF6, E8M0_VALUES, FP4, FP6, SmallFloat, fp8_formats
from bankwise.emulator.step import BuildContext

from .small_kernels import LANES, kernel, machine_of, run, undefined_bits

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


# The formats of f8f6f4, by the numbers that cbsz and blgp have for them.
NARROW = {
    0: (ml_dtypes.float8_e4m3fn, 8),
    1: (ml_dtypes.float8_e5m2, 8),
    2: (ml_dtypes.float6_e2m3fn, 6),
    3: (ml_dtypes.float6_e3m2fn, 6),
    4: (ml_dtypes.float4_e2m1fn, 4),
}


class NarrowFactor:
    """A random matrix [rows, k] in a format of f8f6f4, in f64 and in the registers of a wave."""

    def __init__(self, code: int, rows: int, k: int) -> None:
        dtype, self.bits = NARROW[code]
        every = np.arange(1 << self.bits, dtype=np.uint8)
        values = every.view(dtype).astype(np.float64)
        # No more digits than sums in f64 hold exactly.
        usual = every[(np.abs(values) >= 0.125) & (np.abs(values) <= 60)]
        self.codes = RANDOM.choice(usual, (rows, k))
        self.values = values[self.codes]

    def words(self) -> Matrix:
        """Returns [registers, lanes]; elements lie as the tables of AMD's Composable Kernel say."""
        rows = len(self.codes)
        if self.bits == 8:
            runs = self.codes.reshape(rows, 2, 64 // rows, 16).transpose(2, 0, 1, 3)
        else:
            runs = self.codes.reshape(rows, 64 // rows, 32).swapaxes(0, 1)
        bits = np.unpackbits(runs.reshape(64, 32, 1), axis=-1, bitorder="little")[..., : self.bits]
        octets = np.packbits(bits.reshape(64, -1), axis=-1, bitorder="little")
        return octets.view(np.uint32).T


@pytest.mark.parametrize("a_code", NARROW)
@pytest.mark.parametrize("b_code", NARROW)
@pytest.mark.parametrize("size", ["16x16x128", "32x32x64"])
@pytest.mark.parametrize("scaled", [False, True])
def test_narrow_formats_in_every_pair(a_code: int, b_code: int, size: str, scaled: bool):
    rows, _, k = (int(each) for each in size.split("x"))
    a, b = NarrowFactor(a_code, rows, k), NarrowFactor(b_code, rows, k)
    wide_a, wide_b = a.values, b.values
    vectors = dict(enumerate([*a.words(), *b.words()]))
    at, end = registers("v", 0, a.bits), registers("v", a.bits, b.bits)
    name, operands = f"v_mfma_f32_{size}_f8f6f4", f"v[40:{39 + rows * rows // 64}], {at}, {end}, 0"
    if scaled:
        name = name.replace("mfma", "mfma_scale")
        scales = RANDOM.integers(124, 131, (2, rows, k // 32))
        wide_a, wide_b = (
            values * np.exp2(each - 127.0).repeat(32, axis=1)
            for values, each in zip((wide_a, wide_b), scales, strict=True)
        )
        # Byte 1 of v20 and byte 2 of v21; the other bytes are no scales of this instruction.
        others = RANDOM.integers(0, 2**32, (2, 64)) & np.array([[0xFFFF00FF], [0xFF00FFFF]])
        held = scales.swapaxes(1, 2).reshape(2, 64) << np.array([[8], [16]])
        vectors.update(zip((20, 21), (others | held).astype(np.uint32), strict=True))
        operands += ", v20, v21 op_sel:[1,0,0] op_sel_hi:[0,1,0]"
    machine = run(
        f"\t{name} {operands} cbsz:{a_code} blgp:{b_code}", arch="gfx950", vectors=vectors
    )
    shape = mfma_shapes("gfx950")[f"v_mfma_f32_{size}_f8f6f4"]
    result = machine.vgpr[40 : 40 + rows * rows // 64, 0].T.view(np.float32)
    expected = (wide_a @ wide_b.T).astype(np.float32)
    np.testing.assert_array_equal(result[result_places(shape)][0], expected)


def test_scales_that_are_one_for_all_lanes():
    """A scalar register, a constant, and the exponent that is no number."""
    code = "\tv_mfma_scale_f32_16x16x128_f8f6f4 v[20:23], v[2:5], v[2:5], 0, {}, {} cbsz:4 blgp:4"
    ones = dict.fromkeys(range(2, 6), 0x22222222)
    for a, b, each in (("s8", "64", 2.0 ** (8 - 63)), ("64", "s9", np.nan)):
        scalars = {8: 127 + 8, 9: 255}
        machine = run(code.format(a, b), arch="gfx950", vectors=ones, scalars=scalars)
        np.testing.assert_array_equal(machine.vgpr[20:24, 0].view(np.float32), 128 * each)


SCALED = "f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[10:17], 0"


@pytest.mark.parametrize(
    ("arch", "code", "reason"),
    [
        ("gfx942", "v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], 0", "on gfx942"),
        ("gfx942", "v_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[8:9], 0", "xf32"),
        ("gfx942", "v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, 0 cbsz:1", "no model of cbsz"),
        ("gfx942", "v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, 0 blgp:2", "no model of blgp"),
        ("gfx950", "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:9], v[10:15], 0 cbsz:5", "no format"),
        ("gfx950", "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:9], v[10:17], 0", "8 vector"),
        ("gfx942", f"v_mfma_scale_{SCALED}, v18, v19", "on gfx942"),
        ("gfx950", f"v_mfma_scale_{SCALED}, v18, v19 op_sel:[0,0,1]", "a bit for each scale"),
        ("gfx942", "v_mfma_f32_16x16x4_f32 v[0:3], v[4:5], v5, 0", "1 vector register is"),
    ],
)
def test_forms_that_are_not_modelled_are_refused(arch: str, code: str, reason: str):
    with pytest.raises(EmulationError, match=reason):
        run(f"\t{code}", arch=arch)


@pytest.mark.parametrize("name", [*xf32_shapes("gfx942"), "v_mfma_f32_16x16x8xf32"])
def test_xf32_is_rounded_as_is_assumed(name: str):
    """The factors are the nearest numbers with 11 significant bits."""
    shape = xf32_shapes("gfx942")[name.replace("8xf32", "8_xf32")]
    count = shape.m * shape.n // 64
    parsed = kernel(f"\t{name} v[8:{7 + count}], v[0:1], v[2:3], 0")
    machine = machine_of(parsed)
    factors = RANDOM.standard_normal((2, shape.m, shape.k)).astype(np.float32)
    row, k = np.arange(shape.m)[:, None], np.arange(shape.k)[None]
    place = factor_place(shape, shape.m, row, k, 0 * row)
    for first, factor in zip((0, 2), factors, strict=True):
        for index, words in enumerate(in_lanes(place, factor).view(np.uint32).T):
            machine.define_vector(first + index, words[None].copy())
    Program(BuildContext(parsed, lds_of("gfx942"), assume_xf32=True)).run(machine)
    significand, exponent = np.frexp(factors.astype(np.float64))
    a, b = np.ldexp(np.rint(significand * 2048) / 2048, exponent)
    expected = in_lanes(result_places(shape), (a @ b.T).astype(np.float32)[None])
    found = machine.vgpr[8 : 8 + count, 0].view(np.float32).T
    np.testing.assert_array_equal(found, expected)


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
    ("form", "dtype"),
    [
        (fp8_formats("gfx950")["fp8"], ml_dtypes.float8_e4m3fn),
        (fp8_formats("gfx950")["bf8"], ml_dtypes.float8_e5m2),
        (fp8_formats("gfx942")["fp8"], ml_dtypes.float8_e4m3fnuz),
        (fp8_formats("gfx942")["bf8"], ml_dtypes.float8_e5m2fnuz),
        (FP6, ml_dtypes.float6_e2m3fn),
        (BF6, ml_dtypes.float6_e3m2fn),
        (FP4, ml_dtypes.float4_e2m1fn),
    ],
)
def test_small_formats(form: SmallFloat, dtype: Any):
    every = np.arange(1 << form.bits, dtype=np.uint8).view(dtype).astype(np.float64)
    np.testing.assert_array_equal(form.values(), every)


def test_scales_are_e8m0():
    every = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    np.testing.assert_array_equal(E8M0_VALUES, every)
