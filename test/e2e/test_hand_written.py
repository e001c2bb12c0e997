# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hand-written examples: no conflicts once compiled, and the same bits."""

from functools import cache

import pytest

from bankwise.bench import hand_written
from bankwise.bench.hand_written import EXAMPLES, Example

measure = cache(hand_written.measure)
"""Several tests ask for the same runs."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.path)
def test_examples_conflict_as_written_and_not_when_swizzled(example: Example):
    plain, swizzled = measure(example, "none"), measure(example, "auto")
    assert plain.counters["SQ_LDS_BANK_CONFLICT"] > 0
    assert swizzled.counters["SQ_LDS_BANK_CONFLICT"] == 0
    assert swizzled.outputs[0].tobytes() == plain.outputs[0].tobytes()
    assert swizzled.lds_bytes == plain.lds_bytes
    for name in ("SQ_INSTS_VMEM_RD", "GLOBAL_TRANSACTIONS_64B", "LDS_FLOOR_CYCLES"):
        assert swizzled.counters[name] == plain.counters[name]
    assert swizzled.counters["LDS_CYCLES"] == plain.counters["LDS_FLOOR_CYCLES"]


def test_direct_loads_cost_no_more_lds_instructions():
    plain, swizzled = (measure(EXAMPLES[0], each).counters for each in ("none", "auto"))
    assert swizzled["SQ_INSTS_LDS"] == plain["SQ_INSTS_LDS"]
    assert swizzled["SQ_INSTS_VALU"] < 1.25 * plain["SQ_INSTS_VALU"]


def test_direct_loads_meet_four_ways_on_a_bank_before():
    gemm = measure(EXAMPLES[0], "none").counters
    # A read of 16 bytes a lane takes 4 cycles of 64 lanes on 64 banks; 12 more are 4-way conflicts.
    assert gemm["SQ_LDS_BANK_CONFLICT"] == 12 * gemm["SQ_INSTS_LDS"]
    assert gemm["LDS_CYCLES"] == 4 * gemm["LDS_FLOOR_CYCLES"]
