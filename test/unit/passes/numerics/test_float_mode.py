# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function says about subnormal numbers."""

from __future__ import annotations

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.passes.numerics.float_mode import flushes_subnormals

MODE = "iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<{}>"


def translation_info(configuration: str) -> str:
    return (
        "translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<"
        f"VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32, {{{configuration}}}>"
    )


@pytest.mark.parametrize(
    ("attributes", "flushes"),
    [
        ("", False),
        (MODE.format('"preserve-sign"'), True),
        (MODE.format('"positive-zero"'), True),
        (MODE.format("none"), False),
        (translation_info(MODE.format('"preserve-sign"')), True),
        (translation_info(MODE.format("none")), False),
        (translation_info("llvm_func_attrs = {}"), False),
        # Another attribute of the same kind says nothing about f32.
        (translation_info(MODE.replace("f32", "f64").format('"preserve-sign"')), False),
        # The attribute of the function is the later one.
        (MODE.format("none") + ", " + translation_info(MODE.format('"preserve-sign"')), False),
    ],
)
def test_the_attribute_decides_wherever_it_stands(attributes: str, flushes: bool) -> None:
    with Session().context:
        module = ir.Module.parse(f"func.func @f() attributes {{{attributes}}} {{ return }}")
        function = module.body.operations[0].operation
        assert flushes_subnormals(function) == flushes
