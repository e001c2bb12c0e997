# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every reason for which the indices of a tile keep their names."""

from __future__ import annotations

from bankwise.bank_model.nested_layout import NestedLayout
from bankwise.tuning.registers.rename_registers import RenameRegisters

from ...functions import HERE, LDS, Edit, Kept, assert_kept, each_kept, edited, launched, parse, run

_COPY = NestedLayout((1, 1), (2, 1), (1, 1), (32, 8), (1, 8), (0, 0), (8, 1))
_OPERAND = NestedLayout((1, 1), (4, 4), (1, 1), (4, 16), (4, 1), (0, 0), (16, 1))

# The V tile of an attention, by columns of the operand: lane l reads the columns l, l + 16, l + 32
# and l + 48 of a row, where it could read four neighbours.
COLUMNS = f"""
!tile = tensor<64x64xf16, {LDS}>
!t = tensor<64x64xf16>
!v = vector<64x64xf16>
!row = vector<64xf16>
func.func @f(%v: !t, %out: !t, %z: !v, %i: index) -> !t attributes {{{launched("256, 1, 1")}}} {{
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {{in_bounds = [true, true]}} : !t, !v
  %x = iree_vector_ext.to_layout %g to layout({_COPY}) : !v
  %a = bufferization.alloc_tensor() <{{memory_space = {LDS}}}> : !tile
  %w = vector.transfer_write %x, %a[%c0, %c0] {{in_bounds = [true, true]}} : !v, !tile
  %b = iree_gpu.value_barrier %w : !tile
  %r = vector.transfer_read %b[%c0, %c0], %pad {{in_bounds = [true, true]}} : !tile, !v // here
  %y = iree_vector_ext.to_layout %r to layout({_OPERAND}) : !v
  %zero = arith.constant dense<0.0> : !row
  %m = vector.create_mask %i, %i : vector<64x64xi1>
  %s = arith.addf %y, %y : !v
  %o = vector.transfer_write %s, %out[%c0, %c0] {{in_bounds = [true, true]}} : !v, !t
  return %o : !t
}}
"""
_SUM = "%s = arith.addf %y, %y : !v"


def _added(*lines: str) -> Edit:
    """Returns the edit that adds a row to the tile, which lines compute as `%f`."""
    end = ("%all = vector.broadcast %f : !row to !v", "%s = arith.addf %y, %all : !v")
    return _SUM, "\n".join((*lines, *end))


KEPT: Kept = {
    # A vector whose positions the caller knows.
    "argument": ("it is an argument in func.func", (_SUM, "%s = arith.addf %y, %z : !v")),
    "numbered columns": (
        "vector.step may depend on positions",
        _added(
            "%n = vector.step : vector<64xindex>",
            "%j = arith.index_cast %n : vector<64xindex> to vector<64xi16>",
            "%f = arith.sitofp %j : vector<64xi16> to !row",
        ),
    ),
    # A constant tells columns apart.
    "different elements": (
        "a constant has different elements",
        _added(f"%f = arith.constant dense<{[float(n) for n in range(64)]}> : !row"),
    ),
    # The output may end within the tile.
    "partial": (
        "a transfer may leave its memory",
        ("%out[%c0, %c0] {in_bounds = [true, true]}", "%out[%i, %i] {in_bounds = [true, false]}"),
    ),
    # Some columns are not stored.
    "masked": ("a transfer is masked", ("%out[%c0, %c0]", "%out[%c0, %c0], %m")),
    # To rename what is summed over would change the order of the sum.
    "summed": (
        "it is reduced: a renaming changes the order of a sum",
        (
            _SUM,
            "%sum = vector.multi_reduction <add>, %y, %zero [1] : !v to !row\n"
            "%s = vector.broadcast %sum : !row to !v",
        ),
    ),
    # The mask around an operation tells its positions apart.
    "in a mask": (
        "it is inside vector.mask, which may depend on positions",
        (
            _SUM,
            "%sum = vector.mask %m { vector.multi_reduction <add>, %y, %zero [0] : !v to !row }"
            " : vector<64x64xi1> -> !row\n%s = vector.broadcast %sum : !row to !v",
        ),
    ),
    # It is not known which lane stores what.
    "unknown layout": (
        "the layout of a transfer is not known",
        (
            _SUM,
            "%q = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : !t, !v\n"
            f"%l = iree_vector_ext.to_layout %q to layout({_COPY}) : !v\n"
            "%s = arith.addf %y, %q : !v",
        ),
    ),
}


def test_columns_are_renamed() -> None:
    parsed = parse(COLUMNS)
    run(parsed, RenameRegisters(), target="gfx942")
    assert parsed.operations("iree_vector_ext.to_simt")


@each_kept(KEPT)
def test_indices_keep_their_names(reason: str, edits: list[Edit]) -> None:
    text = edited(COLUMNS, *edits)
    assert_kept(text, RenameRegisters(), said=f"not renamed: {reason}", target="gfx942")


def test_a_function_that_names_no_gpu_stays_as_it_is() -> None:
    text = edited(
        COLUMNS, (f" {HERE}", ""), ("subgroup_size = 64>} {", f"subgroup_size = 64>}} {{ {HERE}")
    )
    assert_kept(text, RenameRegisters(), said="no index renamed: the function has no GPU target")
