# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finding out whether a user has chosen tiles and pipelines, so that they are not IREE's choice.

A configured module does not say who has configured it. So the program is read again as it came, and
the flags are searched.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from ..dialect_utils.operations import operations_in
from .compile_settings import joined_flags

_ATTRIBUTES = (
    "compilation_info",
    "lowering_config",
    "translation_info",
    "decomposition_config",
    "iree_codegen.tuning_spec_mlirbc",
)
_FLAGS = (
    "iree-codegen-tuning-spec-path",
    "iree-codegen-enable-default-tuning-specs",
    "iree-codegen-transform-dialect-library",
)


def configuring_flag(flags: Sequence[str]) -> str:
    """Returns why the flags make configurations the user's own; empty where they do not."""
    for flag in joined_flags(flags):
        name, _, value = flag.lstrip("-").partition("=")
        if name in _FLAGS and value != "false":
            return f"--{name} is given"
    return ""


def configuring_attribute(program: ir.Operation) -> str:
    """Returns why a program makes configurations the user's own; empty where it does not."""
    for operation in operations_in(program):
        for name in _ATTRIBUTES:
            if name in operation.attributes:
                return f"the program has a {name} of its own"
    return ""
