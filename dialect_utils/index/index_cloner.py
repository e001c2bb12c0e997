# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computing an index once more, with other values in the place of some that it comes from.

    %r = affine.apply affine_map<(i, t) -> (i + t floordiv 16)>(%i, %t)

is the row of iteration %i of a loop. With %n in the place of %i, the row of iteration %n is

    %s = affine.apply affine_map<(i, t) -> (i + t floordiv 16)>(%n, %t)

A pass asks in this way what a later iteration computes, or, with another thread id, another lane.
It says which values the clone keeps or replaces; the operations between these and the index are
cloned. `is_index_arithmetic` says which operations a pass may let be cloned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ..builders import Builder
from ..loops import is_induction
from ..operations import defining_operation, reached_from
from .index_ops import block_owner, compute_after_operands, defining

THREAD_ID, LANE_ID = "gpu.thread_id", "gpu.lane_id"
SAME_IN_A_WAVE = frozenset(
    {
        *("arith.constant", "ub.poison", "memref.get_global"),
        *("gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.cluster_id"),
        *("gpu.subgroup_id", "gpu.num_subgroups", "gpu.subgroup_size", "gpu.subgroup_broadcast"),
        *("hal.interface.workgroup.id", "hal.interface.workgroup.count"),
        *("hal.interface.workgroup.size", "hal.interface.constant.load"),
    }
)
"""Operations whose results are the same in all lanes of a wave, whatever their operands."""

_ARITHMETIC = ("affine.", "arith.", "index.")
_PASSED_ON = (
    "iree_codegen.index_hint",
    "iree_tensor_ext.dispatch.workload.ordinal",
    "util.assume.int",
)
"""Operations that return their operands, and promise something of them."""


def is_index_arithmetic(operation: ir.Operation) -> bool:
    """Returns whether the results of an operation follow from its operands alone."""
    name = operation.name
    return not len(operation.regions) and (name.startswith(_ARITHMETIC) or name in _PASSED_ON)


def is_uniform(value: ir.Value) -> bool:
    """Returns whether all lanes have the same value, as far as that is plain to see."""

    def behind(each: ir.Value) -> Iterable[ir.Value]:
        definition = defining_operation(each)
        if definition is None or definition.name in SAME_IN_A_WAVE:
            return ()
        return definition.operands

    return all(map(_is_of_uniform, reached_from([value], behind)))


def _is_of_uniform(value: ir.Value) -> bool:
    """Returns whether all lanes have the same value if they have the same operands."""
    definition = defining_operation(value)
    if definition is None:
        # Loops and parallel regions around barriers have the same iterations in all lanes.
        around = block_owner(ir.BlockArgument(value)).name
        return is_induction(value) or around in ("scf.forall", "func.func")
    return definition.name in SAME_IN_A_WAVE or is_index_arithmetic(definition)


@dataclass
class IndexCloner:
    """Clones what values are computed from, each operation once.

    Attributes:
        builder: where the clones stand.
        leaf: returns what stands for a value in the clone: the value itself, or another one. None
            lets the operation behind it be cloned, after its operands. It may raise to forbid that.
        shares: whether an operation stays as it is where none of its operands are replaced. The
            builder must then stand behind it.
    """

    builder: Builder
    leaf: Callable[[ir.Value], ir.Value | None]
    shares: bool = True
    _clones: dict[ir.Value, ir.Value] = field(default_factory=dict, init=False, repr=False)

    def clone(self, value: ir.Value) -> ir.Value:
        """Returns the value of the clone that `value` has become."""
        return compute_after_operands(value, self._clones, self._followed, self._emit)

    def _followed(self, value: ir.Value) -> Sequence[ir.Value]:
        leaf = self.leaf(value)
        if leaf is None:
            return list(defining(value).operands)
        self._clones[value] = leaf
        return ()

    def _emit(self, value: ir.Value, operands: Sequence[ir.Value]) -> ir.Value:
        if value in self._clones:
            return self._clones[value]
        operation = defining(value)
        clones = [self._clones[operand] for operand in operands]
        if operation.name in _PASSED_ON:
            # What it says of the value need not hold for the clone: of neighbouring lanes, or of
            # the iterations that there are.
            return clones[ir.OpResult(value).result_number]
        if self.shares and clones == operands:
            return value
        copy = self.builder.clone(operation, clones)
        self._clones.update(zip(operation.results, copy.results, strict=True))
        return self._clones[value]
