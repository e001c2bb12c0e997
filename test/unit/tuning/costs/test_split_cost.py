# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the merge of an attention's parts is predicted to take."""

from __future__ import annotations

import pytest

from bankwise.tuning.costs.split_cost import memory_microseconds, merge_microseconds

from ...processors import SM80, known_processor


def test_the_worked_example_holds() -> None:
    assert merge_microseconds(8 * 128, 128, 16, 2, SM80) == pytest.approx(5.9, abs=0.05)


def test_a_merge_takes_its_launch_and_grows_with_its_parts() -> None:
    times = [merge_microseconds(64, 128, splits, 2, SM80) for splits in (2, 4, 8, 16, 32)]
    assert times == sorted(times)
    assert times[0] > SM80.launch_cycles / SM80.megahertz


@pytest.mark.parametrize("arch", ["sm_80", "gfx942", "gfx950"])
def test_memory_moves_what_the_data_sheets_say(arch: str) -> None:
    gigabytes = {"sm_80": 4800, "gfx942": 5300, "gfx950": 8000}[arch]
    assert memory_microseconds(gigabytes * 1000, known_processor(arch)) == pytest.approx(1.0)
