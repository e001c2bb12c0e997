# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the type of a buffer means: where its elements lie, how many bytes it has, how it is shown.

    memref<4x8xf16, strided<[16, 1], offset: 2>, #gpu.address_space<workgroup>>

says that element (i, j) lies 2 + 16 * i + j elements behind the allocation's start. Rows that lie
one behind the other, without a gap, are *row-major*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import prod

from iree.compiler import ir

from ...bank_model.accesses import LdsTile
from ..diagnostics import Refusal
from ..dynamic_sizes import DYNAMIC
from ..element_types import element_bits

WORKGROUP = "#gpu.address_space<workgroup>"
"""The memory space of LDS."""
_LOWER_SPACES = re.compile(r"3(?: : \w+)?|#spirv\.storage_class<Workgroup>")
"""The same as the dialects of GPUs number or name it: NVVM and ROCDL have address space 3."""
_LOWER_TYPES = re.compile(r"!llvm\.ptr<3>|!spirv\.ptr<.*, Workgroup>")
"""Pointers to LDS."""


def type_of(buffer: ir.Operation | ir.Value) -> ir.MemRefType:
    """Returns the type of a memref, or of what an allocation makes."""
    value = buffer if isinstance(buffer, ir.Value) else buffer.results[0]
    return ir.MemRefType(value.type)


def is_memref(value: ir.Value) -> bool:
    """Returns whether a value is a memref, ranked or not."""
    return isinstance(value.type, ir.MemRefType | ir.UnrankedMemRefType)


def is_workgroup_memref(kind: ir.Type) -> bool:
    """Returns whether `kind` is a ranked memref in workgroup memory (LDS)."""
    return isinstance(kind, ir.MemRefType) and is_workgroup_space(kind.memory_space)


def with_workgroup_buffers(
    operations: Iterable[ir.Operation], buffer_of: Callable[[ir.Operation], ir.Value]
) -> list[ir.Operation]:
    """Returns the operations whose buffers lie in workgroup memory, which is asked once of a type:
    a memory space is read from its text."""
    known: dict[ir.Type, bool] = {}
    found: list[ir.Operation] = []
    for operation in operations:
        kind = buffer_of(operation).type
        if kind not in known:
            known[kind] = is_workgroup_memref(kind)
        if known[kind]:
            found.append(operation)
    return found


def is_workgroup_space(space: ir.Attribute | None) -> bool:
    """Returns whether a memory space is workgroup memory, as gpu or a lower dialect has it."""
    text = "" if space is None else str(space)
    return text == WORKGROUP or _LOWER_SPACES.fullmatch(text) is not None


def is_lds(kind: ir.Type) -> bool:
    """Returns whether `kind` stands for LDS: a memref of any rank, or a pointer."""
    if isinstance(kind, ir.MemRefType | ir.UnrankedMemRefType):
        return is_workgroup_space(kind.memory_space)
    return _LOWER_TYPES.fullmatch(str(kind)) is not None


def shown_type(kind: ir.Type) -> str:
    """Returns a memref or tensor type without its memory space or encoding, for messages."""
    with kind.context, ir.Location.unknown():
        if isinstance(kind, ir.MemRefType):
            return str(ir.MemRefType.get(kind.shape, kind.element_type, kind.layout))
        if isinstance(kind, ir.RankedTensorType):
            return str(ir.RankedTensorType.get(kind.shape, kind.element_type))
    return str(kind)


# Where the elements lie.


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides, in elements, of rows that lie one behind the other: (8, 1) for 4x8.

    A stride that follows from a size that is `DYNAMIC` is so, too.
    """
    inner = [shape[d + 1 :] for d in range(len(shape))]
    return tuple(DYNAMIC if DYNAMIC in sizes else prod(sizes) for sizes in inner)


def strides_and_offset(kind: ir.MemRefType) -> tuple[tuple[int, ...] | None, int | None]:
    """Returns strides and offset in elements, `DYNAMIC` among them.

    Both are None where the type is not strided.
    """
    try:
        strides, offset = kind.get_strides_and_offset()
    except (RuntimeError, ValueError):
        return None, None
    return tuple(strides), offset


def static_strides(kind: ir.MemRefType) -> tuple[int, ...] | None:
    """Returns the strides in elements; None where they are not all static."""
    strides, _ = strides_and_offset(kind)
    return None if strides is None or DYNAMIC in strides else strides


def is_row_major(kind: ir.MemRefType) -> bool:
    """Returns whether the elements lie in row-major order from the allocation's start on."""
    return strides_and_offset(kind) == (row_major_strides(kind.shape), 0)


def has_identity_layout(kind: ir.MemRefType) -> bool:
    """Returns whether the type is row-major and says so by its layout's affine map.

    A type without a layout does; `strided<[64, 1]>` of 64x64 means the same and does not. MLIR
    derives types of views from this spelling.
    """
    return kind.affine_map == ir.AffineMap.get_identity(kind.rank, kind.context)


def is_contiguous(kind: ir.MemRefType) -> bool:
    """Returns whether the elements lie in row-major order, wherever they start.

    The stride of a dimension of size 1 does not matter.
    """
    strides, _ = strides_and_offset(kind)
    return strides is not None and all(
        size == 1 or stride == wanted
        for size, stride, wanted in zip(
            kind.shape, strides, row_major_strides(kind.shape), strict=True
        )
    )


def check_flat(kind: ir.MemRefType) -> None:
    """Makes sure that an allocation of type `kind` can become a flat one.

    Raises:
        Refusal: it cannot.
    """
    if kind.rank == 0:
        raise Refusal("it has rank 0")
    if not kind.has_static_shape:
        raise Refusal("its shape is dynamic")
    if not has_identity_layout(kind):
        raise Refusal(f"its layout {kind.layout} is not the identity")


# Other types of the same memory.


def row_major_type(like: ir.MemRefType, shape: Sequence[int]) -> ir.MemRefType:
    """Returns the type of `shape` without a layout, in the same memory space."""
    with like.context, ir.Location.unknown():
        return ir.MemRefType.get(list(shape), like.element_type, memory_space=like.memory_space)


def flat_type(like: ir.MemRefType) -> ir.MemRefType:
    """Returns the one-dimensional type of all elements."""
    return row_major_type(like, [prod(like.shape)])


def strided_type(
    like: ir.MemRefType, shape: Sequence[int], strides: Sequence[int], offset: int
) -> ir.MemRefType:
    """Returns the type of `shape` with the given strides and offset in elements."""
    with like.context, ir.Location.unknown():
        layout = ir.StridedLayoutAttr.get(offset, list(strides))
        return ir.MemRefType.get(list(shape), like.element_type, layout, like.memory_space)


def contiguous_type(like: ir.MemRefType, shape: Sequence[int]) -> ir.MemRefType:
    """Returns the type of `shape` without gaps that starts where the strided type `like` does."""
    if has_identity_layout(like):
        return row_major_type(like, shape)
    _, offset = strides_and_offset(like)
    assert offset is not None
    return strided_type(like, shape, row_major_strides(shape), offset)


# How much it is.


def whole_element_bits(kind: ir.Type, truth_bits: int = 1) -> int | None:
    """Returns the bits of an element, of vectors and complex numbers with all their parts.

    Returns None where they are not known. An `i1` has `truth_bits`.
    """
    if isinstance(kind, ir.VectorType | ir.ComplexType):
        part = whole_element_bits(kind.element_type, truth_bits)
        if isinstance(kind, ir.ComplexType):
            return None if part is None else 2 * part
        return None if part is None or kind.scalable else part * prod(kind.shape)
    bits = element_bits(kind)
    return truth_bits if bits == 1 else bits


def lds_bytes(kind: ir.MemRefType) -> int | None:
    """Returns bytes that an allocation of row-major type `kind` takes, before alignment.

    Elements narrower than a byte are packed, except that an `i1` takes a byte: both as IREE stores
    them. None when the shape is dynamic or the width of an element is not known.
    """
    bits = whole_element_bits(kind.element_type, truth_bits=8)
    if bits is None or not kind.has_static_shape:
        return None
    return -(-prod(kind.shape) * bits // 8)


def tile_of(kind: ir.MemRefType | ir.RankedTensorType) -> LdsTile:
    """Returns the tile of the bank model that an allocation of type `kind` holds.

    Raises:
        Refusal: it holds none; the reason reads behind "not swizzled: ".
    """
    if not kind.has_static_shape:
        raise Refusal("its shape is dynamic")
    if kind.rank == 0:
        raise Refusal("it has rank 0")
    if isinstance(kind, ir.MemRefType) and not is_row_major(kind):
        raise Refusal(f"its layout {kind.layout} is not row-major")
    if isinstance(kind, ir.RankedTensorType) and isinstance(kind.element_type, ir.IndexType):
        # Its bits are decided on only when tensors have become memrefs.
        raise Refusal("its element type index has no fixed size")
    bits = element_bits(kind.element_type)
    if bits is None or bits % 8:
        raise Refusal(f"its elements of type {kind.element_type} do not fill bytes")
    if min(kind.shape) < 1:
        raise Refusal("it is empty")
    return LdsTile(tuple(kind.shape), bits)
