# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where NVIDIA GPUs have instructions for functions of f32, and in which form of theirs."""

from __future__ import annotations

import re

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import number_type, scalar_type
from ...dialect_utils.gpu_target import gpu_features_of

_SUBNORMALS = "iree_codegen.denormal_fp_math_f32"
_FLUSHES = re.compile(r'denormal_fp_math<\s*"?(?:preserve-sign|positive-zero)"?\s*>')
_FLUSHES_CONFIGURED = re.compile(rf"\b{re.escape(_SUBNORMALS)} = #iree_codegen\.{_FLUSHES.pattern}")


def has_native_f32(function: ir.Operation, test_target: str | None) -> bool:
    """Returns whether `function` is for a GPU that has `ex2.approx` and `div.full` of f32."""
    return gpu_features_of(function, test_target).native_exp2


def computed_in_f32(value: ir.Value) -> bool:
    """Returns whether a number, or all of a vector whose size is known, is f32, f16 or bf16."""
    return isinstance(number_type(value.type), ir.F32Type | ir.F16Type | ir.BF16Type)


def in_f32(at: Builder, value: ir.Value) -> ir.Value:
    """Returns a number, or a vector, with elements of f32."""
    kind, f32 = value.type, ir.F32Type.get(at.context)
    if isinstance(scalar_type(kind), ir.F32Type):
        return value
    is_vector = isinstance(kind, ir.VectorType)
    return at.extf(value, at.vector_type(kind.shape, f32) if is_vector else f32)


def flushes_subnormals(function: ir.Operation) -> bool:
    """Returns whether the f32 arithmetic of `function` may take subnormal numbers for zeros.

    IREE lets it do so by an attribute. It stands in the configuration of `translation_info`, and on
    the function itself once the pipeline has run:

        iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">
    """
    attributes = function.attributes
    if _SUBNORMALS in attributes:
        return _FLUSHES.search(str(attributes[_SUBNORMALS])) is not None
    if "translation_info" not in attributes:
        return False
    return _FLUSHES_CONFIGURED.search(str(attributes["translation_info"])) is not None
