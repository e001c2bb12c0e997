# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function says about the arithmetic of its f32 values.

IREE lets the f32 arithmetic of a function flush subnormal numbers by an attribute. It stands in the
configuration of `translation_info`, and on the function itself once the pipeline has run:

    iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">
"""

from __future__ import annotations

import re

from iree.compiler import ir

_ATTRIBUTE = "iree_codegen.denormal_fp_math_f32"
_FLUSHING = re.compile(r'denormal_fp_math<\s*"?(?:preserve-sign|positive-zero)"?\s*>')
_FLUSHING_ENTRY = re.compile(rf"\b{re.escape(_ATTRIBUTE)} = #iree_codegen\.{_FLUSHING.pattern}")


def flushes_subnormals(function: ir.Operation) -> bool:
    """Returns whether the f32 arithmetic of `function` may take subnormal numbers for zeros."""
    attributes = function.attributes
    if _ATTRIBUTE in attributes:
        return _FLUSHING.search(str(attributes[_ATTRIBUTE])) is not None
    if "translation_info" not in attributes:
        return False
    return _FLUSHING_ENTRY.search(str(attributes["translation_info"])) is not None
