# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function says about subnormal numbers."""

from __future__ import annotations

import pytest

from bankwise.tuning.arithmetic.float_mode import flushes_subnormals

from ...functions import launched, parse

MODE = "iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<{}>"


@pytest.mark.parametrize(
    ("attributes", "flushes"),
    [
        ("", False),
        (MODE.format('"preserve-sign"'), True),
        (MODE.format('"positive-zero"'), True),
        (MODE.format("none"), False),
        (launched(options=MODE.format('"preserve-sign"')), True),
        (launched(options=MODE.format("none")), False),
        (launched(options="llvm_func_attrs = {}"), False),
        # Another attribute of the same kind says nothing about f32.
        (launched(options=MODE.replace("f32", "f64").format('"preserve-sign"')), False),
        # The attribute of the function is the later one.
        (MODE.format("none") + ", " + launched(options=MODE.format('"preserve-sign"')), False),
    ],
)
def test_the_attribute_decides_wherever_it_stands(attributes: str, flushes: bool) -> None:
    parsed = parse(f"func.func @f() attributes {{{attributes}}} {{ return }}")
    assert flushes_subnormals(parsed.function) == flushes
