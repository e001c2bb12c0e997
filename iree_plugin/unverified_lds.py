# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LDS that no pass of ours has seen: kernels that the stock compiler keeps for itself."""

from __future__ import annotations

from collections.abc import Collection

from iree.compiler import ir

from ..dialect_utils.operations import operations_in
from .device_functions import GPU_BACKENDS, backend_of

_LDS_ADDRESS_SPACE = 3


def report_unverified_lds(module: ir.Operation, verified: Collection[str]) -> bool:
    """Emits an error for each GPU kernel that uses LDS and is none of the `verified` functions.

    Args:
        module: after phase `executable-targets`.

    Returns:
        whether there was none.
    """
    clean = True
    for variant in operations_in(module, "hal.executable.variant"):
        if backend_of(variant) not in GPU_BACKENDS:
            continue
        names = [
            ir.StringAttr(function.attributes["sym_name"]).value
            for function in operations_in(variant, "llvm.func")
            if len(function.regions[0].blocks)
        ]
        unseen = [name for name in names if name not in verified]
        if unseen and lds_arrays(variant):
            variant.location.emit_error(
                f"LDS accesses of @{unseen[0]} cannot be verified: its pipeline is left to the "
                "stock compiler"
            )
            clean = False
    return clean


def lds_arrays(variant: ir.Operation) -> int:
    """Returns how many LDS arrays the LLVM dialect of a variant declares."""
    return sum(
        "addr_space" in each.attributes
        and ir.IntegerAttr(each.attributes["addr_space"]).value == _LDS_ADDRESS_SPACE
        for each in operations_in(variant, "llvm.mlir.global")
    )
