# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Typed views of `iree_codegen.swizzle_hint` and of the swizzle attributes it carries.

Attributes are read from their text: the bindings have no classes for them. The formulas are in
`bank_model.swizzles`, after IREECodegenAttrs.td.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from iree.compiler import ir

from ..bank_model.errors import InvalidParameterError
from ..bank_model.swizzles import SWIZZLE_ATTRIBUTES, Swizzle
from .diagnostics import Refusal
from .operations import operations_in, value_behind

HINT_NAME = "iree_codegen.swizzle_hint"
STOWED_SWIZZLE = "iree_codegen.swizzle"
"""The attribute in which prefetching pipelines keep hints on the allocation itself."""

Chain = tuple[Swizzle, ...]
"""Swizzles between an allocation and its users, from the allocation outwards."""

_ATTRIBUTE = re.compile(r"#iree_codegen\.(\w+)<([-\d\s,]+)>")


def parse_swizzle(attribute: ir.Attribute) -> Swizzle:
    """Returns the swizzle that `attribute` stands for.

    Raises:
        Refusal: the attribute is none of `SWIZZLE_ATTRIBUTES`, or its parameters describe no
            permutation of rows.
    """
    match = _ATTRIBUTE.fullmatch(str(attribute))
    if match is None or match[1] not in SWIZZLE_ATTRIBUTES:
        raise Refusal(f"unknown swizzle attribute {attribute}")
    try:
        return SWIZZLE_ATTRIBUTES[match[1]](*(int(text) for text in match[2].split(",")))
    except InvalidParameterError as error:
        raise Refusal(str(error)) from error


def swizzle_attribute(swizzle: Swizzle, context: ir.Context | None = None) -> ir.Attribute:
    """Returns the attribute for `swizzle`, with all its parameters spelled out."""
    return ir.Attribute.parse(f"#iree_codegen.{swizzle}", context)


def is_hint(operation: ir.Operation | ir.OpView) -> bool:
    """Returns whether `operation` is an `iree_codegen.swizzle_hint`."""
    return operation.operation.name == HINT_NAME


def hint_swizzle(hint: ir.Operation | ir.OpView) -> Swizzle:
    """Returns the swizzle of one hint op; raises as `parse_swizzle`."""
    return parse_swizzle(hint.attributes["swizzle"])


def stowed_attributes(allocation: ir.Operation) -> tuple[ir.Attribute, ...]:
    """Returns the swizzle attributes that are stowed on an allocation, from it outwards."""
    if STOWED_SWIZZLE not in allocation.attributes:
        return ()
    attribute = allocation.attributes[STOWED_SWIZZLE]
    return tuple(attribute) if isinstance(attribute, ir.ArrayAttr) else (attribute,)


def stowed_swizzles(allocation: ir.Operation) -> Chain:
    """Returns the swizzles that are stowed on an allocation; none for one without.

    Raises:
        Refusal: as `parse_swizzle` does.
    """
    try:
        return tuple(map(parse_swizzle, stowed_attributes(allocation)))
    except Refusal as refusal:
        raise Refusal(f"{STOWED_SWIZZLE}: {refusal}") from refusal


def unhinted(value: ir.Value) -> ir.Value:
    """Returns `value` without the hints that directly produce it."""
    return value_behind(value, (HINT_NAME,))


def hints_in(function: ir.Operation) -> list[ir.Operation]:
    """Returns all hint ops inside `function`, each after the hints that its operand comes from."""
    # Dominance puts a hint behind its operand's wherever both are in the order of the text.
    return operations_in(function, HINT_NAME)


def remove_hints(hints: Iterable[ir.Operation]) -> None:
    """Removes hints, each of which comes behind those that its operand comes from."""
    for hint in hints:
        hint.results[0].replace_all_uses_with(hint.operands[0])
        hint.erase()
