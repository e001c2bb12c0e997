# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of executables, which are compiled without the host program that calls them."""

from __future__ import annotations

from collections.abc import Iterable

from iree.compiler import ir

EXECUTABLE = "hal.executable"


def copy_executables(context: ir.Context, executables: Iterable[ir.Operation]) -> ir.Module:
    """Returns a module with copies of some executables alone.

    The compiler would take as long for a host program that nobody needs as for the executables.
    They are public: it drops private ones that no host program calls.
    """
    with ir.Location.unknown(context):
        module = ir.Module.create()
        end = ir.InsertionPoint(module.body)
        for each in executables:
            copy = each.clone(end).operation
            copy.attributes["sym_visibility"] = ir.StringAttr.get("public", context)
    return module
