# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The spans of waves have no gaps, and the picture shows all of them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from bankwise.bench.timing_pieces import piece, played
from bankwise.emulator.timing.constants import CHIPS
from bankwise.emulator.timing.prediction import Prediction
from bankwise.emulator.timing.reasons import Reason
from bankwise.emulator.timing.timeline_picture import Doing, timeline_svg
from bankwise.emulator.timing.wave_spans import Span, wave_spans

CHIP = CHIPS["gfx942"].with_values(instruction_fetch=0)
COLOURS = ":root { --ink: #000; --paper: #fff; --line: #ccc; --soft: #666; --head: #eee; }"
STEP = """v_lshlrev_b32_e32 v1, 2, v0
ds_write_b32 v1, v0
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b32 v2, v1
v_mfma_f32_16x16x16_bf16 v[10:13], v[4:5], v[6:7], 0
s_waitcnt lgkmcnt(0)
v_add_f32_e32 v3, v10, v2
s_barrier
"""
LOOP = f"""s_mov_b32 s4, 0
.Lagain:
{STEP}s_add_i32 s4, s4, 1
s_cmp_lt_i32 s4, 200
s_cbranch_scc1 .Lagain"""
DEFINED = {f"v{k}": 0 for k in (4, 5, 6, 7)}
MOVES = "\n".join(f"v_mov_b32_e32 {name}, 0" for name in DEFINED)


def spans_of(code: str, waves: int) -> tuple[Prediction, list[list[Span]]]:
    predicted = played(code, waves=waves, chip=CHIP, defined=DEFINED)
    kernel = piece(f"{MOVES}\n{code}", waves=waves)
    return predicted, [list(wave_spans(kernel, predicted, wave)) for wave in range(waves)]


@pytest.mark.parametrize("waves", [1, 3])
def test_spans_are_what_the_waves_cycles_are_spent_on(waves: int) -> None:
    predicted, spans = spans_of(STEP * 3, waves)
    spent: Counter[Reason] = Counter()
    for of_wave in spans:
        assert all(one.stop == other.start for one, other in pairwise(of_wave))
        for span in of_wave:
            assert span.stop > span.start
            spent[span.reason] += span.stop - span.start
    total = sum(spent.values())
    for reason, part in predicted.spent.items():
        assert spent[reason] / total == pytest.approx(part, abs=1e-9), reason


def test_a_wait_belongs_to_the_instruction_that_waits() -> None:
    _, (spans,) = spans_of(STEP, 1)
    instructions = piece(f"{MOVES}\n{STEP}").instructions
    waits = {
        (instructions[span.index].mnemonic, span.reason)
        for span in spans
        if span.reason is not Reason.ISSUE
    }
    assert waits >= {
        ("s_waitcnt", Reason.LDS_WAIT),
        ("s_barrier", Reason.BARRIER),
    }
    assert ("ds_read_b32", Reason.LDS_WAIT) not in waits


def drawn(code: str, waves: int = 2) -> tuple[str, set[str]]:
    """Returns the picture of a piece, and its texts."""
    predicted = played(code, waves=waves, chip=CHIP, defined=DEFINED)
    picture = timeline_svg([(piece(f"{MOVES}\n{code}", waves=waves), predicted)], COLOURS)
    svg = ElementTree.fromstring(picture)
    return picture, {"".join(e.itertext()) for e in svg.iter("{http://www.w3.org/2000/svg}text")}


def test_a_short_workgroup_is_drawn_once() -> None:
    picture, texts = drawn(STEP)
    assert "k: one workgroup, predicted for MI300X" in texts
    assert {"wave 0", "wave 1", "cycle"} <= texts
    assert 'class="frame"' not in picture
    assert "wave 1: wait at lgkmcnt, " in picture
    legend = [text for text in texts for doing in Doing if text.startswith(doing.value[1] + ": ")]
    assert len(legend) == len(Doing)
    shares = [float(text.rsplit(" ", 1)[1].rstrip("%")) for text in legend]
    assert sum(shares) == pytest.approx(100, abs=0.4)


def test_whole_steps_of_a_loop_are_enlarged_from_its_middle() -> None:
    picture, texts = drawn(LOOP)
    assert picture.count('class="frame"') == 1
    (title,) = (text for text in texts if text.startswith("Cycles "))
    found = re.fullmatch(
        r"Cycles ([\d,]+) to ([\d,]+) enlarged, (\d+) steps of the loop; .*", title
    )
    assert found, title
    start, stop, steps = (int(group.replace(",", "")) for group in found.groups())
    assert 1500 <= stop - start <= 5000
    assert steps > 1
    assert abs((start + stop) / 2 / (stop - start) * steps / 200 - 0.5) < 0.2


def test_all_that_is_drawn_of_a_wave_lies_in_its_row() -> None:
    """The parts of the columns of the whole workgroup fill the rows."""
    picture, _ = drawn(LOOP)
    heights = [float(height) for height in re.findall(r"h4v([\d.]+)h-4z", picture)]
    columns = 880 // 4
    assert sum(heights) == pytest.approx(2 * columns * 22, rel=0.02)
    left = [float(x) for x in re.findall(r'<rect class="\w+" x="([\d.]+)"', picture)]
    assert min(left) >= 62
    assert max(left) <= 62 + 880


def test_each_doing_has_a_colour_of_its_own() -> None:
    picture, _ = drawn(STEP)
    colours = dict(re.findall(r"\.(\w+) { fill: (#\w+); }", picture))
    assert len({colours[doing.style] for doing in Doing}) == len(Doing)
