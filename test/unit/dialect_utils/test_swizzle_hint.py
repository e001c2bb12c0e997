# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A new swizzle attribute is one class and its name: applied, checked, read, resolved, shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from iree.compiler import ir

from bankwise.bank_model import swizzles
from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import SwizzledLayout, layout_conflicts
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.notations import picture
from bankwise.bank_model.quick_dataclass import dataclass
from bankwise.bank_model.slow_count import count_slowly
from bankwise.bank_model.swizzle_legality import AccessFootprint, HintRules
from bankwise.bank_model.swizzles import RotateRows, Swizzle, XorShuffle
from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.swizzle_hint import parse_swizzle, swizzle_attribute
from bankwise.passes.swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from bankwise.report.conflict_report import shown_layout
from bankwise.tiles.layout_text import layout_of

from ..functions import parse, run
from ..index_evaluator import evaluate


@dataclass(frozen=True)
class FlipRows(Swizzle):
    """The groups of every odd row in reverse, for a power of two of groups."""

    NAME = "rotate_rows"

    @property
    def period(self) -> int:
        return 2 * self.row_width

    def moved_group(self, offset: Any, group: Any) -> Any:
        return (offset // self.row_width % 2) * (self.groups_per_row - 1) ^ group


FLIP = FlipRows(24, 6)
KERNEL = """
func.func @f(%x: index) -> vector<2xf32> {
  %a = memref.alloc() : memref<96xf32, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.rotate_rows<24, 6>]
      : memref<96xf32, #gpu.address_space<workgroup>>
  %o = affine.apply affine_map<(d0) -> (d0 * 2)>(%x)
  %v = vector.load %h[%o] : memref<96xf32, #gpu.address_space<workgroup>>, vector<2xf32>
  return %v : vector<2xf32>
}
"""


def test_a_new_swizzle_is_applied_and_counted():
    tile = LdsTile((4, 24), 32)
    layout = SwizzledLayout((FLIP,))
    places = layout.offsets(tile, np.arange(96))
    assert places[:24].tolist() == list(range(24))
    assert places[24:48].reshape(4, 6).tolist() == np.arange(24, 48).reshape(4, 6)[::-1].tolist()
    assert layout.is_bijection(tile)
    read = LdsAccess(AccessKind.READ, np.arange(64) % 4 * 24, 1)
    slow = count_slowly(lds_of("gfx942"), tile, layout, read)
    assert layout_conflicts(lds_of("gfx942"), tile, layout, [read]) == slow.conflict_cycles


def test_a_new_swizzle_is_checked():
    tile = LdsTile((4, 24), 32)
    assert HintRules(tile, (AccessFootprint(2, 2),)).why_not((FLIP,)) is None
    whole = HintRules(tile, (AccessFootprint(12, 12, whole=True),)).why_not((FLIP,))
    assert whole == "access of 12 elements cannot be split into runs of 6"
    rows = HintRules(LdsTile((4, 25), 32), ()).why_not((FLIP,))
    assert rows is not None
    assert rows.startswith("rotate_rows<24, 6> is not a bijection of 100 elements")
    with pytest.raises(ValueError, match="access_width is 5; allowed: divisors of 24"):
        FlipRows(24, 5)


def test_a_new_swizzle_is_shown():
    tile = LdsTile((2, 24), 32)
    assert shown_layout(SwizzledLayout((FLIP,)), tile) == "swizzled with rotate_rows<24, 6>"
    assert picture(FLIP, tile, 6) == "000000 111111 222222 333333\n777777 666666 555555 444444"
    assert "has no form as a linear map" in str(FLIP.linear())


def test_a_new_swizzle_is_parsed_and_resolved(monkeypatch: pytest.MonkeyPatch):
    """IREE's dialect knows no other attribute, so that the new one takes the place of one."""
    monkeypatch.setitem(swizzles.SWIZZLE_ATTRIBUTES, "rotate_rows", FlipRows)
    parsed = parse(KERNEL)
    run(parsed, ResolveSwizzleHints())
    assert not parsed.operations("iree_codegen.swizzle_hint")
    (load,) = parsed.operations("vector.load")
    argument = parsed.function.regions[0].blocks[0].arguments[0]
    for x in range(48):
        expected = FLIP.apply(np.array(2 * x)).item()
        assert evaluate(load.operands[1], {argument: x}) == expected


def test_a_new_swizzle_is_read_from_a_layouts_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(swizzles.SWIZZLE_ATTRIBUTES, "flip_rows", FlipRows)
    tile = LdsTile((4, 24), 32)
    assert layout_of("flip_rows<24, 6>", tile, lds_of("gfx942")) == SwizzledLayout((FLIP,))


def test_an_attribute_without_a_class_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(swizzles.SWIZZLE_ATTRIBUTES, "rotate_rows")
    attribute = ir.Attribute.parse("#iree_codegen.rotate_rows<24, 6>")
    with pytest.raises(Refusal, match=r"unknown swizzle attribute .*rotate_rows"):
        parse_swizzle(attribute)


@pytest.mark.parametrize(
    "swizzle",
    [XorShuffle(64, 8), XorShuffle(64, 8, 128, 2), RotateRows(12, 4)],
)
def test_attributes_round_trip(context: ir.Context, swizzle: Swizzle):
    assert parse_swizzle(swizzle_attribute(swizzle, context)) == swizzle
