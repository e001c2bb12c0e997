# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise.solve`, `count` and `targets`: what they answer, how it is shown, and their errors."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bankwise
from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.errors import ProofError
from bankwise.bank_model.layouts import LayoutKind, PaddedLayout, SwizzledLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import known_targets
from bankwise.bank_model.proof import Optimality
from bankwise.bank_model.slow_count import count_slowly
from bankwise.bank_model.swizzles import XorShuffle

ROWS_AND_COLUMNS: dict[str, Any] = {"write": "rows:128", "read": "columns"}


def test_all_targets_with_their_sources() -> None:
    found = bankwise.targets()
    assert tuple(lds.arch for lds in found) == known_targets()
    assert all(instruction.source for lds in found for instruction in lds.instructions)


def test_a_solution_has_all_layouts() -> None:
    found = bankwise.solve("gfx942", "64x64xf16", **ROWS_AND_COLUMNS)
    assert list(found.layouts) == ["plain", "padded", "swizzled"]
    assert [count.conflict_cycles for count in found.layouts.values()] == [3968, 0, 0]
    assert found.best_name == "swizzled"
    assert found.decision.optimality is Optimality.FLOOR
    assert "3,968 conflict cycles in the plain layout, 0 in this one" in found.proof
    write, read = found.plain.accesses
    assert (write.conflict_cycles, read.conflict_cycles) == (0, 3968)
    assert read.conflicts_per_access == (62, 62)
    assert str(read.accesses) == "read columns"


def test_the_proof_is_checked() -> None:
    found = bankwise.solve("sm_80", "32x32xf32", write="rows", read="columns")
    claims = replace(found.decision.proof, plain_conflict_cycles=1)
    wrong = replace(found, decision=found.decision._replace(proof=claims))
    with pytest.raises(ProofError, match="plain_conflict_cycles: claimed 1, counted 992"):
        _ = wrong.proof


def test_a_split_is_said() -> None:
    """Rows of 132 bytes leave 16-byte writes aligned to 4: four instructions in place of one."""
    found = bankwise.count("gfx942", "64x64xf16", write="rows:128", layout="padded:2")
    (write,) = found.accesses
    assert write.is_split
    assert write.plain_instructions == (("ds_write_b128", 8),)
    assert write.instructions == (("ds_write_b32", 32),)
    text = str(found)
    assert "32 ds_write_b32 (split)" in text
    assert (
        "write rows:128 is split by this layout: 8 ds_write_b128 become 32 ds_write_b32"
        in " ".join(text.split())
    )


def test_a_change_of_order_is_said() -> None:
    found = bankwise.solve("gfx942", "64x64xf16", **ROWS_AND_COLUMNS)
    write, read = found.best.accesses
    assert (write.is_split, write.reordered_elements) == (False, 2)
    assert read.reordered_elements == 0
    assert "8 ds_write_b128 (reordered)" in " ".join(str(found).split())


def test_assumptions_are_said() -> None:
    assert "the phases of ds_read_u16 are assumed" in str(
        bankwise.count("gfx950", "64x64xf16", read="columns")
    )
    assert "assumed" not in str(bankwise.count("gfx942", "64x64xf16", read="columns"))


def test_the_plain_layout_may_be_best() -> None:
    found = bankwise.solve("gfx942", "64x64xf32", write="rows:128", read="rows")
    assert list(found.layouts) == ["plain"]
    assert found.best_name == "plain"
    assert found.notations == ()
    assert "the plain layout has no bank conflicts" in str(found)
    assert "The swizzle" not in str(found)


def test_a_limit_of_bytes_leaves_no_room_for_padding() -> None:
    found = bankwise.solve("gfx942", "64x64xf16", **ROWS_AND_COLUMNS, max_lds_bytes=8192)
    assert found.padded is None
    with pytest.raises(ValueError, match=r"^max_lds_bytes: 64x64xf16 takes 8192 bytes, more than"):
        bankwise.solve("gfx942", "64x64xf16", **ROWS_AND_COLUMNS, max_lds_bytes=8191)


@pytest.mark.parametrize(
    ("layout", "conflicts"),
    [
        ("plain", 448),
        ("padded:8", 0),
        ("xor_shuffle<64, 8>", 0),
        ("#iree_codegen.xor_shuffle<64, 8, 64, 1>", 0),
        ("Swizzle<3, 3, 3>", 0),
        ("Swizzle<0, 0, 0>", 448),
        ("rotate_rows<64, 8>", 0),
        (" xor_shuffle<64,8> of xor_shuffle<64,8>", 448),
        (SwizzledLayout((XorShuffle(64, 8),)), 0),
        (PaddedLayout(0), 448),
    ],
)
def test_a_layout_of_ones_own_is_counted(layout: Any, conflicts: int) -> None:
    found = bankwise.count("gfx942", "64x64xf16", read="columns:128", layout=layout)
    assert found.conflict_cycles == conflicts


def test_what_a_user_wrote_is_shortened_in_errors() -> None:
    for argument in ("target", "tile", "read", "layout"):
        given: dict[str, Any] = {"target": "gfx942", "tile": "64x64xf16", "read": "rows"}
        for text in ("lane + " * 20_000 + "1", "x" * 5000, "rows:" + "9" * 5000, "\x1b[31m\0\n"):
            with pytest.raises(bankwise.TileArgumentError, match=rf"^{argument}: ") as caught:
                bankwise.count(**{**given, argument: text})
            assert len(str(caught.value)) < 500
            assert str(caught.value).isprintable()


def test_sizes_and_types_may_be_written_large() -> None:
    small, large = (
        bankwise.count("gfx942", tile, read="columns") for tile in ("64x64xf16", "64X64xF16")
    )
    assert large.conflict_cycles == small.conflict_cycles > 0


def test_more_bytes_than_a_workgroup_has_are_no_limit() -> None:
    with pytest.raises(ValueError, match=r"^max_lds_bytes: 65537 .* the 65536 of a workgroup"):
        bankwise.solve("gfx942", "64x64xf16", **ROWS_AND_COLUMNS, max_lds_bytes=65537)


def test_answers_represent_themselves_in_a_line() -> None:
    found = bankwise.solve("sm_90", "64x64xf16", write="rows:128", read="ldmatrix")
    assert repr(found).startswith("<TileSolution of 64x64xf16 on sm_90, 32 lanes in 1 wave of 32: ")
    assert "xor_shuffle<64, 8, 64, 1>, 448 -> 0 conflict cycles" in repr(found)
    assert "xor_shuffle<64, 8, 64, 1>, 0 conflict cycles" in repr(found.best)
    for each in (found, found.best, found.best.accesses, found.question):
        assert len(repr(each)) < 200


def test_accesses_of_one_instruction_stay_whole() -> None:
    matrix = bankwise.LdsAccess(
        AccessKind.READ, np.arange(32) * 64, 8, instruction="ldmatrix", alignment=8
    )
    found = bankwise.solve("sm_80", "32x64xf16", write="rows:128", read=[matrix, "columns"])
    assert isinstance(found.best.layout, SwizzledLayout)
    assert found.best.layout.group_elements(found.question.named.tile) % 8 == 0
    assert found.padded is not None
    assert isinstance(found.padded.layout, PaddedLayout)
    assert found.padded.layout.padding_elements % 8 == 0
    for count in found.layouts.values():
        assert count.accesses[1].instructions == (("ldmatrix", 1),)
    with pytest.raises(ValueError, match=r"^layout: padded by 2 elements .* ldmatrix"):
        bankwise.count("sm_80", "32x64xf16", read=matrix, layout="padded:2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "gfx1"}, "target: 'gfx1' is not known; there are gfx90a, gfx942"),
        ({"tile": "64"}, "tile: '64' is no tile"),
        ({"read": None}, "read: nothing reads or writes the tile"),
        ({"write": "diagonal"}, "write: 'diagonal': there is no pattern 'diagonal'"),
        ({"threads": 63}, "threads: 63 threads"),
        ({"layout": "swirl<8, 8>"}, "layout: there is no swizzle 'swirl'"),
        ({"layout": "padded"}, "layout: 'padded' is no layout"),
        ({"layout": "xor_shuffle<64>"}, "layout: 'xor_shuffle<64>': it has other parameters"),
        ({"layout": "xor_shuffle<64, 7>"}, "layout: 'xor_shuffle<64, 7>': access_width"),
        ({"layout": "xor_shuffle<48, 16>"}, "layout: .* does not permute the 4096 elements"),
        ({"layout": "Swizzle<3, 3, 2>"}, "layout: 'Swizzle<3, 3, 2>': shift"),
        ({"tile": "64x64xi4"}, "tile: its accesses cannot be counted"),
        ({"target": 942}, "target: 942 is not known"),
        ({"target": ["gfx942"]}, r"target: \['gfx942'\] is not known"),
        ({"tile": 64}, "tile: 64 is neither text"),
        ({"threads": "64"}, "threads: '64' is no whole number"),
        ({"threads": 64.5}, "threads: 64.5 is no whole number"),
        ({"threads": 2**70}, f"threads: {2**70} threads"),
        ({"read": max}, "read: 'max': its parameters cannot be read"),
        ({"read": lambda lane: lane[:, :, :3]}, "read: '<lambda>': it returns arrays of another"),
        ({"layout": 8}, "layout: 8 is neither text nor a layout"),
        # Whatever is larger than the LDS is refused before anything is counted.
        (
            {"layout": "padded:4294967232"},
            "layout: padded by 4294967232 elements: the tile then takes 549755813888 bytes, and a "
            "workgroup has 65536 on gfx942",
        ),
        ({"layout": "padded:100000"}, "layout: .* 12808192 bytes, and a workgroup has 65536"),
        ({"layout": PaddedLayout(2**62)}, "layout: .* bytes, and a workgroup has 65536"),
        (
            {"layout": "(64,64):(1024,1)"},
            "layout: .* takes 131072 bytes, and a workgroup has 65536",
        ),
        ({"tile": LdsTile((2**40, 2**40), 16)}, "tile: .* a workgroup has 65536 on gfx942"),
        ({"tile": "64x64xf16".replace("64", "9" * 5000)}, r"tile: '9+\.\.\.' is no tile"),
    ],
)
def test_errors_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    known: dict[str, Any] = {"target": "gfx942", "tile": "64x64xf16", "read": "columns"}
    with pytest.raises(bankwise.TileArgumentError, match=f"^{message}"):
        bankwise.count(**{**known, **arguments})


def test_a_notebook_sees_pictures_before_and_after() -> None:
    found = bankwise.solve("sm_80", "32x32xf32", write="rows", read="columns")
    html = found._repr_html_()
    # The write's map is the same before and after; the read's are two pictures. Each map is two
    # stripes of 16 banks, and so is the picture below it of where its words lie.
    # Below them is the whole tile, before and after.
    assert html.count('src="data:image/svg+xml;base64,') == 3 * 2 * 2 + 2 * 2
    assert html.index("read columns, plain") < html.index("read columns, swizzled")
    assert html.count("where the words of") == 3
    assert "read columns, plain: ld.shared.b32" in html
    assert "read columns, swizzled: ld.shared.b32" in html
    assert html.startswith("<div>")
    assert html.endswith("</div>")
    # Text of the user is escaped.
    masked = bankwise.count("sm_80", "32x32xf32", read="(lane if lane<9 else 0, 0)")
    assert "lane&lt;9" in masked._repr_html_()
    assert "lane<9" not in masked._repr_html_()


def test_no_compiler_is_loaded() -> None:
    program = (
        "import sys, bankwise\n"
        "found = bankwise.solve('gfx942', '64x64xf16', write='rows:128', read='columns')\n"
        "str(found), bankwise.count('sm_80', '8x8xf32', read='rows'), bankwise.targets()\n"
        "print([n for n in ('iree.compiler', 'matplotlib') if n in sys.modules])\n"
        "found._repr_html_()\n"
        "print('iree.compiler' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("[]\nFalse\n", "")


QUESTIONS = (
    st.sampled_from(("gfx942", "gfx950", "sm_80")),
    st.sampled_from(("16x64xf16", "32x48xf32", "64x32xf8", "24x40xbf16")),
    st.sampled_from(("rows", "columns", "rows:64", "columns:64")),
    st.sampled_from(("rows", "columns", "columns:32")),
)


@settings(max_examples=50, deadline=None)
@given(*QUESTIONS)
def test_all_counts_are_those_of_the_definition(
    arch: str, tile: str, write: str, read: str
) -> None:
    found = bankwise.solve(arch, tile, write=write, read=read)
    lds, shape = found.question.lds, found.question.named.tile
    for count in found.layouts.values():
        total = 0
        for each in count.accesses:
            costs = [count_slowly(lds, shape, count.layout, a) for a in each.accesses.accesses]
            assert each.conflict_cycles == sum(cost.conflict_cycles for cost in costs)
            assert each.cycles == sum(cost.wavefronts for cost in costs)
            total += each.conflict_cycles
        assert count.conflict_cycles == total
        assert f" {total:,}" in str(count)
    assert found.best.cycles <= found.plain.cycles
    assert found.decision.kind in LayoutKind
    assert found.proof
