# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix instructions (`v_mfma_*`, `v_smfmac_*`): D = A B + C on blocks that are spread over the
lanes of a wave.

Which lane holds which element is told in `bank_model/matrix_instructions.py`. `cbsz` and `blgp`
name the formats of A and B in the instructions on f8f6f4, with 8, 6 or 4 bits, which may differ.

`v_mfma_scale_*` multiplies 32 consecutive k of a row of A, and of a column of B, with a power of
two. `_scales` explains where these powers lie.

Sparse instructions (`v_smfmac_*`) hold two of every four consecutive elements of a row of A, and a
register of 2-bit numbers says which two. `_multiply_sparse` explains where these numbers lie.

Numerics: products of the narrow types are exact in f64; their sum with C is formed in f64, and
rounded once to the type of D. That is at least as exact as the hardware, whose order of summation
is not documented. Integers are exact, and wrap. Denormals are kept. EXEC is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..bank_model.matrix_instructions import WAVE as LANES
from ..bank_model.matrix_instructions import MatrixShape, mfma_shapes, smfmac_shapes, xf32_shapes
from .emulation_errors import UnknownInstructionError
from .instruction_text import AssemblyError, Instruction, Literal, Operand, Register
from .operands import literal_bits, vector_registers, vector_source
from .small_floats import BF6, E8M0_VALUES, FP4, FP6, SmallFloat, fp8_formats
from .step import BuildContext, Step
from .wave_state import WaveGroup

if TYPE_CHECKING:
    from .compiled.matrix_code import MatrixCode

U32 = npt.NDArray[np.uint32]
F64 = npt.NDArray[np.float64]
Array = npt.NDArray[Any]


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a matrix instruction; None for any other."""
    name = instruction.mnemonic
    if not name.startswith(("v_mfma_", "v_smfmac_")):
        return None
    sparse = name.startswith("v_smfmac_")
    known = smfmac_shapes if sparse else mfma_shapes
    # The scaled instructions have the shapes of those without scales.
    shapes = known(context.arch) | xf32_shapes(context.arch)
    shape = shapes.get(name.replace("v_mfma_scale_", "v_mfma_")) or _shape_by_old_name(name, shapes)
    if shape is None:
        raise UnknownInstructionError(
            instruction, f"the emulator does not know '{name}' on {context.arch}"
        )
    if shape.source == "xf32" and not context.assume_xf32:
        raise UnknownInstructionError(
            instruction,
            "how xf32 is rounded is not documented; --assume-xf32 takes it for the nearest number "
            "with 10 bits behind the point",
        )
    formats = _formats(context, instruction, shape, () if sparse else ("cbsz", "abid"))
    if name.startswith("v_mfma_scale_"):
        return _multiply_scaled(instruction, shape, *formats)
    return (_multiply_sparse if sparse else _multiply)(instruction, shape, *formats)


_OLD_NAME = re.compile(r"v_mfma_([fi]\d+)_(\d+)x(\d+)x(\d+)(bf16|x?f\d+|i8)(_1k)?$")


def _shape_by_old_name(name: str, shapes: Mapping[str, MatrixShape]) -> MatrixShape | None:
    """Returns the shape of an instruction by the name that it has on CDNA2, without blocks.

    CDNA3 and later take these names too. Of bf16, CDNA2 has instructions with two k in a lane, and
    others named `_1k` with four, which are the ones that came later.
    """
    found = _OLD_NAME.match(name)
    if found is None:
        return None
    result, m, n, k, source, four = found.groups()
    fitting = [
        shape
        for shape in shapes.values()
        if (shape.result, shape.source) == (result, source)
        and (shape.m, shape.n, shape.k) == (int(m), int(n), int(k))
    ]
    # The largest number of blocks is that with four k in a lane.
    fitting.sort(key=lambda shape: shape.blocks, reverse=bool(four))
    return fitting[0] if fitting else None


@dataclass(frozen=True)
class Format:
    """How registers hold elements.

    Attributes:
        bits: the width of an element.
        kind: the type that u32 words are viewed as.
        values: turns an array of that type into the elements in f64. Where several elements begin
            in one number of that type, it makes the last axis longer.
        run: how many consecutive k a lane holds before it goes on further behind; 0 is all of them.
    """

    bits: int
    kind: type[np.generic]
    values: Callable[[Array], F64]
    run: int = 0

    @property
    def packed(self) -> bool:
        """Returns whether elements are narrower than a number of the type `kind`."""
        return self.bits < 8 * np.dtype(self.kind).itemsize


def _formats(
    context: BuildContext, instruction: Instruction, shape: MatrixShape, refused: tuple[str, ...]
) -> tuple[Format, Format]:
    """Returns the formats of A and B.

    Modifiers that change where elements come from are refused: those in `refused`, and `blgp`, for
    all types but `f8f6f4`.
    """
    small = fp8_formats(context.arch)
    if shape.source == "f8f6f4":
        a, b = (_narrow_format(instruction, name, small) for name in ("cbsz", "blgp"))
        return a, b
    for modifier in (*refused, "blgp"):
        if instruction.integer(modifier):
            raise UnknownInstructionError(
                instruction, f"no model of {modifier} on this instruction"
            )
    if "8_" in shape.source:
        a, b = (small_format(small[name]) for name in shape.source.split("_"))
        return a, b
    plain = PLAIN_FORMATS[shape.source]
    return plain, plain


def _narrow_format(
    instruction: Instruction, modifier: str, small: Mapping[str, SmallFloat]
) -> Format:
    """Returns the format that `cbsz` or `blgp` names for an operand on f8f6f4.

    The numbers are those of the CDNA4 ISA, and of `MFMAScaleFormats` in LLVM.
    """
    code = instruction.integer(modifier)
    if code in (0, 1):
        return replace(small_format(small[("fp8", "bf8")[code]]), run=16)
    if code in (2, 3):
        return _sixes_format((FP6, BF6)[code - 2])
    if code == 4:
        return paired_format(FP4.values())
    raise AssemblyError(f"{modifier}:{code} names no format of f8f6f4")


def small_format(form: SmallFloat) -> Format:
    """Returns the format of floats of 8 bits."""
    return Format(8, np.uint8, form.values().take)


def paired_format(values: Array) -> Format:
    """Returns the format of the 16 numbers of 4 bits, two in a byte with the first one in the low
    half."""
    pairs = np.stack([values[np.arange(256) & 15], values[np.arange(256) >> 4]], axis=-1)
    return Format(4, np.uint8, lambda octets: pairs[octets].reshape(*octets.shape[:-1], -1))


def _sixes_format(form: SmallFloat) -> Format:
    """Returns a format of 6 bits: 32 elements, one behind the other, fill six words.

    Worked example: element 5 begins with bit 30. Its two low bits are the highest ones of word 0,
    its four high bits the lowest ones of word 1.
    """
    table = form.values()
    word, shift = np.divmod(6 * np.arange(32), 32)
    behind = np.minimum(word + 1, 5)

    def values(words: Array) -> F64:
        lanes = words.reshape(*words.shape[:-2], 6)
        low = lanes[..., word].astype(np.uint64)
        both = low | lanes[..., behind].astype(np.uint64) << np.uint64(32)
        return table[(both >> shift.astype(np.uint64) & np.uint64(63)).astype(np.intp)]

    return Format(6, np.uint32, values)


def _to_f64(values: Array) -> F64:
    return values.astype(np.float64, order="C")


def _bf16_to_f64(bits: Array) -> F64:
    words = bits.astype(np.uint32, order="C") << np.uint32(16)
    return words.view(np.float32).astype(np.float64)


def _xf32_to_f64(values: Array) -> F64:
    """Returns f32 as 10 bits behind the point hold it: the nearest such number, ties to even.

    That is an assumption, as no document says it of the hardware.
    """
    bits = values.view(np.uint32)
    rounded = bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1)) & np.uint32(
        0xFFFFE000
    )
    return np.where(np.isfinite(values), rounded.view(np.float32), values).astype(np.float64)


PLAIN_FORMATS = {
    "xf32": Format(32, np.float32, _xf32_to_f64),
    "f32": Format(32, np.float32, _to_f64),
    "f16": Format(16, np.float16, _to_f64),
    "bf16": Format(16, np.uint16, _bf16_to_f64),
    "i8": Format(8, np.int8, _to_f64),
    "f64": Format(64, np.float64, np.ascontiguousarray),
}


def _multiply(
    instruction: Instruction, shape: MatrixShape, a_format: Format, b_format: Format
) -> Step:
    destination, a, b, c = instruction.operands
    read_a = _factor(a, shape.m, shape, a_format, transposed=False)
    read_b = _factor(b, shape.n, shape, b_format, transposed=True)
    read_c = _addend(c, shape)
    write = _result(destination, shape)
    code = _code(instruction, shape, a_format, b_format)

    def step(group: WaveGroup) -> None:
        if code is None or not code(group):
            write(group, np.matmul(read_a(group), read_b(group)), read_c(group))

    return step


_WAVES_BEFORE_CODE = 2000
_waves: dict[MatrixShape, int] = {}
"""How many waves have formed the products of a shape."""


def _code(
    instruction: Instruction, shape: MatrixShape, a_format: Format, b_format: Format
) -> Callable[[WaveGroup], bool] | None:
    """Returns a function that multiplies by machine code; None where there can be none.

    The function returns whether it has done it. At first it does not: to compile takes as long as
    some thousand waves do.
    """
    destination, a, b, c = instruction.operands
    made_alike = a_format is b_format is PLAIN_FORMATS.get(shape.source)
    if shape.result != "f32" or not made_alike or shape.n < 16 or isinstance(c.value, Literal):
        return None
    bits, count = a_format.bits, _result_registers(shape)
    factors = [
        vector_registers(operand, rows * shape.k * shape.blocks // LANES * bits // 32)
        for operand, rows in ((a, shape.m), (b, shape.n))
    ]
    registers = [*factors, vector_registers(c, count)]
    target = vector_registers(destination, count)

    def multiply(group: WaveGroup) -> bool:
        _waves[shape] = waves = _waves.get(shape, 0) + group.count
        if waves < _WAVES_BEFORE_CODE or not group.machine.compiles:
            return False
        code = _matrix_code(shape)
        if code is None:
            return False
        index = group.machine.vector_index
        words = [group.block(index(each), each.count, every_lane=True) for each in registers]
        sums = code.sums(*words)
        if sums is not None:
            lanes = None if group.active is None else np.ones((group.count, LANES), bool)
            group.set_block(index(target), sums, lanes)
        return sums is not None

    return multiply


@cache
def _matrix_code(shape: MatrixShape) -> MatrixCode | None:
    """Returns the machine code of a product of plain floats; None where it cannot be compiled."""
    from .compiled.machine_code import available
    from .compiled.matrix_code import PARTS, MatrixCode, Product

    if shape.source not in PARTS or not available():
        return None
    a, b = (
        _element_places(rows, shape, PLAIN_FORMATS[shape.source], transposed=transposed)
        for rows, transposed in ((shape.m, False), (shape.n, True))
    )
    parts = PARTS[shape.source]
    every = np.arange(shape.blocks * shape.m * shape.n)
    lanes = _in_lanes(every, shape).reshape(-1, LANES)[:, ::16]
    block, rest = np.divmod(lanes, shape.m * shape.n)
    row, column = np.divmod(rest, shape.n)
    return MatrixCode(
        Product(
            *(shape.source, a.size // (LANES * parts), b.size // (LANES * parts)),
            *((a[0, 0] - a[0, 0, 0]).tolist(), (b[0, :, 0] - b[0, 0, 0]).tolist()),
            *(a[block, row, 0], b[block, 0, column]),
        )
    )


def _element_places(
    rows: int, shape: MatrixShape, form: Format, *, transposed: bool
) -> npt.NDArray[np.int64]:
    """Returns the places of the elements of A or B, in the order of `_factor`.

    They are [blocks, M, K] or [blocks, K, N]. What a place is `compiled/matrix_code.py` says.
    """
    inside, order = _axes(rows, shape, form, transposed)
    places = np.arange(rows * shape.k * shape.blocks).reshape((*inside[:2], 1, *inside[3:]))
    parts = 32 // form.bits
    lane, part = np.divmod(places, parts)
    register, lane = np.divmod(lane, LANES)
    lines = (shape.k, rows) if transposed else (rows, shape.k)
    found = (register * parts + part) * LANES + lane
    return found.transpose(order).reshape(shape.blocks, *lines)


def _multiply_scaled(
    instruction: Instruction, shape: MatrixShape, a_format: Format, b_format: Format
) -> Step:
    destination, a, b, c, a_scale, b_scale = instruction.operands
    read_a = _scaled_lines(instruction, (a, a_scale), 0, shape, a_format)
    read_b = _scaled_lines(instruction, (b, b_scale), 1, shape, b_format)
    read_c = _addend(c, shape)
    write = _result(destination, shape)

    def step(group: WaveGroup) -> None:
        product = np.matmul(read_a(group), read_b(group).swapaxes(-1, -2))
        write(group, product, read_c(group))

    return step


SCALED = 32
"""How many consecutive k have one scale."""


def _scaled_lines(
    instruction: Instruction,
    operands: tuple[Operand, Operand],
    number: int,
    shape: MatrixShape,
    form: Format,
) -> Callable[[WaveGroup], F64]:
    """Reads A (`number` 0) or B transposed (1), times its scales, [n, 1, M, K] in f64."""
    factor, scale = operands
    rows = (shape.m, shape.n)[number]
    read = _factor(factor, rows, shape, form, transposed=False)
    read_scales = _scales(instruction, scale, number, rows)

    def scaled(group: WaveGroup) -> F64:
        values = read(group)
        parts = values.reshape(group.count, rows, -1, SCALED) * read_scales(group)[..., None]
        return parts.reshape(values.shape)

    return scaled


def _scales(
    instruction: Instruction, operand: Operand, number: int, rows: int
) -> Callable[[WaveGroup], F64]:
    """Reads the scales of an operand as [n, M, K / 32], in f64.

    Lane `i + M q` holds that of the k from 32 q to 32 q + 31 of row i, whichever lanes hold these
    elements, as the exponent of a power of two (E8M0, whose 255 is NaN). It is one byte of a
    register: bit `number` of `op_sel` is the low bit of the byte's number, that of `op_sel_hi` the
    high one. Sources: the tables in `test/mx_mfma_op` of AMD's Composable Kernel, which run on the
    hardware; `chooseScaledMfmaScaleLayout` of Triton; AMD's emulator rocjitsu.

    Worked example, 16x16x128 on 8-bit types: A[3, 20] is element 4 of lane 19, and its scale is
    that of k = 0..31, in lane 3.
    """
    bits = [instruction.integers(name, (0, 0, 0)) for name in ("op_sel", "op_sel_hi")]
    if any(len(each) != 3 or each[2] or max(each) > 1 for each in bits):
        raise AssemblyError("op_sel and op_sel_hi of a scaled product have a bit for each scale")
    shift = np.uint32(8 * (bits[0][number] + 2 * bits[1][number]))
    words = _every_lane(operand)

    def read(group: WaveGroup) -> F64:
        octets = words(group) >> shift & np.uint32(0xFF)
        lanes = np.broadcast_to(E8M0_VALUES.take(octets), (group.count, LANES))
        return lanes.reshape(group.count, -1, rows).swapaxes(-1, -2)

    return read


def _every_lane(operand: Operand) -> Callable[[WaveGroup], Array]:
    """Reads a word of each lane, active or not, from any kind of operand."""
    if not isinstance(operand.value, Register) or operand.value.file == "s":
        return vector_source(operand, "b32")
    register = vector_registers(operand, 1)
    return lambda group: group.block(group.machine.vector_index(register), 1, every_lane=True)[0]


def _result(destination: Operand, shape: MatrixShape) -> Callable[[WaveGroup, F64, Array], None]:
    """Writes the sum of a product [n, blocks, M, N] and an addend, whatever EXEC says."""
    add_to_lanes = _add_to_lanes(shape)
    first = vector_registers(destination, _result_registers(shape))

    def write(group: WaveGroup, product: F64, addend: Array) -> None:
        words = _round(add_to_lanes(product, addend), shape)
        lanes = None if group.active is None else np.ones((group.count, LANES), bool)
        group.set_block(group.machine.vector_index(first), words, lanes)

    return write


def _multiply_sparse(
    instruction: Instruction, shape: MatrixShape, a_format: Format, b_format: Format
) -> Step:
    """Returns the step of D = A B + D, where A is sparse.

    A holds two of every four elements of its rows of length K.

    Element c of the K / 2 that are there is element 4 (c // 2) + index of the whole row. A lane
    holds E of them, and their E indices of 2 bits in consecutive bits of the index register, the
    first element's lowest. The register has room for 16 / E such sets, of which `abid` names one,
    and the first counts where `cbsz` is not 0 (CDNA3 ISA, 7.2; AMD's matrix instruction calculator
    prints the places; llvm/llvm-project 193541 says the same of the longer rows of CDNA4).

    Worked example: v_smfmac_f32_16x16x32_f16 has E = 4. Lane 17 holds the elements c = 4..7 of row
    1; with the indices 0, 3, 1, 2 these are A[1, 8], A[1, 11], A[1, 13] and A[1, 14].
    """
    destination, a, b, index = instruction.operands
    compressed = shape._replace(k=shape.k // 2)
    read_a = _factor(a, shape.m, compressed, a_format, transposed=False)
    read_b = _factor(b, shape.n, shape, b_format, transposed=True)
    read_c = _addend(destination, shape)
    read_index = _sparse_indices(instruction, index, compressed)
    write = _result(destination, shape)

    def step(group: WaveGroup) -> None:
        # Elements of B that no index names take no part, be they infinite.
        waves = np.arange(group.count)[:, None, None]
        picked = read_b(group)[:, 0][waves, read_index(group)]
        product = np.matmul(read_a(group)[:, 0, :, None, :], picked)[:, None, :, 0]
        write(group, np.ascontiguousarray(product), read_c(group))

    return step


def _sparse_indices(
    instruction: Instruction, operand: Operand, compressed: MatrixShape
) -> Callable[[WaveGroup], npt.NDArray[np.intp]]:
    """Reads the columns of the elements of A in the whole rows, [n, M, K] of `compressed`."""
    elements = compressed.m * compressed.k // LANES
    sets = 16 // elements
    abid = instruction.integer("abid")
    chosen = 0 if instruction.integer("cbsz") else abid
    if not 0 <= chosen < sets:
        raise AssemblyError(f"abid:{chosen} where the index register has {sets} sets of indices")
    register = vector_registers(operand, 1)
    shifts = (2 * (elements * chosen + np.arange(elements))).astype(np.uint32)
    start = 4 * (np.arange(compressed.k) // 2)

    def read(group: WaveGroup) -> npt.NDArray[np.intp]:
        (words,) = group.block(group.machine.vector_index(register), 1, every_lane=True)
        fields = words.reshape(group.count, -1, compressed.m, 1) >> shifts & np.uint32(3)
        by_row = fields.swapaxes(1, 2).reshape(group.count, compressed.m, compressed.k)
        return by_row.astype(np.intp) + start

    return read


def _result_registers(shape: MatrixShape) -> int:
    return shape.m * shape.n * shape.blocks // LANES * (2 if shape.result == "f64" else 1)


def _factor(
    operand: Operand, rows: int, shape: MatrixShape, form: Format, transposed: bool
) -> Callable[[WaveGroup], F64]:
    """Reads A as [n, blocks, M, K], or with `transposed` B as [n, blocks, K, N], in f64.

    The registers are [runs, registers of a run, n, parts of K, blocks, rows], and each word holds
    elements.
    """
    elements = rows * shape.k * shape.blocks // LANES
    registers = elements * form.bits // 32
    register = vector_registers(operand, registers)
    # Only the order of A keeps last what `values` makes longer.
    turned = transposed and form.packed
    inside, order = _axes(rows, shape, form, transposed and not turned)
    lines = (shape.k, rows) if transposed and not turned else (rows, shape.k)
    size = (shape.blocks, *lines)

    def read(group: WaveGroup) -> F64:
        words = group.block(group.machine.vector_index(register), registers, every_lane=True)
        words = _join(words) if form.bits == 64 else np.ascontiguousarray(words)
        axes = (*inside[:2], group.count, *inside[3:])
        # Conversions copy anyhow, so that turning the axes before costs no further copy.
        turned_words = words.view(form.kind).reshape(axes).transpose(order)
        values = np.ascontiguousarray(form.values(turned_words)).reshape(group.count, *size)
        return values.swapaxes(-1, -2) if turned else values

    return read


def _axes(
    rows: int, shape: MatrixShape, form: Format, transposed: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the axes of a factor's registers, and their order as [n, blocks, M, K].

    With `transposed` it is [n, blocks, K, N]. The axis of waves has -2 elements.
    """
    runs = rows * shape.k * shape.blocks // LANES // form.run if form.run else 1
    per_word = max(32, form.bits) // 8 // np.dtype(form.kind).itemsize
    parts = LANES // (rows * shape.blocks)
    inside = (runs, -1, -2, parts, shape.blocks, rows, per_word)
    return inside, (2, 4, 0, 3, 1, 6, 5) if transposed else (2, 4, 5, 0, 3, 1, 6)


def _join(words: U32) -> npt.NDArray[np.uint64]:
    """Joins pairs of registers [2 count, ...] to u64 [count, ...]."""
    return words[0::2].astype(np.uint64) | words[1::2].astype(np.uint64) << np.uint64(32)


def _split(bits: npt.NDArray[np.uint64]) -> U32:
    """Splits u64 into pairs of registers; the reverse of `_join`."""
    halves = np.stack([bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)], axis=1)
    return halves.reshape(-1, *bits.shape[1:])


def _addend(operand: Operand, shape: MatrixShape) -> Callable[[WaveGroup], Array]:
    """Reads C as it lies in its registers, [elements of a lane, n, 64] in f64, or as one number."""
    kind = {"f32": np.float32, "i32": np.int32, "f64": np.float64}[shape.result]
    if isinstance(operand.value, Literal):
        bits = literal_bits(operand.value.value, {"i32": "b32"}.get(shape.result, shape.result))
        raw = np.array(bits, np.uint64 if shape.result == "f64" else np.uint32)
        number = raw.view(kind).astype(np.float64)
        return lambda group: number
    count = _result_registers(shape)
    register = vector_registers(operand, count)

    def read(group: WaveGroup) -> Array:
        words = group.block(group.machine.vector_index(register), count, every_lane=True)
        values = (_join(words) if shape.result == "f64" else words).view(kind)
        return values.astype(np.float64, copy=False)

    return read


def _round(total: F64, shape: MatrixShape) -> U32:
    """Rounds f64 [elements of a lane, n, 64] to registers of the result type."""
    if shape.result == "f64":
        return _split(total.view(np.uint64))
    if shape.result == "i32":
        return total.astype(np.int64).astype(np.uint32)
    return total.astype(np.float32).view(np.uint32)


def _add_to_lanes(shape: MatrixShape) -> Callable[[F64, Array], F64]:
    """Returns a function that adds D [n, blocks, M, N] and the addend in the elements of each lane.

    The addend and the sums are [elements, n, 64].
    """

    def add(product: F64, addend: Array) -> F64:
        lanes = _in_lanes(product, shape)
        total = np.empty(lanes.shape)
        np.add(lanes, addend.reshape(lanes.shape) if addend.ndim else addend, out=total)
        return total.reshape(_result_elements(shape), -1, LANES)

    return add


def _result_elements(shape: MatrixShape) -> int:
    return shape.m * shape.n * shape.blocks // LANES


def _in_lanes(product: Array, shape: MatrixShape) -> Array:
    """Turns the axes of D [n, blocks, M, N] so that it is [elements, n, 64] in that order."""
    h, beside, near = shape.row_group, shape.groups_beside, shape.blocks_beside
    far, groups = shape.blocks // near, shape.m // (h * beside)
    tiles = product.reshape(-1, far, near, groups, beside, h, shape.n)
    return tiles.transpose(1, 3, 5, 0, 4, 2, 6)
