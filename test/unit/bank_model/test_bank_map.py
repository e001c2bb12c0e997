# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bank maps say the same as the counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankwise.bank_model.bank_map import bank_map, phase_maps, worst_bank_map, worst_phase
from bankwise.bank_model.conflicts import phase_costs
from bankwise.bank_model.errors import InvalidParameterError
from bankwise.bank_model.layouts import MachineAccess
from bankwise.bank_model.lds_rules import LdsInstruction
from bankwise.bank_model.lds_tables import known_targets, lds_of
from bankwise.bank_model.slow_count import served_together

INSTRUCTIONS = [i for arch in known_targets() for i in lds_of(arch).instructions]


@given(
    st.sampled_from(INSTRUCTIONS), st.randoms(use_true_random=False), st.booleans(), st.booleans()
)
def test_a_map_agrees_with_the_counts(
    instruction: LdsInstruction, random: object, masked: bool, pairs: bool
) -> None:
    wave = sum(map(len, instruction.phases))
    draw = random.randrange  # pyright: ignore[reportAttributeAccessIssue]
    addresses = np.array([[draw(256) * instruction.width_bytes for _ in range(wave)]])
    if pairs:
        # Neighbours want the same, by which phases of wide loads of NVIDIA's become one.
        addresses = np.repeat(addresses[:, ::2], 2, axis=1)
    active = np.array([[draw(2) == 1 for _ in range(wave)]]) if masked else None
    machine = MachineAccess(instruction, addresses, active)
    costs = phase_costs(instruction, addresses, active)[0]
    on = {n: int(a) for n, a in enumerate(addresses[0]) if active is None or active[0, n]}
    together = served_together(instruction, on)
    served = together
    if len(together) < len(instruction.phases):
        # Of two phases that are one, the second has no lanes.
        served = [lanes for pair in together for lanes in (pair, ())]
    for phase, lanes in enumerate(served):
        found = bank_map(machine, 0, phase)
        assert found.cycles == costs[phase]
        wanted: list[dict[int, list[int]]] = [{} for _ in range(instruction.banks)]
        for lane in sorted(lanes):
            if lane in on:
                first = on[lane] // 4
                for word in range(first, first + max(instruction.width_bytes // 4, 1)):
                    wanted[word % instruction.banks].setdefault(word, []).append(lane)
        assert [{w.word: list(w.lanes) for w in words} for words in found.words_by_bank] == wanted
        assert found.conflicting_banks == tuple(b for b, ws in enumerate(wanted) if len(ws) > 1)
    worst = worst_bank_map([machine])
    assert worst is not None
    assert worst.cycles == costs.max()
    assert worst.conflict_cycles == max(costs.max() - 1, 0)


def test_the_worst_phase_is_the_first_of_the_most_cycles() -> None:
    read = lds_of("gfx942").instruction_named("ds_read_b32")
    lanes = np.arange(64)
    free = MachineAccess(read, (lanes * 4)[None], None)
    second_phase = MachineAccess(read, np.where(lanes < 32, lanes * 4, lanes * 128)[None], None)
    assert worst_phase([free, second_phase]) == (1, 0, 1)
    assert worst_phase([free, free]) == (0, 0, 0)
    assert worst_phase([]) is None
    found = worst_bank_map([free, second_phase])
    assert found is not None
    assert found.cycles == 32
    assert found.lanes == tuple(range(32, 64))


def test_a_phase_that_does_not_exist_is_named() -> None:
    read = lds_of("gfx942").instruction_named("ds_read_b32")
    machine = MachineAccess(read, np.zeros((1, 64), dtype=np.int64), None)
    with pytest.raises(InvalidParameterError, match="phase is 2; allowed: 0 to 1"):
        bank_map(machine, 0, 2)
    with pytest.raises(InvalidParameterError, match="issue is 1; allowed: 0 to 0"):
        bank_map(machine, 1, 0)


def test_the_phases_of_an_access_are_shown_by_the_lane_that_they_serve_first() -> None:
    (wide,) = (each for each in lds_of("gfx942").instructions if each.name == "ds_read_b128")
    (narrow,) = (each for each in lds_of("gfx942").instructions if each.name == "ds_read_b32")
    lanes = np.arange(64)
    active = np.ones((1, 64), dtype=bool)
    active[0, list(wide.phases[1])] = False
    plain = MachineAccess(wide, 16 * lanes[None], active)
    other = MachineAccess(narrow, 128 * lanes[None], None)
    shown = list(phase_maps([plain, other], [0]))
    # Nobody is active in the second phase, and all lanes of the other instruction are in one.
    assert [first.phase for first, _ in shown] == [0, *range(2, len(wide.phases))]
    for first, second in shown:
        assert first == bank_map(plain, 0, first.phase)
        (phase,) = (n for n, each in enumerate(narrow.phases) if first.lanes[0] in each)
        assert second == bank_map(other, 0, phase)
