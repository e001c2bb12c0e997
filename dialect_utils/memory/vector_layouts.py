# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The nested layout that vector distribution will give to every vector of a function.

Layouts are anchored by `iree_vector_ext.to_layout` and spread as in IREE's
VectorLayoutAnalysis.cpp. First forwards, from each value to the results of its users; then, for
values that are still without one, backwards from results to operands in reverse program order.
IREE settles contradictions by copying values or by converting between layouts; here a value that
could get more than one layout is *ambiguous*, and nothing is derived from it.

Example: `%r = transfer_read; %m = arith.mulf %r, %cst; %t = to_layout %m to L`. Forwards, %t has
L. Backwards, to_layout gives it to %m and the multiplication gives it to %r (and to %cst).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from iree.compiler import ir

from ...bank_model.nested_layout import NestedLayout, NestedLayoutError
from ...bank_model.quick_dataclass import dataclass
from ..loops import FOR, YIELD, carried_values
from ..operations import operations_in, operations_of
from .flow import joins_of_use

# IREE tracks no more per value; more than one is ambiguous here anyway.
_MAX_CANDIDATES = 4


def op_name(op: ir.Operation | ir.OpView) -> str:
    """Returns the op's name, "dialect.mnemonic"."""
    name = op.operation.name
    return name if isinstance(name, str) else name.value


def is_elementwise(op: ir.Operation | ir.OpView) -> bool:
    """Returns whether the op works lane by lane, so that all its vectors have one layout."""
    name = op_name(op)
    if name in ("vector.fma", "iree_gpu.value_barrier"):
        return True
    return name.startswith(("arith.", "math.")) and len(op.operation.operands) > 0


@dataclass
class VectorLayouts:
    """The layouts of one function's vectors; make it with `infer_vector_layouts`."""

    _candidates: dict[ir.Value, list[NestedLayout]] = field(default_factory=dict)
    _anchored: set[ir.Value] = field(default_factory=set)
    _work: deque[ir.Value] = field(default_factory=deque)

    def candidates(self, value: ir.Value) -> tuple[NestedLayout, ...]:
        """Returns all layouts that `value` could get: none, one, or contradicting ones."""
        return tuple(self._candidates.get(value, ()))

    def with_layouts(self, known: Mapping[ir.Value, NestedLayout]) -> VectorLayouts:
        """Returns the same layouts, but for some vectors other ones."""
        return VectorLayouts(self._candidates | {v: [layout] for v, layout in known.items()})

    def _spread(self, function: ir.Operation) -> None:
        for op in operations_in(function, "iree_vector_ext.to_layout"):
            self._add(op.results[0], _layout_of(op))
        while self._work:
            value = self._work.popleft()
            for layout in self.candidates(value):
                for use in value.uses:
                    for result, derived in _forwards(use.owner, use.operand_number, layout):
                        self._add(result, derived)
        self._anchored = set(self._candidates)
        if not self._anchored:
            return
        for region in function.regions:
            self._spread_back(region)

    def _add(self, value: ir.Value, layout: NestedLayout | None) -> None:
        if layout is None or not isinstance(value.type, ir.VectorType):
            return
        found = self._candidates.setdefault(value, [])
        if layout not in found and len(found) < _MAX_CANDIDATES:
            found.append(layout)
            self._work.append(value)

    def _spread_back(self, region: ir.Region) -> None:
        for block in region.blocks:
            for op in reversed(operations_of(block)):
                for operand, layout in self._backwards(op):
                    # A layout that came forwards stays: IREE converts it at this use.
                    if operand not in self._anchored:
                        self._add(operand, layout)
                for inner in op.regions:
                    self._spread_back(inner)

    def _backwards(self, op: ir.Operation) -> Iterator[tuple[ir.Value, NestedLayout | None]]:
        """Yields (operand, layout) pairs that follow from the layouts of `op`'s results."""
        name = op_name(op)
        if name == FOR:
            for carried in carried_values(op):
                for layout in self.candidates(carried.result):
                    yield carried.yielded, layout
                    yield carried.initial, layout
            return
        if len(op.results) == 0 or len(op.operands) == 0:
            return
        if is_elementwise(op):
            pairs = zip(op.operands, op.results, strict=False)
            if name != "iree_gpu.value_barrier":
                pairs = ((operand, op.results[0]) for operand in op.operands)
            for operand, result in pairs:
                for layout in self.candidates(result):
                    yield operand, layout
            return
        for layout in self.candidates(op.results[0]):
            if name == "iree_vector_ext.to_layout":
                # Where the conversion goes through LDS the input keeps a layout of its own.
                if "shared_memory_conversion" not in op.attributes:
                    yield op.operands[0], layout
            elif name == "vector.multi_reduction":
                yield op.operands[1], layout
            elif name == "vector.contract":
                yield op.operands[2], layout
            elif name == "vector.transpose":
                yield op.operands[0], layout.permute(_inverse(_permutation(op)))
            elif name == "vector.shape_cast":
                yield op.operands[0], layout.reshape(_shape(op.operands[0]))
            elif name == "vector.broadcast" and isinstance(op.operands[0].type, ir.VectorType):
                added = layout.rank - len(_shape(op.operands[0]))
                yield op.operands[0], layout.project([d < added for d in range(layout.rank)])
            elif name == "vector.gather":
                yield from ((operand, layout) for operand in list(op.operands)[-3:])


def infer_vector_layouts(function: ir.Operation | ir.OpView) -> VectorLayouts:
    """Spreads the layouts of all `to_layout` ops over the vectors of `function`."""
    layouts = VectorLayouts()
    layouts._spread(function.operation)
    return layouts


def why_unknown_forwards(value: ir.Value) -> str:
    """Returns where the search for the layout of a read vector ends, in a few words.

    Example: "reaches scf.yield through vector.contract".
    """
    seen = {value}
    work: deque[tuple[ir.Value, str]] = deque([(value, "")])
    while work:
        current, through = work.popleft()
        for use in current.uses:
            op = use.owner.operation
            name = op_name(op)
            vectors = [r for r in op.results if isinstance(r.type, ir.VectorType)]
            if not vectors:
                return f"reaches {name}{through}"
            onward = f" through {name}"
            if name not in _TRANSPARENT and not is_elementwise(op):
                through, onward = onward, onward
            for result in vectors:
                if result not in seen:
                    seen.add(result)
                    work.append((result, through or onward))
    return "the vector is not used"


def why_unknown_backwards(value: ir.Value) -> str:
    """Returns where the search for the layout of a written vector ends, in a few words."""
    seen = {value}
    work = deque([value])
    ends: list[str] = []
    while work:
        current = work.popleft()
        if isinstance(current.owner, ir.Block):
            ends.append("a block argument")
            continue
        op = current.owner.operation
        if op_name(op) not in _TRANSPARENT and not is_elementwise(op):
            ends.append(op_name(op))
            continue
        for operand in op.operands:
            if operand not in seen and isinstance(operand.type, ir.VectorType):
                seen.add(operand)
                work.append(operand)
    return "comes from " + (", ".join(dict.fromkeys(ends)) or "scalars")


_TRANSPARENT = frozenset({"vector.transpose", "vector.shape_cast", "vector.broadcast"})


def _forwards(
    user: ir.Operation | ir.OpView, operand_number: int, layout: NestedLayout
) -> Iterator[tuple[ir.Value, NestedLayout | None]]:
    """Yields (value, layout) pairs that follow from the layout of one operand of `user`."""
    op = user.operation
    name = op_name(op)
    if name in (FOR, YIELD):
        yield from ((value, layout) for value in joins_of_use(op, operand_number))
    elif name == "vector.yield" and op.parent is not None:
        if op_name(op.parent) == "vector.mask":
            yield op.parent.operation.results[operand_number], layout
    elif name == "iree_gpu.value_barrier":
        yield op.results[operand_number], layout
    elif is_elementwise(op):
        yield from ((result, layout) for result in op.results)
    elif name == "vector.multi_reduction":
        if operand_number == 0:
            dropped = set(_integers(op, "reduction_dims"))
            layout = layout.project([d in dropped for d in range(layout.rank)])
        yield op.results[0], layout
    elif name == "vector.contract" and operand_number == 2:
        yield op.results[0], layout
    elif name == "vector.transpose":
        yield op.results[0], layout.permute(_permutation(op))
    elif name == "vector.shape_cast":
        yield op.results[0], layout.reshape(_shape(op.results[0]))
    elif name == "vector.gather":
        yield op.results[0], layout


def _layout_of(to_layout: ir.Operation) -> NestedLayout | None:
    try:
        return NestedLayout.parse(str(to_layout.attributes["layout"]))
    except NestedLayoutError:
        return None


def _integers(op: ir.Operation, name: str) -> list[int]:
    return [int(value) for value in ir.DenseI64ArrayAttr(op.attributes[name])]


def _permutation(transpose: ir.Operation) -> list[int]:
    return _integers(transpose, "permutation")


def _inverse(permutation: Sequence[int]) -> list[int]:
    inverse = [0] * len(permutation)
    for i, p in enumerate(permutation):
        inverse[p] = i
    return inverse


def _shape(vector: ir.Value) -> list[int]:
    return list(ir.VectorType(vector.type).shape)
