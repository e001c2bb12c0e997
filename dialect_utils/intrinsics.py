# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of LLVM intrinsics, by which a pass asks for one machine instruction."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir


def call_intrinsic(
    name: str,
    operands: Sequence[ir.Value],
    result: ir.Type,
    point: ir.InsertionPoint,
    location: ir.Location,
) -> ir.Value:
    """Creates an `llvm.call_intrinsic` at `point` and returns its only result.

    Args:
        name: the intrinsic as LLVM spells it, such as `llvm.amdgcn.perm`.
    """
    context = location.context
    # Asking for the dialect loads it, where nothing in the module has its operations yet.
    context.get_dialect_descriptor("llvm")
    call = ir.Operation.create(
        "llvm.call_intrinsic",
        results=[result],
        operands=list(operands),
        attributes={
            "intrin": ir.StringAttr.get(name, context),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0], context),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([], context),
        },
        loc=location,
        ip=point,
    )
    return call.results[0]
