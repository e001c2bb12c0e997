# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attributes by which passes hand values to later passes: `bankwise.NAME`, on operations.

`docs/passes.md` lists them. Each is noted, read and forgotten by functions that say what it means;
this module has their names, so that no two are the same.
"""

from __future__ import annotations

from ..bank_model.quick_tuple import NamedTuple


class HandedAttribute(NamedTuple):
    """An attribute that a pass sets for later ones.

    Attributes:
        name: behind `bankwise.`.
        place: the operations that have it.
        value: what its value is, and what it says.
        written: the passes that set it, or who else does so.
        read: the passes that act on it, or who else does so.
    """

    name: str
    place: str
    value: str
    written: tuple[str, ...]
    read: tuple[str, ...]


HANDED: list[HandedAttribute] = []
"""All of them, by the order of the pipelines."""


def _handed(
    name: str, place: str, value: str, written: tuple[str, ...], read: tuple[str, ...]
) -> str:
    """Returns the whole name of an attribute, and lists it."""
    HANDED.append(HandedAttribute(name, place, value, written, read))
    return f"bankwise.{name}"


SIZE_BOUNDS = _handed(
    "size_bounds",
    "the operation of a program that becomes several kernels",
    "the largest sizes of the kernels, ascending; the last kernel has all larger ones",
    ("bankwise-specialize-sizes",),
    ("bankwise-use-matrix-instructions", "bankwise-tile-dynamic-matmuls"),
)
UNSIGNED_FACTORS = _handed(
    "unsigned_factors",
    "functions",
    "the numbers of the operands, of 0 and 1, that hold unsigned bytes",
    ("bankwise-check-products",),
    ("bankwise-multiply-unsigned",),
)
IMAGE_FACTOR = _handed(
    "image_factor",
    "functions with `unsigned_factors`",
    "the number of the operand that is the image, until the convolution is a product of matrices",
    ("bankwise-check-products",),
    ("bankwise-check-products",),
)
CARRIES_INTEGERS = _handed(
    "carries_integers",
    "functions",
    "its f8 and f32 are i8 and i32; a text: why they are not multiplied as such yet",
    ("bankwise-carry-integers",),
    ("bankwise-retile", "bankwise-multiply-integers"),
)
SHAPE = _handed(
    "shape",
    "bindings (`hal.interface.binding.subspan`)",
    "the true sizes of a buffer that has become larger; of a size that only the program knows, "
    "the negative multiple that it is rounded up to",
    (
        "bankwise-use-matrix-instructions",
        "bankwise-tile-by-lanes",
        "bankwise-tile-matmuls-by-lanes",
        "bankwise-tile-dynamic-matmuls",
        "bankwise-enlarge-matmuls",
        "bankwise-implicit-gemm",
        "bankwise-tile-convolutions-by-lanes",
        "bankwise-round-up-keys",
    ),
    ("bankwise-stage-operands", "bankwise-share-copies", "bankwise-restore-shapes"),
)
ENLARGED_BINDINGS = _handed(
    "enlarged_bindings",
    "functions",
    "the names of the bindings with `shape`, none of which may get lost",
    ("those of `shape`",),
    ("bankwise-restore-shapes",),
)
STRIDED = _handed(
    "strided",
    "bindings (`hal.interface.binding.subspan`)",
    "the digits of each index, each with its stride, the number of elements, and the first one",
    ("bankwise-implicit-gemm", "bankwise-tile-convolutions-by-lanes"),
    (
        "bankwise-enlarge-matmuls",
        "bankwise-retile",
        "bankwise-share-copies",
        "bankwise-restore-shapes",
    ),
)
WINDOWS = _handed(
    "windows",
    "functions",
    "there is one where loops over windows are to be unrolled",
    ("bankwise-tile-windows",),
    ("bankwise-unroll-windows",),
)
SUM_ORDER = _handed(
    "sum_order",
    "functions",
    "how many summed elements a step has, whose products come from the last to the first, or 0 "
    "once they are in order; of how many the products stay so, while these groups come from the "
    "first to the last; 1 where products are to be rounded before they are added",
    ("bankwise-tile-convolutions-by-lanes", "bankwise-tile-matmuls-by-lanes"),
    ("bankwise-keep-sum-order",),
)
KEYS = _handed(
    "keys",
    "functions",
    "how many rows K has, and how many it has got, as in `shape`",
    ("bankwise-use-matrix-instructions", "bankwise-tile-by-lanes", "bankwise-round-up-keys"),
    ("bankwise-exclude-absent-keys",),
)
SLOTS = _handed(
    "slots",
    "functions",
    "for how many steps of a loop the LDS is to hold tiles",
    ("all passes that choose a tile",),
    (
        "bankwise-overlap-copies",
        "and, for whether copies go without registers, all that lay out tiles",
    ),
)
DESCRIBED_TILE = _handed(
    "described_tile",
    "functions",
    "there is one where a tile was chosen for operands that descriptors give",
    ("bankwise-retile",),
    (
        "bankwise-reorder-keys",
        "bankwise-share-copies",
        "bankwise-overlap-copies",
        "bankwise-form-wgmma",
    ),
)
HELD_WORKGROUPS = _handed(
    "held_workgroups",
    "functions",
    "how many workgroups a multiprocessor is to hold at most",
    ("bankwise-retile",),
    ("bankwise-hold-workgroups",),
)
OF_THE_PROGRAM = _handed(
    "of_the_program",
    "`linalg.generic`",
    "there is one where the operation was there before bufferization",
    ("the replay of a pipeline, before it bufferizes",),
    ("the replay, behind that",),
)
OF_EACH_LANE = _handed(
    "of_each_lane",
    "`memref.alloc`",
    "there is one where each lane means memory of its own, which IREE puts into the LDS",
    ("the replay, behind bufferization",),
    ("bankwise-keep-lanes-apart",),
)
ATTRIBUTION = _handed(
    "attribution",
    "`memref.alloc`",
    "there is one where the allocation was a workgroup attribution",
    ("bankwise-allocate-attributions",),
    ("bankwise-attribute-allocations",),
)
HINTS = _handed(
    "hints",
    "functions",
    "there is one where the swizzle hints are Bankwise's, from emitting to resolving them",
    ("bankwise-swizzle-lds-allocs", "bankwise-arrange-operands"),
    (
        "bankwise-flatten-swizzle-hints",
        "bankwise-absorb-swizzle-hints",
        "bankwise-reinsert-swizzle-hints",
        "bankwise-resolve-swizzle-hints",
        "bankwise-align-lds-accesses",
    ),
)
PERMUTED_ELEMENTS = _handed(
    "permuted_elements",
    "`memref.alloc`",
    "the elements of which `amdgpu.gather_to_lds` writes each group in swizzled order, where "
    "copies of the buffer behind each other would not repeat the order",
    ("bankwise-absorb-swizzle-hints",),
    ("bankwise-reinsert-swizzle-hints",),
)
ARRANGED = _handed(
    "arranged",
    "`memref.alloc`",
    "the number of the tile: its hint is the layout of descriptors, and no other comes on top",
    ("bankwise-arrange-operands",),
    ("bankwise-swizzle-lds-allocs", "bankwise-overlap-copies", "the report"),
)
DESCRIBED = _handed(
    "described",
    "`memref.extract_aligned_pointer_as_index`",
    "there is one where only descriptors get the address",
    ("bankwise-form-wgmma",),
    ("all passes behind it that follow accesses to the LDS", "the report"),
)
STORED_FACTORS = _handed(
    "stored_factors",
    "`memref.alloc`",
    "there is one where the allocation holds factors that are stored for descriptors alone",
    ("bankwise-form-wgmma",),
    ("the report",),
)
ROUNDED_QUOTIENT = _handed(
    "rounded_quotient",
    "`arith.divf`",
    "there is one where the quotient stays rounded correctly, while IREE's pass adds others",
    ("bankwise-native-division",),
    ("bankwise-native-division",),
)
