# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What vector instructions compute that CDNA3 and CDNA4 do not have, as rows like `LANE_OPS`.

The semantics are those of "RDNA3 Instruction Set Architecture" and "RDNA4 Instruction Set
Architecture", chapter 16. Of gfx1250 there is no such document: what its instructions compute is
what LLVM 22 selects them for (VOP2Instructions.td, VOP3Instructions.td).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from . import floats
from .lane_ops import (
    Function,
    LaneOp,
    extreme,
    extreme_or_nan,
    paired,
    rows,
    saturated,
)
from .operands import Array


def _then(first: bool, second: bool) -> Function:
    """Returns the larger (true) or smaller of two numbers, and then that of it and a third."""

    def compute(a: Array, b: Array, c: Array, ieee: bool) -> Array:
        return extreme(extreme(a, b, ieee, first), c, ieee, second)

    return compute


def _then_integer(first: Function, second: Function) -> Function:
    return lambda a, b, c: second(first(a, b), c)


def _multiplied_wide(a: Array, b: Array, c: Array) -> Array:
    """Multiplies numbers of 32 bits and adds one of 64 bits."""
    return a.astype(c.dtype) * b.astype(c.dtype) + c


def _then_or_nan(first: bool, second: bool) -> Function:
    """Returns what `_then` does, but a NaN wins."""
    one, other = extreme_or_nan(first), extreme_or_nan(second)
    return lambda a, b, c: other(one(a, b), c)


def legacy_fma(a: Array, b: Array, c: Array) -> Array:
    """Multiplies and adds; a product with zero is zero, whatever the other factor is."""
    return np.where((a == 0) | (b == 0), c, floats.fma(a, b, c))


def _mullit(a: Array, b: Array, c: Array) -> Array:
    least = np.finfo(np.float32).min
    unlit = (b == least) | (b == -np.inf) | np.isnan(b) | ~(c > 0)
    return np.where(unlit, least, a * b)


def _normalized(low: float, high: float, to: str) -> Function:
    """Returns a conversion of [low, high] to all of an integer type of 16 bits, nearest even."""
    scale = float(np.iinfo(to).max)

    def compute(a: Array) -> Array:
        wide = a.astype(np.float64)
        wide = np.where(np.isnan(wide), 0.0, np.clip(wide, low, high))
        return np.rint(wide * scale).astype(to)

    return compute


# Of cube maps: the axis of the largest magnitude, z before y before x.


def _cube_axes(x: Array, y: Array, z: Array) -> tuple[Array, Array]:
    along_z = (np.abs(z) >= np.abs(x)) & (np.abs(z) >= np.abs(y))
    return along_z, np.abs(y) >= np.abs(x)


def _cube_face(x: Array, y: Array, z: Array) -> Array:
    along_z, along_y = _cube_axes(x, y, z)
    face = np.where(along_z, 4 + (z < 0), np.where(along_y, 2 + (y < 0), x < 0))
    return face.astype(np.float32)


def _cube_s(x: Array, y: Array, z: Array) -> Array:
    along_z, along_y = _cube_axes(x, y, z)
    return np.where(along_z, np.where(z < 0, -x, x), np.where(along_y, x, np.where(x < 0, z, -z)))


def _cube_t(x: Array, y: Array, z: Array) -> Array:
    along_z, along_y = _cube_axes(x, y, z)
    return np.where(along_z, -y, np.where(along_y, np.where(y < 0, -z, z), -y))


def _cube_major(x: Array, y: Array, z: Array) -> Array:
    along_z, along_y = _cube_axes(x, y, z)
    return np.where(along_z, z, np.where(along_y, y, x)) * np.float32(2)


_DTYPES = {"i16": "i2", "u16": "u2"}

RDNA_LANE_OPS: Mapping[str, LaneOp] = {
    # Bits.
    "v_mov_b16": LaneOp("b16", ("b16",), lambda a: a),
    "v_not_b16": LaneOp("b16", ("b16",), np.invert),
    "v_and_b16": LaneOp("b16", ("b16",) * 2, np.bitwise_and),
    "v_or_b16": LaneOp("b16", ("b16",) * 2, np.bitwise_or),
    "v_xor_b16": LaneOp("b16", ("b16",) * 2, np.bitwise_xor),
    "v_xor3_b32": LaneOp("b32", ("b32",) * 3, lambda a, b, c: a ^ b ^ c),
    # Integers.
    **{
        f"v_maxmin_{kind}": LaneOp(kind, (kind,) * 3, _then_integer(np.maximum, np.minimum))
        for kind in ("i32", "u32")
    },
    **{
        f"v_minmax_{kind}": LaneOp(kind, (kind,) * 3, _then_integer(np.minimum, np.maximum))
        for kind in ("i32", "u32")
    },
    "v_cvt_i32_i16": LaneOp("i32", ("i16",), lambda a: a.astype(np.int32)),
    "v_cvt_u32_u16": LaneOp("u32", ("u16",), lambda a: a.astype(np.uint32)),
    # Integers on gfx1250.
    "v_mad_u32": LaneOp("u32", ("u32",) * 3, lambda a, b, c: a * b + c),
    "v_mad_nc_u64_u32": LaneOp("u64", ("u32", "u32", "u64"), _multiplied_wide),
    "v_mad_nc_i64_i32": LaneOp("i64", ("i32", "i32", "i64"), _multiplied_wide),
    **rows("u64", 2, {"add_nc_u64": np.add, "sub_nc_u64": np.subtract, "mul_u64": np.multiply}),
    **{
        f"v_{name}_{kind}": LaneOp(kind, (kind,) * 2, function)
        for kind in ("i64", "u64")
        for name, function in (("max", np.maximum), ("min", np.minimum))
    },
    # Floats.
    **{
        f"v_{name}_{kind}": LaneOp(kind, (kind,) * 3, function, ieee=True)
        for kind in ("f16", "f32")
        for name, function in (("maxmin", _then(True, False)), ("minmax", _then(False, True)))
    },
    **{
        f"v_{name}_{kind}": LaneOp(kind, (kind,) * 2, extreme_or_nan(larger))
        for name, larger in (("maximum", True), ("minimum", False))
        for kind in ("f16", "f32", "f64")
    },
    **{
        f"v_{name}3_f16": LaneOp("f16", ("f16",) * 3, extreme_or_nan(larger))
        for name, larger in (("maximum", True), ("minimum", False))
    },
    **{
        f"v_{name}_{kind}": LaneOp(kind, (kind,) * 3, function)
        for kind in ("f16", "f32")
        for name, function in (
            ("maximumminimum", _then_or_nan(True, False)),
            ("minimummaximum", _then_or_nan(False, True)),
        )
    },
    **rows("f16", 3, {"fmamk_f16": floats.fma, "fmaak_f16": floats.fma}),
    **rows("f64", 3, {"fmamk_f64": floats.fma, "fmaak_f64": floats.fma}),
    "v_fma_dx9_zero_f32": LaneOp("f32", ("f32",) * 3, legacy_fma),
    "v_mullit_f32": LaneOp("f32", ("f32",) * 3, _mullit),
    **rows(
        "f32",
        3,
        {
            "cubeid_f32": _cube_face,
            "cubesc_f32": _cube_s,
            "cubetc_f32": _cube_t,
            "cubema_f32": _cube_major,
        },
    ),
    # Conversions.
    "v_cvt_norm_i16_f16": LaneOp("i16", ("f16",), _normalized(-1, 1, "i2")),
    "v_cvt_norm_u16_f16": LaneOp("u16", ("f16",), _normalized(0, 1, "u2")),
    **{
        f"v_cvt_pk_norm_{to}_{kind}": LaneOp(
            "b32", (kind,) * 2, paired(_normalized(-1 if to == "i16" else 0, 1, _DTYPES[to]))
        )
        for to in ("i16", "u16")
        for kind in ("f16", "f32")
    },
    "v_cvt_pk_i16_f32": LaneOp("b32", ("f32",) * 2, paired(saturated("i16"))),
    "v_cvt_pk_u16_f32": LaneOp("b32", ("f32",) * 2, paired(saturated("u16"))),
}
"""Instructions without a row in `LANE_OPS` whose lanes compute alone."""
