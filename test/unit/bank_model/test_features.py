# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What chips have, against the instructions of AMD's documents (`tinygrad`, as data)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tinygrad.runtime.autogen.amd.cdna.str_pcode import PCODE as CDNA
from tinygrad.runtime.autogen.amd.rdna3.str_pcode import PCODE as RDNA3
from tinygrad.runtime.autogen.amd.rdna4.str_pcode import PCODE as RDNA4

from bankwise.bank_model.features import features_of
from bankwise.bank_model.lds_tables import known_targets

DOCUMENTS: Mapping[str, Mapping[Any, str]] = {"gfx950": CDNA, "gfx1100": RDNA3, "gfx1201": RDNA4}


@pytest.mark.parametrize("arch", DOCUMENTS)
def test_a_feature_has_its_instruction(arch: str) -> None:
    features = features_of(arch)
    names = {each.name.removesuffix("_E64") for each in DOCUMENTS[arch]}
    assert features.byte_permutes and "V_PERM_B32" in names
    assert "V_DOT2_F32_F16" in names or not features.adds_pairs
    assert ("V_CVT_PK_F16_F32" in names) == features.rounds_pairs
    assert ("V_MFMA_F32_32X32X8_F16" in names) == (features.matrix_generation is not None)
    assert ("V_WMMA_F32_16X16X16_F16" in names) == (features.matrix_generation is None)
    # Nothing of ours makes packed arithmetic on f32: LLVM does where a chip has it.
    assert ("V_PK_FMA_F32" in names) == (features.matrix_generation is not None)


def test_what_profilers_read_is_a_fact_of_the_chip() -> None:
    amd = [features_of(arch) for arch in known_targets() if arch.startswith("gfx")]
    of_time = {each.arch for each in amd if each.conflicts_of_time}
    assert of_time == {"gfx90a", "gfx942", "gfx950"}
    assert {each.arch for each in amd if each.blind_counters} == {"gfx1201"}
    assert all(bool(each.blind_counters) == bool(each.blind_counters_source) for each in amd)
