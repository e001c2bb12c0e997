# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every Bankwise pass, one line each."""

from __future__ import annotations

import difflib

from .absorb_swizzle_hints import AbsorbSwizzleHints
from .align_lds_accesses import AlignLdsAccesses
from .base import FunctionPass
from .defer_lane_sums import DeferLaneSums
from .flatten_swizzle_hints import FlattenSwizzleHints
from .form_ldmatrix import FormLdmatrix
from .hint_vector_allocs import HintVectorAllocs
from .join_lds_accesses import JoinLdsAccesses
from .native_bf16 import NativeBf16
from .native_exp2 import NativeExp2
from .order_products import OrderProducts
from .overlap_copies import OverlapCopies
from .pad_unhinted_allocs import PadUnhintedAllocs
from .reinsert_swizzle_hints import ReinsertSwizzleHints
from .reload_operands import ReloadOperands
from .rename_contractions import RenameContractions
from .rename_registers import RenameRegisters
from .resolve_swizzle_hints import ResolveSwizzleHints
from .retile import Retile
from .swizzle_lds_allocs import SwizzleLdsAllocs
from .transpose_bytes import TransposeBytes
from .transpose_products import TransposeProducts
from .verify_lds_conflicts import VerifyLdsConflicts
from .warn_unhinted_allocs import WarnUnhintedAllocs

PASSES: tuple[type[FunctionPass], ...] = (
    Retile,
    TransposeProducts,
    RenameRegisters,
    DeferLaneSums,
    HintVectorAllocs,
    RenameContractions,
    JoinLdsAccesses,
    SwizzleLdsAllocs,
    FlattenSwizzleHints,
    PadUnhintedAllocs,
    WarnUnhintedAllocs,
    FormLdmatrix,
    AbsorbSwizzleHints,
    TransposeBytes,
    ReinsertSwizzleHints,
    ResolveSwizzleHints,
    NativeExp2,
    NativeBf16,
    AlignLdsAccesses,
    OverlapCopies,
    ReloadOperands,
    OrderProducts,
    VerifyLdsConflicts,
)
"""The passes in the order of a compile."""


class UnknownPassError(ValueError):
    """A name of the `bankwise-` family that no pass has."""


def registered_passes() -> dict[str, type[FunctionPass]]:
    """Returns the passes by their textual names, in the registry's order."""
    return {each.name: each for each in PASSES}


def make_pass(name: str, options: str) -> FunctionPass:
    """Makes the pass `name` with textual options.

    Raises:
        UnknownPassError: no pass has this name; the message suggests the closest one.
        PassOptionError: an unknown option or a value of the wrong kind.
    """
    passes = registered_passes()
    if name not in passes:
        close = difflib.get_close_matches(name, passes, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise UnknownPassError(f"'{name}' does not refer to a registered pass{hint}")
    return passes[name].from_options(options)
