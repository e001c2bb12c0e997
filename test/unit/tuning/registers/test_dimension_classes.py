# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which digits of vector indices are the same, which form classes, and what pins them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from iree.compiler import ir

from bankwise.tuning.registers.dimension_classes import (
    ClassKind,
    DigitNames,
    DimensionClass,
    DimensionClasses,
    dimension_classes,
)

from ...functions import Parsed, parse


def access(shape: str) -> tuple[str, str]:
    """Returns the indices and the attributes of a transfer of a whole memory."""
    rank = len(shape.split("x"))
    return ", ".join(["%c0"] * rank), f"{{in_bounds = [{', '.join(['true'] * rank)}]}}"


def read(name: str, shape: str, kind: str = "f32") -> str:
    """Reads %name from the memory %name_memory."""
    zeros, bounds = access(shape)
    return (
        f"%{name} = vector.transfer_read %{name}_memory[{zeros}], %pad_{kind} {bounds} "
        f": memref<{shape}x{kind}>, vector<{shape}x{kind}>"
    )


def write(value: str, name: str, shape: str, kind: str = "f32") -> str:
    """Writes %value to the memory %name_memory."""
    zeros, bounds = access(shape)
    return (
        f"vector.transfer_write %{value}, %{name}_memory[{zeros}] {bounds} "
        f": vector<{shape}x{kind}>, memref<{shape}x{kind}>"
    )


@dataclass(frozen=True)
class Found:
    """The classes of a function, whose memories are asked for by name."""

    parsed: Parsed
    classes: DimensionClasses
    memories: tuple[str, ...]

    def names(self, memory: str) -> DigitNames:
        """Returns the digits of the vector that is read from or written to a memory."""
        (found,) = (
            transfer.names
            for transfer in self.classes.transfers
            if self.memories[ir.BlockArgument(transfer.memory).arg_number] == memory
        )
        return found

    def of(self, digit: int) -> DimensionClass:
        """Returns the class of a digit."""
        (found,) = (each for each in self.classes.classes if digit in each.digits)
        return found

    def kinds(self, memory: str) -> list[list[ClassKind]]:
        """Returns the kind of every digit of the vector."""
        return [[self.of(digit).kind for digit in row] for row in self.names(memory)]

    def pins(self) -> set[str]:
        """Returns the reasons for which classes are pinned."""
        return {each.pinned.reason for each in self.classes.classes if each.pinned}


def found_in(*lines: str) -> Found:
    """Returns the classes of a function that gets the memories that its lines access."""
    body = "\n".join(lines)
    memories = dict(re.findall(r"%(\w+)_memory\[.*?: .*?(memref<\w+>)", body))
    given = ", ".join(f"%{name}_memory: {kind}" for name, kind in memories.items())
    text = f"""
func.func @f({given}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad_f32 = arith.constant 0.0 : f32
  %pad_f16 = arith.constant 0.0 : f16
  {body}
  return
}}"""
    parsed = parse(text)
    return Found(parsed, dimension_classes(parsed.function), tuple(memories))


FREE, REDUCED, CONTRACTED = ClassKind.FREE, ClassKind.REDUCED, ClassKind.CONTRACTED


def test_a_transpose_exchanges_dimensions() -> None:
    found = found_in(
        read("a", "4x8"),
        "%t = vector.transpose %a, [1, 0] : vector<4x8xf32> to vector<8x4xf32>",
        write("t", "b", "8x4"),
    )
    rows, columns = found.names("a")
    assert found.names("b") == (columns, rows)
    assert {each.digits for each in found.classes.classes} == {frozenset(rows), frozenset(columns)}
    assert found.kinds("a") == [[FREE] * 2, [FREE] * 3]
    assert not found.pins()


def test_a_shape_cast_keeps_digits_also_of_odd_sizes() -> None:
    found = found_in(
        read("a", "12x8"),
        "%s = vector.shape_cast %a : vector<12x8xf32> to vector<3x4x8xf32>",
        write("s", "b", "3x4x8"),
    )
    rows, columns = found.names("a")
    assert found.names("b") == ((rows[2],), rows[:2], columns)
    # The digit of base 3 is no part of a class, and the others stay in their dimensions.
    assert {each.digits for each in found.classes.classes} == {
        frozenset(rows[:2]),
        frozenset(columns),
    }
    assert not found.pins()


def test_a_shape_cast_that_cuts_a_digit_pins() -> None:
    found = found_in(
        read("a", "4x3x8"),
        "%s = vector.shape_cast %a : vector<4x3x8xf32> to vector<12x8xf32>",
        write("s", "b", "12x8"),
    )
    assert found.pins() == {"a shape cast cuts through the digits of an index"}
    assert all(each.pinned for each in found.classes.classes)


def test_a_broadcast_tells_kept_digits_from_repeated_ones() -> None:
    found = found_in(
        read("a", "8"),
        "%w = vector.broadcast %a : vector<8xf32> to vector<4x8xf32>",
        "%s = vector.shape_cast %w : vector<4x8xf32> to vector<32xf32>",
        write("s", "b", "32"),
    )
    ((*kept,), (written,)) = found.names("a")[0], found.names("b")
    assert written[:3] == tuple(kept)
    # In the memory they are digits of one index; the broadcast alone tells them apart.
    assert {each.digits for each in found.classes.classes} == {
        frozenset(written[:3]),
        frozenset(written[3:]),
    }


def test_a_broadcast_stretches_a_dimension_of_one() -> None:
    found = found_in(
        read("a", "4x1"),
        "%w = vector.broadcast %a : vector<4x1xf32> to vector<4x8xf32>",
        write("w", "b", "4x8"),
    )
    assert found.names("a") == (found.names("b")[0], ())


def test_a_reduction_tells_kept_digits_from_reduced_ones() -> None:
    found = found_in(
        read("a", "32"),
        "%s = vector.shape_cast %a : vector<32xf32> to vector<4x8xf32>",
        "%zero = arith.constant dense<0.0> : vector<8xf32>",
        "%r = vector.multi_reduction <add>, %s, %zero [0] : vector<4x8xf32> to vector<8xf32>",
        write("r", "b", "8"),
    )
    (digits,) = found.names("a")
    assert found.names("b") == (digits[:3],)
    assert found.kinds("a") == [[FREE] * 3 + [REDUCED] * 2]
    assert found.of(digits[0]).digits == frozenset(digits[:3])
    assert found.of(digits[3]).digits == frozenset(digits[3:])


def test_a_reduced_digit_is_reduced_wherever_it_came_from() -> None:
    found = found_in(
        read("a", "4x8"),
        "%t = vector.transpose %a, [1, 0] : vector<4x8xf32> to vector<8x4xf32>",
        write("t", "b", "8x4"),
        "%zero = arith.constant dense<0.0> : vector<8xf32>",
        "%r = vector.multi_reduction <add>, %t, %zero [1] : vector<8x4xf32> to vector<8xf32>",
        write("r", "c", "8"),
    )
    assert found.kinds("b") == [[FREE] * 3, [REDUCED] * 2]
    assert found.names("c") == (found.names("b")[0],)


def test_sums_of_maxima_tell_their_digits_apart() -> None:
    """All digits are reduced in the end, but not in one operation: they must not be exchanged."""
    found = found_in(
        read("a", "32"),
        "%s = vector.shape_cast %a : vector<32xf32> to vector<4x8xf32>",
        "%low = arith.constant dense<-1.0> : vector<8xf32>",
        "%m = vector.multi_reduction <maximumf>, %s, %low [0]",
        "    : vector<4x8xf32> to vector<8xf32>",
        "%r = vector.multi_reduction <add>, %m, %pad_f32 [0] : vector<8xf32> to f32",
    )
    (digits,) = found.names("a")
    assert found.kinds("a") == [[REDUCED] * 5]
    assert found.of(digits[0]).digits == frozenset(digits[:3])
    assert found.of(digits[3]).digits == frozenset(digits[3:])


def test_a_contraction_unites_its_iterators() -> None:
    found = found_in(
        read("a", "4x8"),
        read("b", "8x16"),
        read("c", "4x16"),
        """%p = vector.contract {
            indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                             affine_map<(m, n, k) -> (m, n)>],
            iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %a, %b, %c : vector<4x8xf32>, vector<8x16xf32> into vector<4x16xf32>""",
        write("p", "d", "4x16"),
    )
    (m, k), (also_k, n) = found.names("a"), found.names("b")
    assert k == also_k
    assert found.names("c") == found.names("d") == (m, n)
    assert found.kinds("a") == [[FREE] * 2, [CONTRACTED] * 3]
    assert found.kinds("b") == [[CONTRACTED] * 3, [FREE] * 4]
    assert len({found.of(m[0]), found.of(n[0]), found.of(k[0])}) == 3


TILED = """
%sa = vector.shape_cast %a : vector<{m}x{k}xf16> to vector<{tm}x16x{tk}x16xf16>
%ta = vector.transpose %sa, [0, 2, 1, 3]
    : vector<{tm}x16x{tk}x16xf16> to vector<{tm}x{tk}x16x16xf16>
%sb = vector.shape_cast %b : vector<{k}x{n}xf16> to vector<{tk}x16x{tn}x16xf16>
%tb = vector.transpose %sb, [0, 2, 1, 3]
    : vector<{tk}x16x{tn}x16xf16> to vector<{tk}x{tn}x16x16xf16>
%sc = vector.shape_cast %c : vector<{m}x{n}xf32> to vector<{tm}x16x{tn}x16xf32>
%tc = vector.transpose %sc, [0, 2, 1, 3]
    : vector<{tm}x16x{tn}x16xf32> to vector<{tm}x{tn}x16x16xf32>
%t = iree_codegen.inner_tiled ins(%ta, %tb) outs(%tc) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                     affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>,
                      #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>>
    : vector<{tm}x{tk}x16x16xf16>, vector<{tk}x{tn}x16x16xf16> into vector<{tm}x{tn}x16x16xf32>
%tp = vector.transpose %t, [0, 2, 1, 3]
    : vector<{tm}x{tn}x16x16xf32> to vector<{tm}x16x{tn}x16xf32>
%p = vector.shape_cast %tp : vector<{tm}x16x{tn}x16xf32> to vector<{m}x{n}xf32>
"""


def tiled(tm: int, tn: int, tk: int) -> Found:
    """The product of tm x tk tiles and tk x tn tiles, of 16x16 each."""
    m, n, k = 16 * tm, 16 * tn, 16 * tk
    return found_in(
        read("a", f"{m}x{k}", "f16"),
        read("b", f"{k}x{n}", "f16"),
        read("c", f"{m}x{n}"),
        TILED.format(m=m, n=n, k=k, tm=tm, tn=tn, tk=tk),
        write("p", "d", f"{m}x{n}"),
    )


@pytest.mark.parametrize("tiles", [(4, 2, 2), (1, 2, 4), (4, 1, 2), (2, 2, 1), (3, 2, 2)])
def test_a_tiled_product_unites_its_iterators(tiles: tuple[int, int, int]) -> None:
    """A single tile has no digit that tells along which iterator it lies: that one is left."""
    found = tiled(*tiles)
    assert not found.pins()
    (m, k), (also_k, n) = found.names("a"), found.names("b")
    assert k == also_k
    assert found.names("c") == found.names("d") == (m, n)
    assert {found.of(digit).kind for digit in k} == {CONTRACTED}
    assert {found.of(digit).kind for digit in (*m[:4], *n)} == {FREE}


BATCHED = """
%sa = vector.shape_cast %a : vector<1x64x32xf16> to vector<1x4x16x2x16xf16>
%ta = vector.transpose %sa, [0, 1, 3, 2, 4]
    : vector<1x4x16x2x16xf16> to vector<1x4x2x16x16xf16>
%sb = vector.shape_cast %b : vector<1x16x32xf16> to vector<1x1x16x2x16xf16>
%tb = vector.transpose %sb, [0, 1, 3, 4, 2]
    : vector<1x1x16x2x16xf16> to vector<1x1x2x16x16xf16>
%sc = vector.shape_cast %c : vector<1x64x16xf32> to vector<1x4x16x1x16xf32>
%tc = vector.transpose %sc, [0, 1, 3, 2, 4]
    : vector<1x4x16x1x16xf32> to vector<1x4x1x16x16xf32>
%t = iree_codegen.inner_tiled ins(%ta, %tb) outs(%tc) <
    indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>,
                     affine_map<(b, m, n, k) -> (b, m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>,
                      #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>>
    : vector<1x4x2x16x16xf16>, vector<1x1x2x16x16xf16> into vector<1x4x1x16x16xf32>
%tp = vector.transpose %t, [0, 1, 3, 2, 4]
    : vector<1x4x1x16x16xf32> to vector<1x4x16x1x16xf32>
%p = vector.shape_cast %tp : vector<1x4x16x1x16xf32> to vector<1x64x16xf32>
"""


def test_a_batch_of_one_beside_a_single_tile_is_told_apart_by_its_size() -> None:
    """B has neither digits of the batch nor of its tile's iterator; A has a batch of one, too."""
    found = found_in(
        read("a", "1x64x32", "f16"),
        read("b", "1x16x32", "f16"),
        read("c", "1x64x16"),
        BATCHED,
        write("p", "d", "1x64x16"),
    )
    assert not found.pins()
    (_, m, k), (_, n, also_k) = found.names("a"), found.names("b")
    assert k == also_k
    assert len(n) == 4
    assert found.names("c") == found.names("d") == ((), m, n)
    assert found.kinds("b") == [[], [FREE] * 4, [CONTRACTED] * 5]


def test_single_tiles_along_two_iterators_are_pinned() -> None:
    found = tiled(4, 1, 1)
    assert found.pins() == {
        "iree_codegen.inner_tiled has an operand whose tiles are of unknown origin"
    }


def test_a_loop_carries_the_same_digits() -> None:
    found = found_in(
        read("a", "8"),
        "%r = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %a) -> (vector<8xf32>) {",
        read("b", "8"),
        "%s = arith.addf %x, %b : vector<8xf32>",
        "scf.yield %s : vector<8xf32>}",
        write("r", "c", "8"),
    )
    assert found.names("a") == found.names("b") == found.names("c")
    assert not found.pins()


def test_a_loop_whose_first_value_is_a_constant() -> None:
    found = found_in(
        "%zero = arith.constant dense<0.0> : vector<8xf32>",
        "%r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %zero, %y = %zero)",
        "    -> (vector<8xf32>, vector<8xf32>) {",
        read("a", "8"),
        read("b", "8"),
        "%s = arith.addf %x, %a : vector<8xf32>",
        "%t = arith.addf %y, %b : vector<8xf32>",
        "scf.yield %s, %t : vector<8xf32>, vector<8xf32>}",
        write("r#0", "c", "8"),
        write("r#1", "d", "8"),
    )
    assert found.names("a") == found.names("c")
    assert found.names("b") == found.names("d")
    assert not {*found.names("a")[0]} & {*found.names("b")[0]}


def test_both_branches_of_a_condition_have_the_same_digits() -> None:
    found = found_in(
        "%yes = arith.constant true",
        "%r = scf.if %yes -> (vector<8xf32>) {",
        read("a", "8"),
        "scf.yield %a : vector<8xf32>} else {",
        read("b", "8"),
        "scf.yield %b : vector<8xf32>}",
        write("r", "c", "8"),
    )
    assert found.names("a") == found.names("b") == found.names("c")
    assert not found.pins()


def test_a_splat_constant_unites_none_of_its_uses() -> None:
    found = found_in(
        "%two = arith.constant dense<2.0> : vector<8xf32>",
        read("a", "8"),
        read("b", "8"),
        "%s = arith.mulf %a, %two : vector<8xf32>",
        "%t = arith.mulf %b, %two : vector<8xf32>",
        write("s", "c", "8"),
        write("t", "d", "8"),
    )
    assert found.names("a") == found.names("c")
    assert found.names("b") == found.names("d")
    assert not {*found.names("a")[0]} & {*found.names("b")[0]}
    assert not found.pins()


def test_a_constant_with_different_elements_pins_what_it_meets() -> None:
    found = found_in(
        "%ramp = arith.constant dense<[0.0, 1.0, 2.0, 3.0]> : vector<4xf32>",
        read("a", "4"),
        "%s = arith.addf %a, %ramp : vector<4xf32>",
        write("s", "b", "4"),
        read("c", "4x8"),
    )
    assert found.pins() == {"a constant has different elements"}
    assert all(found.of(digit).pinned for digit in found.names("b")[0])
    # What it does not meet stays as it is.
    assert not any(found.of(digit).pinned for row in found.names("c") for digit in row)


def test_what_a_mask_covers_is_pinned() -> None:
    found = found_in(
        read("a", "8x4"),
        "%n = memref.dim %a_memory, %c0 : memref<8x4xf32>",
        "%mask = vector.create_mask %n, %c1 : vector<8x4xi1>",
        "%zero = arith.constant dense<0.0> : vector<8xf32>",
        "%r = vector.mask %mask {",
        "  vector.multi_reduction <add>, %a, %zero [1] : vector<8x4xf32> to vector<8xf32>",
        "} : vector<8x4xi1> -> vector<8xf32>",
        write("r", "b", "8"),
    )
    for row in (*found.names("a"), *found.names("b")):
        reasons = {(pin := found.of(digit).pinned) and pin.reason for digit in row}
        assert None not in reasons
        assert all("may depend on positions" in str(reason) for reason in reasons)


def test_a_selection_by_a_mask_is_pinned() -> None:
    found = found_in(
        read("a", "8"),
        "%mask = vector.create_mask %c1 : vector<8xi1>",
        "%zero = arith.constant dense<0.0> : vector<8xf32>",
        "%s = arith.select %mask, %a, %zero : vector<8xi1>, vector<8xf32>",
        write("s", "b", "8"),
    )
    assert found.pins() == {"vector.create_mask may depend on positions"}


def test_masked_transfers_and_those_out_of_bounds_are_pinned() -> None:
    masked = found_in(
        "%mask = vector.create_mask %c1 : vector<8xi1>",
        read("a", "8").replace("%pad_f32", "%pad_f32, %mask"),
        write("a", "b", "8"),
    )
    assert masked.pins() == {"vector.create_mask may depend on positions", "a transfer is masked"}
    beyond = found_in(read("a", "8").replace("true", "false"), write("a", "b", "8"))
    assert beyond.pins() == {"a transfer may leave its memory"}


def test_an_unknown_operation_pins_its_operands_and_results() -> None:
    found = found_in(
        read("a", "8"),
        read("b", "8"),
        "%s = vector.interleave %a, %b : vector<8xf32> -> vector<16xf32>",
        write("s", "c", "16"),
        read("d", "8"),
    )
    assert found.pins() == {"vector.interleave may depend on positions"}
    pinned = [bool(found.of(found.names(name)[0][0]).pinned) for name in "abcd"]
    assert pinned == [True, True, True, False]


def test_a_pin_names_its_place() -> None:
    found = found_in(read("a", "8"), "%s = vector.step : vector<8xindex>")
    (pinned,) = (each.pinned for each in found.classes.classes if each.pinned)
    assert pinned.reason == "vector.step may depend on positions"
    assert pinned.location is not None


def test_a_transfer_may_run_along_other_dimensions() -> None:
    found = found_in(
        "%a = vector.transfer_read %a_memory[%c0, %c0], %pad_f32 {in_bounds = [true, true], "
        "permutation_map = affine_map<(i, j) -> (j, i)>} : memref<4x8xf32>, vector<8x4xf32>",
        write("a", "b", "8x4"),
    )
    assert found.names("a") == found.names("b")
    (transfer, _) = found.classes.transfers
    assert transfer.memory_dims == (1, 0)
    assert not found.pins()
