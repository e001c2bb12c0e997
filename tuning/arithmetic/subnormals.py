# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of subnormal numbers in a function."""

from __future__ import annotations

import re

from iree.compiler import ir

_SUBNORMALS = "iree_codegen.denormal_fp_math_f32"
_FLUSHES = re.compile(r'denormal_fp_math<\s*"?(?:preserve-sign|positive-zero)"?\s*>')
_FLUSHES_CONFIGURED = re.compile(rf"\b{re.escape(_SUBNORMALS)} = #iree_codegen\.{_FLUSHES.pattern}")


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
