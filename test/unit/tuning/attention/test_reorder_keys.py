# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-reorder-keys` reads masks wide, where all that touches the keys may be in any order."""

from __future__ import annotations

import pytest

from bankwise.bank_model.nested_layout import NestedLayout
from bankwise.dialect_utils.described_tiles import note_described_tile
from bankwise.tuning.attention.reorder_keys import ReorderKeys

from ...functions import HERE, LDS, Kept, assert_kept, each_kept, edited, launched, parse, run

_KEYS = NestedLayout((1, 1), (4, 1), (1, 2), (8, 4), (1, 2), (0, 0), (4, 1))
_SCORES = NestedLayout((1, 1), (1, 4), (2, 1), (8, 4), (1, 2), (0, 0), (4, 1))
_MAPS = (
    "indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, "
    'affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], '
    "kind = #vector.kind<add>"
)
_MASKED = "%t = arith.addf %sl, %ml : !scores"
MASK = f"""
!tile = tensor<32x16xf16, {LDS}>
!k = vector<32x16xf16>
!mask = tensor<16x32xf16>
!scores = vector<16x32xf16>
!rows = vector<16xf16>
func.func @f(%q: vector<16x16xf16>, %k: !tile, %g: tensor<32x16xf16>, %m: !mask, %out: !mask,
    %z: !rows) -> !rows attributes {{{launched("32, 1, 1", 32)}}} {{
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %zeros = arith.constant dense<0.0> : !scores
  %kr = vector.transfer_read %k[%c0, %c0], %pad {{in_bounds = [true, true]}} : !tile, !k
  %kl = iree_vector_ext.to_layout %kr to layout({_KEYS}) : !k
  %s = vector.contract {{{_MAPS}}} %q, %kl, %zeros : vector<16x16xf16>, !k into !scores
  %sl = iree_vector_ext.to_layout %s to layout({_SCORES}) : !scores
  %mr = vector.transfer_read %m[%c0, %c0], %pad {{in_bounds = [true, true]}} : !mask, !scores {HERE}
  %ml = iree_vector_ext.to_layout %mr to layout({_SCORES}) : !scores
  {_MASKED}
  %r = vector.multi_reduction <maximumf>, %t, %z [1] : !scores to !rows
  return %r : !rows
}}
"""

KEPT: Kept = {
    # Keys beyond the last one are told by their numbers.
    "numbered keys": (
        "vector.step may depend on positions",
        (
            _MASKED,
            "%n = vector.step : vector<32xindex>\n"
            "  %j = arith.index_cast %n : vector<32xindex> to vector<32xi16>\n"
            "  %f = arith.sitofp %j : vector<32xi16> to vector<32xf16>\n"
            "  %all = vector.broadcast %f : vector<32xf16> to !scores\n"
            "  %u = arith.addf %sl, %all : !scores\n"
            "  %t = arith.addf %u, %ml : !scores",
        ),
    ),
    # Whoever reads the scores wants them in their order.
    "stored scores": (
        "keys are stored, too",
        (
            _MASKED,
            f"{_MASKED}\n  %o = vector.transfer_write %sl, %out[%c0, %c0] "
            "{in_bounds = [true, true]} : !scores, !mask",
        ),
    ),
    # The rows that lanes read together would lie apart.
    "K without a tile": (
        "lanes read K or V from global memory themselves",
        (
            "%k[%c0, %c0], %pad {in_bounds = [true, true]} : !tile",
            "%g[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<32x16xf16>",
        ),
    ),
    "unknown layout": (
        "the layout of a transfer is not known",
        (
            f"%kl = iree_vector_ext.to_layout %kr to layout({_KEYS}) : !k",
            "%kl = arith.negf %kr : !k",
        ),
    ),
    "one register": (
        "no layout of registers has neighbouring keys in a lane",
        (str(_KEYS), str(NestedLayout((1, 1), (1, 1), (1, 2), (32, 1), (1, 8), (0, 0), (1, 1)))),
    ),
}


@each_kept(KEPT)
def test_keys_stay_in_their_order(reason: str, edits: list[tuple[str, str]]) -> None:
    said = f"keys stay in their order: {reason}"
    assert_kept(edited(MASK, *edits), ReorderKeys(), said=said, target="sm_80")


@pytest.mark.parametrize(
    ("element", "keys"), [("f16", 8), ("f32", 4), ("i8", 8)], ids=["f16", "f32", "i8"]
)
def test_a_lane_reads_as_many_keys_as_16_bytes_are_or_as_it_has(element: str, keys: int) -> None:
    """Of 32 keys a lane has 8."""
    text = MASK.replace("!mask = tensor<16x32xf16>", f"!mask = tensor<16x32x{element}>")
    kind = f"vector<16x32x{element}>"
    widened = {
        "f16": "%mw = arith.negf %mr : !scores",
        "f32": f"%mw = arith.truncf %mr : {kind} to !scores",
        "i8": f"%mw = arith.sitofp %mr : {kind} to !scores",
    }[element]
    text = text.replace("ub.poison : f16", f"ub.poison : f16\n  %other = ub.poison : {element}")
    text = edited(
        text,
        (
            "%m[%c0, %c0], %pad {in_bounds = [true, true]} : !mask, !scores",
            f"%m[%c0, %c0], %other {{in_bounds = [true, true]}} : !mask, {kind}",
        ),
        (
            "  %ml = iree_vector_ext.to_layout %mr",
            f"  {widened}\n  %ml = iree_vector_ext.to_layout %mw",
        ),
    )
    (said,) = run(parse(text), ReorderKeys(), target="sm_80").messages
    assert f"a lane reads the mask of {keys} keys at once instead of 2" in said


def test_tiles_that_descriptors_name_keep_their_rows() -> None:
    parsed = parse(MASK)
    note_described_tile(parsed.function)
    before = str(parsed)
    assert not run(parsed, ReorderKeys(), target="sm_90a").said
    assert str(parsed) == before
