# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creating operations in front of another one."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir


class OperationBuilder:
    """Creates operations in front of an operation, at its location."""

    def __init__(self, before: ir.Operation, dialects: Sequence[str] = ()) -> None:
        """Makes a builder; `dialects` are loaded, where nothing in the module is of them yet."""
        self.point, self.location = ir.InsertionPoint(before), before.location
        for dialect in dialects:
            before.context.get_dialect_descriptor(dialect)

    def create(
        self, name: str, operands: Sequence[ir.Value], result: ir.Type, **attributes: ir.Attribute
    ) -> ir.Value:
        """Returns the only result of a new operation."""
        return ir.Operation.create(
            name,
            results=[result],
            operands=list(operands),
            attributes=attributes,
            loc=self.location,
            ip=self.point,
        ).results[0]
