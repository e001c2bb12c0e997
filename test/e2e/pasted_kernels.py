# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""HIP kernels around the C functions that answers on tiles print, as a user would paste them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bankwise.bank_model.accesses import LdsAccess
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.runtime.assembly_run import AssemblyRun, run_assembly
from bankwise.tiles.counts import CountedLayout

from .clang_assembly import COMPILER

FLAGS = ("--offload-arch=gfx942", "-nogpulib", "-nogpuinc", "-O3", "-S")
_HEAD = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
static __device__ void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
"""
_TYPES = {8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}


class Pasted(NamedTuple):
    """What a kernel did.

    Attributes:
        read: [accesses of the read], each [lanes, elements of a vector], what the lanes have got.
        expected: likewise, what the tile holds there.
        run: its counters.
    """

    read: list[npt.NDArray[Any]]
    expected: list[npt.NDArray[Any]]
    run: AssemblyRun


def pasted(counted: CountedLayout, folder: Path) -> Pasted:
    """Compiles and runs a kernel that stores a tile and loads it again, by the pasted functions.

    Every lane moves the vectors of the question, in the order of its accesses: a whole one by
    `*(vector *)&tile[place(...)]`, and else by the function that the answer gives. Elements are
    bytes where several share one. Global memory holds the elements in the order of memory numbers.
    """
    question = counted.question
    tile = question.named.tile
    packed = max(8 // tile.element_bits, 1)
    bits = tile.element_bits * packed
    source = folder / "pasted.hip"
    source.write_text("\n".join(_source(counted, packed)))
    text = source.with_suffix(".s")
    command = [COMPILER, "-x", "hip", "--cuda-device-only", *FLAGS, "-o", text, source]
    subprocess.run(command, check=True)
    random = np.random.default_rng(0)
    dtype = np.dtype(f"u{bits // 8}")
    logical = random.integers(0, 1 << min(bits, 63), tile.elements // packed, dtype=dtype)
    starts = [access.elements.ravel() for access in question.flat]
    active = [
        np.ones(s.shape, bool) if a.active is None else a.active.ravel()
        for a, s in zip(question.flat, starts, strict=True)
    ]
    reads = [access for access in question.flat if access.kind is AccessKind.READ]
    size = max(access.count for access in reads) // packed or 1
    found = np.zeros((len(reads), question.lanes.threads, size), dtype)
    numbers = np.concatenate(starts).astype(np.int32)
    order = question.order
    elements = numbers if order is None else np.argsort(order.numbers).astype(np.int32)[numbers]
    given = [logical, elements, numbers, np.concatenate(active).astype(np.int32), found]
    run = run_assembly(text, given, grid=(1,), block=(question.lanes.threads,))
    got = run.buffers[4]
    assert got is not None
    read: list[npt.NDArray[Any]] = []
    expected: list[npt.NDArray[Any]] = []
    for number, access in enumerate(reads):
        count = access.count // packed
        lanes = slice(None) if access.active is None else access.active.ravel()
        first = access.elements.ravel()[lanes] // packed
        read.append(got[number][lanes, :count])
        expected.append(logical[first[:, None] + np.arange(count)])
    return Pasted(read, expected, run)


def _source(counted: CountedLayout, packed: int) -> Iterator[str]:
    question, code = counted.question, counted.code
    tile, threads = question.named.tile, question.lanes.threads
    yield _HEAD
    yield f"typedef {_TYPES[tile.element_bits * packed]} T;"
    counts = sorted({access.count // packed for access in question.flat} - {1})
    for count in counts:
        yield f"typedef T V{count} __attribute__((ext_vector_type({count})));"
    yield code.function()
    yield f'extern "C" __attribute__((amdgpu_flat_work_group_size({threads}, {threads})))'
    yield "__global__ void pasted(const T *in, const int *starts, const int *numbers, "
    yield "                       const int *active, T *out) {"
    elements = counted.lds_bytes * 8 // (tile.element_bits * packed)
    yield f"  __shared__ __attribute__((aligned(16))) T memory[{elements}];"
    # Of an array itself clang believes no cast: `*(V2 *)&memory[n]` is aligned as an element is.
    yield "  T *const tile = memory;"
    yield "  const int lane = __builtin_amdgcn_workitem_id_x();"
    reads = max(a.count // packed for a in question.flat if a.kind is AccessKind.READ)
    written = 0
    before = AccessKind.WRITE
    for number, (each, access) in enumerate(_accesses(counted)):
        if access.kind is not before:
            yield "  sync();"
            before = access.kind
        at = number * threads
        yield f"  if (active[{at} + lane]) {{"
        yield f"    const int e = starts[{at} + lane], n = numbers[{at} + lane];"
        if access.kind is AccessKind.WRITE:
            yield from _store(counted, each, access, packed)
        else:
            yield f"    T *to = out + ({written} * {threads} + lane) * {reads};"
            yield from _load(counted, each, access, packed)
            written += 1
        yield "  }"
    yield "}"


def _accesses(counted: CountedLayout) -> Iterator[tuple[int, LdsAccess]]:
    for number, each in enumerate(counted.question.accesses):
        for access in each.accesses:
            yield number, access


def _place(counted: CountedLayout, packed: int) -> tuple[str, str]:
    """Returns the indices of element `e`, and its place."""
    sizes: Sequence[int] = counted.question.named.tile.shape
    parts: list[str] = []
    below = 1
    for size in reversed(sizes):
        parts.append(f"e / {below} % {size}")
        below *= size
    indices = ", ".join(reversed(parts))
    return indices, f"place({indices})" + (f" / {packed}" if packed > 1 else "")


def _mover(counted: CountedLayout, number: int, access: LdsAccess) -> str:
    movers = [
        counted.code.mover(move)
        for move in counted.accesses[number].moves
        if move.elements == access.count and move in counted.code.moves
    ]
    assert movers != [""], "no function moves these vectors"
    return movers[0] if movers else ""


def _store(counted: CountedLayout, number: int, access: LdsAccess, packed: int) -> Iterator[str]:
    indices, place = _place(counted, packed)
    count = access.count // packed
    mover = _mover(counted, number, access)
    if count == 1:
        yield f"    tile[{place}] = in[n / {packed}];"
    elif mover:
        yield f"    T v[{count}];"
        yield f"    for (int k = 0; k < {count}; ++k) v[k] = in[n + k];"
        yield f"    {mover}(tile, {indices}, v);"
    else:
        yield f"    *(V{count} *)&tile[{place}] = *(const V{count} *)&in[n / {packed}];"


def _load(counted: CountedLayout, number: int, access: LdsAccess, packed: int) -> Iterator[str]:
    indices, place = _place(counted, packed)
    count = access.count // packed
    mover = _mover(counted, number, access)
    if count == 1:
        yield f"    to[0] = tile[{place}];"
    elif mover:
        yield f"    T v[{count}];"
        yield f"    {mover}(tile, {indices}, v);"
        yield f"    for (int k = 0; k < {count}; ++k) to[k] = v[k];"
    else:
        yield f"    *(V{count} *)to = *(const V{count} *)&tile[{place}];"
