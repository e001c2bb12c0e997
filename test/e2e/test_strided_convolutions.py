# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strided convolutions of a single element, whose image another operation makes."""

from __future__ import annotations

import pytest

from bankwise.bench.program_families.convolutions import NCHW, NHWC, negated
from bankwise.bench.program_families.program import Program
from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.python_compile import compile
from bankwise.sweep.cases import target_flags

from .program_runs import run_program

NCW, NWC = ("n c w", "f c x", "n f w"), ("n w c", "x c f", "n w f")

CASES = [
    ("gfx942", negated("conv_2d_nchw_fchw", NCHW, "f16", 2, 2, 32, 9, 9, f=48)),
    ("gfx942", negated("conv_2d_nhwc_hwcf", NHWC, "f16", 3, 2, 14, 11, 40, f=33)),
    ("gfx950", negated("conv_2d_nchw_fchw", NCHW, "bf16", 2, 1, 64, 16, 13, f=24)),
    ("gfx942", negated("conv_2d_nchw_fchw", NCHW, "f32", 2, 1, 32, 8, 8, f=64)),
    ("gfx942", negated("conv_1d_ncw_fcw", NCW, "f16", 4, 3, 20, 70, f=17)),
    ("gfx950", negated("conv_1d_nwc_wcf", NWC, "f16", 5, 1, 99, 32, f=32)),
]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(("arch", "program"), CASES)
def test_slices_of_images_are_multiplied_by_matrix_instructions(
    arch: str, program: Program
) -> None:
    ran = run_program(program, arch)
    assert ran.error <= program.tolerance
    assert ran.run.counters[Counted.MFMA] > 0


@pytest.mark.parametrize("mode", ["auto/exact", "auto/fast"])
def test_fast_alone_changes_the_order_of_sums(mode: str) -> None:
    source = negated("conv_2d_nchw_fchw", NCHW, "f16", 2, 8, 64, 28, 28, f=128).source
    code = compile(source, target_flags("sm_80"), mode)
    assert (b"mma.sync" in code) == (mode == "auto/fast")
