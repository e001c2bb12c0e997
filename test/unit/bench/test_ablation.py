# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leaving out passes, and what that shows."""

from __future__ import annotations

from bankwise.bench.ablation import left_out, ratios, table
from bankwise.iree_plugin.mitigation import mitigation_edits
from bankwise.passes.mode import Mode
from bankwise.tuning.arithmetic.native_exp2 import NativeExp2
from bankwise.tuning.programs import program_steps
from bankwise.tuning.programs.split_keys import SplitKeys
from bankwise.tuning.retile import Retile

FAST = Mode("auto", "fast")


def kinds() -> list[type]:
    return [type(each) for edit in mitigation_edits(FAST) for each in edit.loaded_passes]


def test_a_pass_is_left_out_and_others_know_of_it() -> None:
    before = kinds()
    with left_out(NativeExp2):
        assert kinds() == [each for each in before if each is not NativeExp2]
        made = [each for edit in mitigation_edits(FAST) for each in edit.loaded_passes]
        assert all(not each.native_exponentials for each in made if isinstance(each, Retile))
    assert kinds() == before


def test_passes_of_programs_are_left_out_too() -> None:
    def named() -> list[str]:
        return [each.name for each in program_steps.program_passes(FAST)]

    before = named()
    with left_out(SplitKeys):
        assert named() == [each for each in before if each != SplitKeys.name]
    assert named() == before and SplitKeys.name in before


def test_a_row_has_the_mean_of_a_set_and_the_ends() -> None:
    times = {
        ("one", "auto/fast", ""): 2.0,
        ("one", "auto/fast", "native-exp2"): 4.0,
        ("two", "auto/fast", ""): 1.0,
        ("two", "auto/fast", "native-exp2"): 0.5,
        ("two", "auto/exact", "native-exp2"): 7.0,  # What it is compared with is missing.
    }
    assert ratios(times) == {"native-exp2": [2.0, 0.5]}
    (row,) = (line for line in table({"a set": [times]}).splitlines() if "native-exp2" in line)
    assert "1.000 (2, 0.50 to 2.00)" in row and "arithmetic" in row
