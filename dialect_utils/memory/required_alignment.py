# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The alignment that an operation needs in every layout: one table, a row per operation.

Most LDS accesses need no alignment: where a layout takes the alignment of a wide load away, the
backend splits it into narrower ones, which costs cycles and nothing else. The operations here are
different. What they do is one instruction, or a promise to the backend, and an address that is not
aligned faults, hangs the GPU, or reads other bytes than meant. No layout may move such an address
to one that is less aligned than the row says, whoever asks for the layout.

Worked example: `nvgpu.ldmatrix` wants rows of 16 bytes that begin at multiples of 16 bytes. Rows of
64 f16 are 128 bytes apart. Padded by 8 bytes they are 136 bytes apart, so that row 1 begins at byte
136 = 8 (mod 16); padded by 16 bytes they are 144 apart, and every row stays aligned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import gcd, prod
from types import MappingProxyType

from iree.compiler import ir

from ..element_types import element_bits


@dataclass(frozen=True)
class _Row:
    """What is known of one operation."""

    alignment: Callable[[ir.Operation], int]
    """Bytes of which every lane's address must be a multiple."""
    whole: bool
    """The operation is one instruction and cannot be split."""
    source: str


def required_alignment(operation: ir.Operation) -> int:
    """Bytes of which the LDS addresses of `operation` must be multiples in every layout; or 1."""
    row = _TABLE.get(operation.name)
    return 1 if row is None else max(row.alignment(operation), 1)


def is_indivisible(operation: ir.Operation) -> bool:
    """Whether `operation` is one instruction, so that no swizzle may part what it accesses."""
    row = _TABLE.get(operation.name)
    return row is not None and row.whole


def why_not_aligned(operation: ir.Operation, moved_bytes: int) -> str | None:
    """Why `operation` cannot take addresses moved by multiples of `moved_bytes`; None if it can."""
    needed = required_alignment(operation)
    if moved_bytes % needed == 0:
        return None
    return f"{operation.name} needs addresses that are multiples of {needed} bytes"


def in_elements(alignment_bytes: int, bits: int) -> int:
    """The number of elements of `bits` bits whose multiples lie at multiples of some bytes.

    8 elements of 16 bits fill 16 bytes; with elements of 24 bits only every 16th begins at one.
    """
    return alignment_bytes * 8 // gcd(alignment_bytes * 8, bits)


# Rows.


def _promised(operation: ir.Operation) -> int:
    if "alignment" not in operation.attributes:
        return 1
    return ir.IntegerAttr(operation.attributes["alignment"]).value


def _element_bytes(operation: ir.Operation) -> int:
    memref = next(o.type for o in operation.operands if isinstance(o.type, ir.MemRefType))
    return (element_bits(ir.MemRefType(memref).element_type) or 8) // 8


def _copied_bytes(operation: ir.Operation) -> int:
    """`nvgpu.device_async_copy`: `dstElements` elements of the destination, its first operand."""
    elements = ir.IntegerAttr(operation.attributes["dstElements"]).value
    return _element_bytes(operation) * elements


def _transferred_bytes(operation: ir.Operation) -> int:
    """`amdgpu.gather_to_lds`: what a lane moves; 12 bytes are three words."""
    size = _type_bits(ir.TypeAttr(operation.attributes["transferType"]).value) // 8
    return size & -size


def _vector_bytes(operation: ir.Operation) -> int:
    size = _type_bits(operation.results[0].type) // 8
    return 1 << (size - 1).bit_length()


def _type_bits(kind: ir.Type) -> int:
    if isinstance(kind, ir.VectorType):
        return prod(kind.shape) * (element_bits(kind.element_type) or 8)
    return element_bits(kind) or 8


_PROMISE = _Row(_promised, False, "the backend takes the `alignment` attribute for a fact")
_ATOMIC = _Row(_element_bytes, True, "LDS atomics fault unless their address is naturally aligned")

_TABLE: Mapping[str, _Row] = MappingProxyType(
    {
        "amdgpu.gather_to_lds": _Row(
            _transferred_bytes, True, "CDNA3 and CDNA4 ISA, 9.1.9: M0 holds a dword-aligned offset"
        ),
        "amdgpu.transpose_load": _Row(
            _vector_bytes,
            True,
            "assumed, on the safe side: no source says what one that is not aligned does",
        ),
        "memref.atomic_rmw": _ATOMIC,
        "memref.generic_atomic_rmw": _ATOMIC,
        "memref.load": _PROMISE,
        "memref.store": _PROMISE,
        "nvgpu.device_async_copy": _Row(
            _copied_bytes, True, "PTX ISA, cp.async: both addresses are aligned to the copy's size"
        ),
        "nvgpu.ldmatrix": _Row(
            lambda _: 16, True, "PTX ISA, ldmatrix: every row's address is aligned to 16 bytes"
        ),
        "vector.load": _PROMISE,
        "vector.maskedload": _PROMISE,
        "vector.maskedstore": _PROMISE,
        "vector.store": _PROMISE,
    }
)
