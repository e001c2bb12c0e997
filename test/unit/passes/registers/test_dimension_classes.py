# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which digits of vector indices are the same, which form classes, and what pins them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from iree.compiler import ir

from bankwise.passes.registers.dimension_classes import (
    ClassKind,
    DigitNames,
    DimensionClass,
    DimensionClasses,
    dimension_classes,
)

BOUNDS = {
    1: "in_bounds = [true]",
    2: "in_bounds = [true, true]",
    3: "in_bounds = [true, true, true]",
}


def read(name: str, shape: str, kind: str = "f32") -> str:
    """Reads %name from the memory @name."""
    zeros = ", ".join(["%c0"] * len(shape.split("x")))
    bounds = BOUNDS[len(shape.split("x"))]
    return (
        f"%{name} = vector.transfer_read %{name}_memory[{zeros}], %pad {{{bounds}}} "
        f": memref<{shape}x{kind}>, vector<{shape}x{kind}>\n"
    )


def write(value: str, name: str, shape: str, kind: str = "f32") -> str:
    """Writes %value to the memory @name."""
    zeros = ", ".join(["%c0"] * len(shape.split("x")))
    bounds = BOUNDS[len(shape.split("x"))]
    return (
        f"vector.transfer_write %{value}, %{name}_memory[{zeros}] {{{bounds}}} "
        f": vector<{shape}x{kind}>, memref<{shape}x{kind}>\n"
    )


@dataclass(frozen=True)
class Found:
    """The classes of a function, whose memories are asked for by name."""

    module: ir.Module
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


def found_in(body: str, **memories: str) -> Found:
    """Returns the classes of a function that gets memories of these types."""
    given = ", ".join(f"%{name}_memory: memref<{kind}>" for name, kind in memories.items())
    text = f"""
func.func @f({given}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.0 : f32
  %pad16 = arith.constant 0.0 : f16
  {body}
  return
}}"""
    module = ir.Module.parse(text)
    return Found(module, dimension_classes(module.body.operations[0]), tuple(memories))


FREE, REDUCED, CONTRACTED = ClassKind.FREE, ClassKind.REDUCED, ClassKind.CONTRACTED


def test_a_transpose_exchanges_dimensions() -> None:
    body = (
        read("a", "4x8")
        + "%t = vector.transpose %a, [1, 0] : vector<4x8xf32> to vector<8x4xf32>\n"
        + write("t", "b", "8x4")
    )
    found = found_in(body, a="4x8xf32", b="8x4xf32")
    rows, columns = found.names("a")
    assert found.names("b") == (columns, rows)
    assert {each.digits for each in found.classes.classes} == {frozenset(rows), frozenset(columns)}
    assert found.kinds("a") == [[FREE] * 2, [FREE] * 3]
    assert not found.pins()


def test_a_shape_cast_keeps_digits_also_of_odd_sizes() -> None:
    body = (
        read("a", "12x8")
        + "%s = vector.shape_cast %a : vector<12x8xf32> to vector<3x4x8xf32>\n"
        + write("s", "b", "3x4x8")
    )
    found = found_in(body, a="12x8xf32", b="3x4x8xf32")
    rows, columns = found.names("a")
    assert found.names("b") == ((rows[2],), rows[:2], columns)
    # The digit of base 3 is no part of a class, and the others stay in their dimensions.
    assert {each.digits for each in found.classes.classes} == {
        frozenset(rows[:2]),
        frozenset(columns),
    }
    assert not found.pins()


def test_a_shape_cast_that_cuts_a_digit_pins() -> None:
    body = (
        read("a", "4x3x8")
        + "%s = vector.shape_cast %a : vector<4x3x8xf32> to vector<12x8xf32>\n"
        + write("s", "b", "12x8")
    )
    found = found_in(body, a="4x3x8xf32", b="12x8xf32")
    assert found.pins() == {"a shape cast cuts through the digits of an index"}
    assert all(each.pinned for each in found.classes.classes)


def test_a_broadcast_tells_kept_digits_from_repeated_ones() -> None:
    body = (
        read("a", "8")
        + "%w = vector.broadcast %a : vector<8xf32> to vector<4x8xf32>\n"
        + "%s = vector.shape_cast %w : vector<4x8xf32> to vector<32xf32>\n"
        + write("s", "b", "32")
    )
    found = found_in(body, a="8xf32", b="32xf32")
    ((*kept,), (written,)) = found.names("a")[0], found.names("b")
    assert written[:3] == tuple(kept)
    # In the memory they are digits of one index; the broadcast alone tells them apart.
    assert {each.digits for each in found.classes.classes} == {
        frozenset(written[:3]),
        frozenset(written[3:]),
    }


def test_a_broadcast_stretches_a_dimension_of_one() -> None:
    body = (
        read("a", "4x1")
        + "%w = vector.broadcast %a : vector<4x1xf32> to vector<4x8xf32>\n"
        + write("w", "b", "4x8")
    )
    found = found_in(body, a="4x1xf32", b="4x8xf32")
    assert found.names("a") == (found.names("b")[0], ())


def test_a_reduction_tells_kept_digits_from_reduced_ones() -> None:
    body = (
        read("a", "32")
        + "%s = vector.shape_cast %a : vector<32xf32> to vector<4x8xf32>\n"
        + "%zero = arith.constant dense<0.0> : vector<8xf32>\n"
        + "%r = vector.multi_reduction <add>, %s, %zero [0] : vector<4x8xf32> to vector<8xf32>\n"
        + write("r", "b", "8")
    )
    found = found_in(body, a="32xf32", b="8xf32")
    (digits,) = found.names("a")
    assert found.names("b") == (digits[:3],)
    assert found.kinds("a") == [[FREE] * 3 + [REDUCED] * 2]
    assert found.of(digits[0]).digits == frozenset(digits[:3])
    assert found.of(digits[3]).digits == frozenset(digits[3:])


def test_a_reduced_digit_is_reduced_wherever_it_came_from() -> None:
    body = (
        read("a", "4x8")
        + "%t = vector.transpose %a, [1, 0] : vector<4x8xf32> to vector<8x4xf32>\n"
        + write("t", "b", "8x4")
        + "%zero = arith.constant dense<0.0> : vector<8xf32>\n"
        + "%r = vector.multi_reduction <add>, %t, %zero [1] : vector<8x4xf32> to vector<8xf32>\n"
        + write("r", "c", "8")
    )
    found = found_in(body, a="4x8xf32", b="8x4xf32", c="8xf32")
    assert found.kinds("b") == [[FREE] * 3, [REDUCED] * 2]
    assert found.names("c") == (found.names("b")[0],)


def test_sums_of_maxima_tell_their_digits_apart() -> None:
    """All digits are reduced in the end, but not in one operation: they must not be exchanged."""
    body = (
        read("a", "32")
        + "%s = vector.shape_cast %a : vector<32xf32> to vector<4x8xf32>\n"
        + "%low = arith.constant dense<-1.0> : vector<8xf32>\n"
        + "%m = vector.multi_reduction <maximumf>, %s, %low [0]\n"
        + "    : vector<4x8xf32> to vector<8xf32>\n"
        + "%r = vector.multi_reduction <add>, %m, %pad [0] : vector<8xf32> to f32\n"
    )
    found = found_in(body, a="32xf32")
    (digits,) = found.names("a")
    assert found.kinds("a") == [[REDUCED] * 5]
    assert found.of(digits[0]).digits == frozenset(digits[:3])
    assert found.of(digits[3]).digits == frozenset(digits[3:])


def test_a_contraction_unites_its_iterators() -> None:
    body = (
        read("a", "4x8")
        + read("b", "8x16")
        + read("c", "4x16")
        + """%p = vector.contract {
            indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                             affine_map<(m, n, k) -> (m, n)>],
            iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
            %a, %b, %c : vector<4x8xf32>, vector<8x16xf32> into vector<4x16xf32>\n"""
        + write("p", "d", "4x16")
    )
    found = found_in(body, a="4x8xf32", b="8x16xf32", c="4x16xf32", d="4x16xf32")
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
    body = (
        read("a", f"{m}x{k}", "f16").replace("%pad", "%pad16")
        + read("b", f"{k}x{n}", "f16").replace("%pad", "%pad16")
        + read("c", f"{m}x{n}")
        + TILED.format(m=m, n=n, k=k, tm=tm, tn=tn, tk=tk)
        + write("p", "d", f"{m}x{n}")
    )
    sums = f"{m}x{n}xf32"
    return found_in(body, a=f"{m}x{k}xf16", b=f"{k}x{n}xf16", c=sums, d=sums)


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
    body = (
        read("a", "1x64x32", "f16").replace("%pad", "%pad16")
        + read("b", "1x16x32", "f16").replace("%pad", "%pad16")
        + read("c", "1x64x16")
        + BATCHED
        + write("p", "d", "1x64x16")
    )
    sums = "1x64x16xf32"
    found = found_in(body, a="1x64x32xf16", b="1x16x32xf16", c=sums, d=sums)
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
    body = (
        read("a", "8")
        + "%r = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %a) -> (vector<8xf32>) {\n"
        + read("b", "8")
        + "%s = arith.addf %x, %b : vector<8xf32>\n"
        + "scf.yield %s : vector<8xf32>\n}\n"
        + write("r", "c", "8")
    )
    found = found_in(body, a="8xf32", b="8xf32", c="8xf32")
    assert found.names("a") == found.names("b") == found.names("c")
    assert not found.pins()


def test_a_loop_whose_first_value_is_a_constant() -> None:
    body = (
        "%zero = arith.constant dense<0.0> : vector<8xf32>\n"
        + "%r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %zero, %y = %zero)\n"
        + "    -> (vector<8xf32>, vector<8xf32>) {\n"
        + read("a", "8")
        + read("b", "8")
        + "%s = arith.addf %x, %a : vector<8xf32>\n"
        + "%t = arith.addf %y, %b : vector<8xf32>\n"
        + "scf.yield %s, %t : vector<8xf32>, vector<8xf32>\n}\n"
        + write("r#0", "c", "8")
        + write("r#1", "d", "8")
    )
    found = found_in(body, a="8xf32", b="8xf32", c="8xf32", d="8xf32")
    assert found.names("a") == found.names("c")
    assert found.names("b") == found.names("d")
    assert not {*found.names("a")[0]} & {*found.names("b")[0]}


def test_both_branches_of_a_condition_have_the_same_digits() -> None:
    body = (
        "%yes = arith.constant true\n"
        + "%r = scf.if %yes -> (vector<8xf32>) {\n"
        + read("a", "8")
        + "scf.yield %a : vector<8xf32>\n} else {\n"
        + read("b", "8")
        + "scf.yield %b : vector<8xf32>\n}\n"
        + write("r", "c", "8")
    )
    found = found_in(body, a="8xf32", b="8xf32", c="8xf32")
    assert found.names("a") == found.names("b") == found.names("c")
    assert not found.pins()


def test_a_splat_constant_unites_none_of_its_uses() -> None:
    body = (
        "%two = arith.constant dense<2.0> : vector<8xf32>\n"
        + read("a", "8")
        + read("b", "8")
        + "%s = arith.mulf %a, %two : vector<8xf32>\n"
        + "%t = arith.mulf %b, %two : vector<8xf32>\n"
        + write("s", "c", "8")
        + write("t", "d", "8")
    )
    found = found_in(body, a="8xf32", b="8xf32", c="8xf32", d="8xf32")
    assert found.names("a") == found.names("c")
    assert found.names("b") == found.names("d")
    assert not {*found.names("a")[0]} & {*found.names("b")[0]}
    assert not found.pins()


def test_a_constant_with_different_elements_pins_what_it_meets() -> None:
    body = (
        "%ramp = arith.constant dense<[0.0, 1.0, 2.0, 3.0]> : vector<4xf32>\n"
        + read("a", "4")
        + "%s = arith.addf %a, %ramp : vector<4xf32>\n"
        + write("s", "b", "4")
        + read("c", "4x8")
    )
    found = found_in(body, a="4xf32", b="4xf32", c="4x8xf32")
    assert found.pins() == {"a constant has different elements"}
    assert all(found.of(digit).pinned for digit in found.names("b")[0])
    # What it does not meet stays as it is.
    assert not any(found.of(digit).pinned for row in found.names("c") for digit in row)


def test_what_a_mask_covers_is_pinned() -> None:
    body = (
        read("a", "8x4")
        + "%n = memref.dim %a_memory, %c0 : memref<8x4xf32>\n"
        + "%mask = vector.create_mask %n, %c1 : vector<8x4xi1>\n"
        + "%zero = arith.constant dense<0.0> : vector<8xf32>\n"
        + "%r = vector.mask %mask {\n"
        + "  vector.multi_reduction <add>, %a, %zero [1] : vector<8x4xf32> to vector<8xf32>\n"
        + "} : vector<8x4xi1> -> vector<8xf32>\n"
        + write("r", "b", "8")
    )
    found = found_in(body, a="8x4xf32", b="8xf32")
    for row in (*found.names("a"), *found.names("b")):
        reasons = {(pin := found.of(digit).pinned) and pin.reason for digit in row}
        assert None not in reasons
        assert all("may depend on positions" in str(reason) for reason in reasons)


def test_a_selection_by_a_mask_is_pinned() -> None:
    body = (
        read("a", "8")
        + "%mask = vector.create_mask %c1 : vector<8xi1>\n"
        + "%zero = arith.constant dense<0.0> : vector<8xf32>\n"
        + "%s = arith.select %mask, %a, %zero : vector<8xi1>, vector<8xf32>\n"
        + write("s", "b", "8")
    )
    found = found_in(body, a="8xf32", b="8xf32")
    assert found.pins() == {"vector.create_mask may depend on positions"}


def test_masked_transfers_and_those_out_of_bounds_are_pinned() -> None:
    masked = (
        "%mask = vector.create_mask %c1 : vector<8xi1>\n"
        "%a = vector.transfer_read %a_memory[%c0], %pad, %mask {in_bounds = [true]}"
        " : memref<8xf32>, vector<8xf32>\n" + write("a", "b", "8")
    )
    assert found_in(masked, a="8xf32", b="8xf32").pins() == {
        "vector.create_mask may depend on positions",
        "a transfer is masked",
    }
    beyond = read("a", "8").replace("true", "false") + write("a", "b", "8")
    assert found_in(beyond, a="8xf32", b="8xf32").pins() == {"a transfer may leave its memory"}


def test_an_unknown_operation_pins_its_operands_and_results() -> None:
    body = (
        read("a", "8")
        + read("b", "8")
        + "%s = vector.interleave %a, %b : vector<8xf32> -> vector<16xf32>\n"
        + write("s", "c", "16")
        + read("d", "8")
    )
    found = found_in(body, a="8xf32", b="8xf32", c="16xf32", d="8xf32")
    assert found.pins() == {"vector.interleave may depend on positions"}
    pinned = [bool(found.of(found.names(name)[0][0]).pinned) for name in "abcd"]
    assert pinned == [True, True, True, False]


def test_a_pin_names_its_place() -> None:
    body = read("a", "8") + "%s = vector.step : vector<8xindex>\n"
    found = found_in(body, a="8xf32")
    (pinned,) = (each.pinned for each in found.classes.classes if each.pinned)
    assert pinned.reason == "vector.step may depend on positions"
    assert pinned.location is not None


def test_a_transfer_may_run_along_other_dimensions() -> None:
    body = (
        "%a = vector.transfer_read %a_memory[%c0, %c0], %pad {in_bounds = [true, true], "
        "permutation_map = affine_map<(i, j) -> (j, i)>} : memref<4x8xf32>, vector<8x4xf32>\n"
        + write("a", "b", "8x4")
    )
    found = found_in(body, a="4x8xf32", b="8x4xf32")
    assert found.names("a") == found.names("b")
    (transfer, _) = found.classes.transfers
    assert transfer.memory_dims == (1, 0)
    assert not found.pins()
