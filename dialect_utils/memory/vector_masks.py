# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many elements of its vector a mask lets each lane access, along each dimension of a memref.

    %m = vector.create_mask %c1, %n : vector<1x4xi1>       1 along the first one, %n along the other

A mask that is no such box in each lane is not known.
"""

from __future__ import annotations

from iree.compiler import ir

from ..index.lane_values import LaneEvaluator, LaneValues, Unknown, constant
from ..operations import defining_operation, splat_of
from .lds_ops import Footprint

Limits = list[tuple[int, LaneValues]]
"""Dimensions of a memref, with the elements that a lane accesses along them, from the first on."""


def mask_limits(footprint: Footprint, evaluator: LaneEvaluator) -> Limits | Unknown:
    """Returns what the mask of an access says; nothing where it has none."""
    if footprint.mask is None:
        return []
    made_by = defining_operation(footprint.mask)
    sizes: list[LaneValues | Unknown] | None = None
    if made_by is not None and made_by.name == "vector.create_mask":
        sizes = [evaluator.evaluate(each) for each in made_by.operands]
    elif made_by is not None and made_by.name == "vector.constant_mask":
        sizes = [constant(each) for each in ir.DenseI64ArrayAttr(made_by.attributes[_SIZES])]
    elif (splat := splat_of(footprint.mask)) is not None:
        is_on = bool(ir.IntegerAttr(splat).value)
        sizes = [constant(footprint.extents[each] * is_on) for each in footprint.masked]
    if sizes is None or len(sizes) != len(footprint.masked):
        return Unknown("a block argument" if made_by is None else f"a result of {made_by.name}")
    limits: Limits = []
    for dimension, size in zip(footprint.masked, sizes, strict=True):
        if isinstance(size, Unknown):
            return Unknown(f"a mask that depends on the {size.reason}")
        limits.append((dimension, size))
    return limits


_SIZES = "mask_dim_sizes"
