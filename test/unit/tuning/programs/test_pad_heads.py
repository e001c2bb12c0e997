# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When `bankwise-pad-heads` copies heads to longer rows, and to which."""

from __future__ import annotations

import pytest

from bankwise.passes.base import PassOptionError
from bankwise.passes.decisions import Action
from bankwise.tuning.programs.pad_heads import PadHeads
from bankwise.tuning.programs.program_attention import ATTENTION
from bankwise.tuning.programs.split_keys import SplitKeys

from ...functions import run
from .test_split_keys import program


def test_heads_that_many_workgroups_copy_are_copied_before() -> None:
    parsed = program("sm_80", 24, 2048, 75, keys=2048)
    decision = run(parsed, PadHeads()).decision
    assert decision.action is Action.COPY_HEADS
    assert decision.detail == "80 and 80 elements"
    (attention,) = parsed.operations(ATTENTION)
    assert "tensor<24x2048x80xf16>" in str(attention.results[0].type)


@pytest.mark.parametrize(
    ("sizes", "keys", "reason"),
    [
        # The copies and two launches take as long as is saved.
        ((2, 128, 75), 128, "heads copied to rows of 80 and 80 elements are predicted to take"),
        ((24, 2048, 64), 2048, "lanes can copy 16 bytes of its rows at once"),
        ((32, 1, 75), 4096, "it has a single row"),
        # What memory alone takes would be doubled.
        ((8, 16, 75), 8192, "heads copied to rows of 80 and 80 elements are predicted to take"),
    ],
)
def test_whatever_gains_nothing_keeps_its_rows(
    sizes: tuple[int, ...], keys: int, reason: str
) -> None:
    parsed = program("sm_80", *sizes, keys=keys)
    before = str(parsed.module)
    found = run(parsed, PadHeads())
    assert not found.decisions
    (message,) = found.messages
    assert message.startswith(f"heads are not copied: {reason}")
    assert str(parsed.module) == before


def test_heads_are_copied_for_parts_of_keys_too() -> None:
    parsed = program("sm_80", 2, 4096, 75, keys=4096)
    found = run(parsed, PadHeads(), SplitKeys())
    assert [each.action for each in found.decisions] == [Action.COPY_HEADS, Action.SPLIT]
    (attention,) = parsed.operations("iree_linalg_ext.online_attention")
    assert "x80xf16>" in str(attention)


def test_a_gpu_that_was_compared_with_nothing_is_asked_for() -> None:
    parsed = program("sm_89", 8, 8192, 33, keys=8192)
    (message,) = run(parsed, PadHeads()).messages
    assert "; no time was measured on sm_89, and --bankwise-retile=on does so anyway" in message
    assert run(parsed, PadHeads(unmeasured=True)).decision.action is Action.COPY_HEADS


@pytest.mark.parametrize(
    ("arch", "reason"),
    [
        ("gfx942", "the copies of this GPU's lanes were not compared"),
        ("sm_120", "there is no prediction for the GPU"),
    ],
)
def test_other_gpus_keep_their_rows(arch: str, reason: str) -> None:
    parsed = program(arch, 24, 2048, 75, keys=2048)
    assert run(parsed, PadHeads()).messages == [f"heads are not copied: {reason}"]


def test_a_number_of_elements_is_no_less_than_zero() -> None:
    with pytest.raises(PassOptionError):
        PadHeads(multiple=-1)
