# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of unsigned bytes, which stock multiplies as signed ones, against NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankwise.bench.random_kinds.bytes_products import CONVOLUTIONS, Product
from bankwise.iree_plugin.python_compile import compile
from bankwise.iree_plugin.stepped_compile import CompileError
from bankwise.sweep.cases import target_flags

from .program_runs import run_program

DOCUMENTED = Path(__file__).parents[2] / "docs/for_iree"
MODES = ("auto/layout", "auto/exact", "auto/fast", "swizzle", "pad", "none")


@pytest.mark.sampled("arch", "mode", every=6)
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("mode", MODES)
def test_matrix_instructions_multiply_unsigned_bytes(arch: str, mode: str) -> None:
    product = Product({"m": 33, "n": 48, "k": 70}, ("mk", "nk", "mn"))
    run_program(product.program(), arch, mode).assert_exact(by_matrix=True)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("unsigned", [(True, False), (False, True)], ids=str)
@pytest.mark.parametrize("operands", [CONVOLUTIONS[0], CONVOLUTIONS[2]], ids="_".join)
def test_a_convolution_tells_the_image_from_the_filter(
    operands: tuple[str, str, str], unsigned: tuple[bool, bool]
) -> None:
    """IREE puts the filter first in the product of matrices where channels come first."""
    loops = {"h": 8, "w": 8, "p": 3, "q": 3, "c": 16, "f": 32}
    product = Product(loops, operands, unsigned)
    run_program(product.program(), mode="auto/exact").assert_exact(by_matrix=True)


@pytest.mark.parametrize("arch", ["gfx942", "sm_80"])
def test_what_instructions_would_drop_is_refused(arch: str) -> None:
    source = (DOCUMENTED / "exponential_factor.mlir").read_text()
    with pytest.raises(CompileError, match=r"error: a matrix instruction would drop math\.exp"):
        compile(source, target_flags(arch), "auto/layout")
