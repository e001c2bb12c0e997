# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a kernel gets its LDS from: everything that must be read, so that nothing is passed over.

| memory | how it is read |
| --- | --- |
| `memref.alloc` | passes may give it another layout |
| a workgroup attribution of `gpu.func` or `gpu.launch` | as an allocation |
| `memref.get_global` | as one allocation, however often a kernel asks for the global |
| an argument in workgroup memory | as an allocation; that it is aligned is assumed |
| `memref.view` of bytes | as memory of its own, which begins so many bytes behind them |
| bytes that only `memref.view` shows, `gpu.dynamic_shared_memory` among them | by these views |
| all else that makes LDS: pointers, unranked memrefs, unknown operations | it is not |

A value that an operation makes of other LDS is no root: the root is followed to that operation,
which is either a known view or a use that is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from iree.compiler import ir

from ...bank_model.accesses import LdsTile
from ...bank_model.layouts import MAX_USEFUL_ALIGNMENT
from ...bank_model.quick_dataclass import dataclass
from ..diagnostics import Refusal
from ..index.lane_values import LaneEvaluator, LaneValues, Unknown, constant
from ..kernels import memory_arguments
from ..operations import GPU_LAUNCH, defining_operation
from ..swizzle_hint import STOWED_SWIZZLE, is_hint
from .flow import Use, follow, is_lds_allocation, reach_of, ways_to
from .lds_ops import DYNAMIC_LDS, GET_GLOBAL, VIEW
from .memref_types import is_lds, is_workgroup_memref, tile_of, type_of
from .traced_views import TracedView

_ALIGNED = f"the memory of an argument begins at a multiple of {MAX_USEFUL_ALIGNMENT} bytes"


@dataclass(frozen=True)
class LdsRoot:
    """LDS of a kernel, as it first has it.

    Attributes:
        values: each is all of the memory.
        unread: why it cannot be read, where that is so from the start.
        why_fixed: why no pass changes its layout; empty where one may.
        is_attribution: whether it is a workgroup attribution of the kernel.
    """

    values: tuple[ir.Value, ...]
    unread: str = ""
    why_fixed: str = ""
    assumptions: tuple[str, ...] = ()
    is_attribution: bool = False

    @property
    def memory(self) -> ir.Value:
        """Returns the first of the values."""
        return self.values[0]

    @property
    def allocation(self) -> ir.Operation | None:
        """Returns the `memref.alloc` that makes it, if one does."""
        made_by = defining_operation(self.memory)
        return made_by if is_lds_allocation(made_by) else None


def lds_roots(kernel: ir.Operation, operations: Sequence[ir.Operation]) -> list[LdsRoot]:
    """Returns all LDS that a kernel gets or makes, in the order of the text, arguments first.

    Args:
        operations: those of the kernel.
    """
    found = list(_arguments(kernel))
    globals_seen: dict[str, int] = {}
    for operation in operations:
        root = _made_by(operation)
        if root is None:
            continue
        if operation.name == GET_GLOBAL:
            name = str(operation.attributes["name"])
            place = globals_seen.setdefault(name, len(found))
            if place < len(found):
                known = found[place]
                found[place] = _of_global(name, (*known.values, *root.values))
                continue
            root = _of_global(name, root.values)
        found.append(root)
    return found


def _arguments(kernel: ir.Operation) -> Iterator[LdsRoot]:
    for argument, is_own in memory_arguments(kernel):
        if not is_lds(argument.type):
            continue
        if isinstance(argument.type, ir.MemRefType) and _is_viewed_alone(argument):
            continue
        what = f"a workgroup attribution of {kernel.name}" if is_own else "an argument"
        assumptions = () if is_own else (_ALIGNED,)
        yield LdsRoot((argument,), _why_unread(argument), _fixed(what), assumptions, is_own)


def _of_global(name: str, values: tuple[ir.Value, ...]) -> LdsRoot:
    return LdsRoot(values, _why_unread(values[0]), _fixed(f"the global {name}"))


def _made_by(operation: ir.Operation) -> LdsRoot | None:
    """Returns the LDS that an operation makes of none."""
    values = [each for each in operation.results if is_lds(each.type)]
    if not values or operation.name == GPU_LAUNCH:
        return None
    if operation.name == VIEW:
        return LdsRoot((values[0],), why_fixed=_fixed("memref.view of bytes"))
    # What an operation with regions gives comes out of these.
    if len(operation.regions) or any(is_lds(each.type) for each in operation.operands):
        return None
    if is_lds_allocation(operation):
        shown = any(view.name == VIEW for view in reach_of(values[0]).views)
        if shown and _is_viewed_alone(values[0]):
            return None
        return LdsRoot((values[0],), why_fixed=_fixed("shown by memref.view, too") if shown else "")
    if operation.name in (GET_GLOBAL, DYNAMIC_LDS):
        if isinstance(values[0].type, ir.MemRefType) and _is_viewed_alone(values[0]):
            return None
        return LdsRoot((values[0],), _why_unread(values[0]), _fixed(f"made by {operation.name}"))
    return LdsRoot((values[0],), f"made by {operation.name}, which is not followed")


def _is_viewed_alone(memory: ir.Value) -> bool:
    """Returns whether nothing is done to some bytes but by the `memref.view`s of them."""
    viewed: list[ir.Operation] = []

    def onward(use: Use, target: ir.Value, state: bool) -> bool | None:
        if use.user.name == VIEW:
            viewed.append(use.user)
            return None
        return state

    if any(follow(memory, True, onward)):
        return False
    return bool(viewed) or not type_of(memory).has_static_shape


def _why_unread(memory: ir.Value) -> str:
    if is_workgroup_memref(memory.type):
        return ""
    return f"it has the type {memory.type}, and only ranked memrefs are followed"


def _fixed(what: str) -> str:
    return f"it is {what}, and passes change memref.alloc alone"


# What a root shows.


def traced_root(
    root: LdsRoot, evaluator: LaneEvaluator
) -> tuple[LdsTile, Mapping[ir.Value, TracedView]]:
    """Returns the tile that a root holds, and what of it each of its values shows.

    Raises:
        Refusal: it holds no tile, or begins inside an element.
    """
    tile = tile_of(type_of(root.memory))
    view = defining_operation(root.memory)
    if view is None or view.name != VIEW:
        return tile, {each: TracedView.of(each) for each in root.values}
    start = _first_byte(view, evaluator)
    if isinstance(start, Unknown):
        raise Refusal(f"the byte at which it begins depends on the {start.reason}")
    size = tile.element_bits // 8
    first, aligned = start.uniform, MAX_USEFUL_ALIGNMENT
    if first is not None and first >= 0 and first % aligned == 0:
        return tile, {root.memory: TracedView.of(root.memory)}
    if int(np.gcd.reduce(start.values, None)) % size or start.values.min() < 0:
        raise Refusal(f"it begins at bytes that are no multiples of its elements' {size}")
    # All multiples of the alignment look alike to the banks of one access, but not those of lanes
    # that differ: the tile is all that the view may show.
    offset = LaneValues(start.values // size, start.loops)
    whole = LdsTile((int(offset.values.max()) + tile.elements,), tile.element_bits)
    return whole, {root.memory: TracedView.of(root.memory, offset)}


def _first_byte(view: ir.Operation, evaluator: LaneEvaluator) -> LaneValues | Unknown:
    """Returns the byte of the memory behind all views at which a `memref.view` begins.

    Raises:
        Refusal: the memory is swizzled, or is not known.
    """
    total: LaneValues | Unknown = constant(0)
    current: ir.Operation | None = view
    while current is not None and not isinstance(total, Unknown):
        total = evaluator.element([current.operands[1]], (1,), total)
        current = _bytes_viewed(current)
    return total


def _bytes_viewed(view: ir.Operation) -> ir.Operation | None:
    """Returns the `memref.view` that makes the bytes that another one shows, if one does."""
    found: list[ir.Operation] = []
    ways = ways_to(view.operands[0])
    for value in ways:
        operation = defining_operation(value)
        if operation is None:
            continue
        if is_hint(operation) or STOWED_SWIZZLE in operation.attributes:
            raise Refusal("the bytes that it shows are swizzled")
        if operation.name == VIEW:
            found.append(operation)
    if found and any(len(sources) > 1 for sources in ways.values()):
        raise Refusal("the bytes that it shows meet others")
    return found[0] if found else None
