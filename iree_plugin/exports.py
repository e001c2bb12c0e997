# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the names and declarations of a module's exported functions say."""

from __future__ import annotations

import re
from collections.abc import Iterable


def callable_names(names: Iterable[str]) -> list[str]:
    """The functions among which one may be left unnamed, as `iree-run-module` picks them.

    Names with `__` in front belong to the compiler, and a `$` marks a variant of a function:
    `main$async` is `main` with fences to wait for and to signal.
    """
    return [name for name in names if not name.startswith("__") and "$" not in name]


_PARAMETERS = re.compile(r"@[^(]*\((?P<list>.*?)\)(?: ->|\s*$)")
_TENSOR = re.compile(r"^%\w+: tensor<(?:[\d?]+x)*(?P<type>[^,>]*(?:<[^>]*>)?)[,>]")


def declared_element_types(declaration: str) -> list[str]:
    """The element types of a function's parameters; empty where one is no tensor.

    Args:
        declaration: such as `sync func @main(%input0: tensor<4x?xbf16>, %input1: i32) -> i32`.
    """
    match = _PARAMETERS.search(declaration)
    if match is None or not match["list"].strip():
        return []
    tensors = (_TENSOR.match(each.strip()) for each in re.split(r", (?=%)", match["list"]))
    return [tensor["type"] if tensor else "" for tensor in tensors]
