# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hand-written kernels without a pipeline: whoever wrote them allocates and indexes the LDS."""

import pytest

from bankwise.bench.transpose_ladder import PUBLISHED, PUBLISHED_ROWS, VARIANTS, measure

ROWS = 128


@pytest.mark.parametrize("variant", PUBLISHED)
def test_unmitigated_layouts_count_what_hardware_counted(variant: str):
    counted = measure(variant, ROWS, "none")
    instructions, conflicts = PUBLISHED[variant]
    tiles = PUBLISHED_ROWS // ROWS
    assert counted["SQ_INSTS_LDS"] * tiles == instructions
    assert counted["SQ_LDS_BANK_CONFLICT"] * tiles == conflicts


@pytest.mark.sampled("variant", "arch", every=4)
@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "padded"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_hints_are_honoured_and_found_where_there_are_none(variant: str, arch: str):
    plain = measure(variant.replace("xor_vectorized", "column_major").replace("xor", "row_major"),
                    ROWS, "none", arch)  # fmt: skip
    counted = measure(variant, ROWS, "auto", arch)
    assert plain["SQ_LDS_BANK_CONFLICT"] > 0
    assert counted["SQ_LDS_BANK_CONFLICT"] == 0
    assert counted["SQ_INSTS_LDS"] == plain["SQ_INSTS_LDS"]
    assert counted["LDS_BYTES"] == plain["LDS_BYTES"]


def test_padding_by_hand_leaves_conflicts():
    padded = measure("padded", ROWS, "none")
    assert (
        0
        < padded["SQ_LDS_BANK_CONFLICT"]
        < measure("row_major", ROWS, "none")["SQ_LDS_BANK_CONFLICT"]
    )
