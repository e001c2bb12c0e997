# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets contractions of 8-bit integers use `mma.sync` on NVIDIA GPUs.

IREE 3.13 has no matrix instruction of NVIDIA's for i8, and lets each thread multiply element by
element, which takes up to a hundred times as long. It has the one for f8, whose operands lie in the
same lanes. This pass configures a contraction of i8 as one of f8, under whose name the integers
travel (`dialect_utils/carried_integers.py`):

    %a = load_from_buffer %0 : tensor<MxKxi8>        %a = load_from_buffer %0' : tensor<MxKxf8>
    %z = linalg.fill 0 : tensor<MxNxi32>             %z = linalg.fill 0.0 : tensor<MxNxf32>
    %r = linalg.generic %a, %b, %z            ->     %r = linalg.generic %a, %b, %z, mma_kind = ...
    store_to_buffer %r, %2 : ...xi32                 store_to_buffer %r, %2' : ...xf32

An elementwise operation that reads the result has an `arith.bitcast` to i32 in its body.

All passes that stage operands, choose layouts and read fragments take it for any other contraction.
At the end `bankwise-multiply-integers` makes the instructions those of i8, and refuses the function
if anything has computed with what is no f8.

Sums of integers wrap, and are the same in any order: outputs are bitwise equal.

Runs on the configured function, before its pipeline.

This works around IREE 3.13 (`docs/for_iree.md#nvgpummasync-of-i8`).
"""

from __future__ import annotations

from itertools import product
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.matrix_operands import matrix_instructions
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils import carried_integers
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.element_types import scalar_type
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.indexing_maps import GENERIC, ITERATORS, MAPS
from ...dialect_utils.lowering_config import CONFIG, MMA_KIND, PROMOTED, LoweringConfig, WarpLaunch
from ...dialect_utils.operations import (
    constant_value,
    defining_operation,
    operands_with,
    operations_in,
    redirect,
    segments_of,
)
from ...passes.base import PassContext
from ..costs.tile_cost import MatmulTile
from ..matmuls.matmul_tiles import PADDING, WarpTiledMatmul
from ..matmuls.scalar_contractions import ScalarContraction, scalar_contraction, scalar_root
from ..tiles.planned_pass import NewTile, PlannedPass

_LOAD, _STORE = "iree_codegen.load_from_buffer", "iree_codegen.store_to_buffer"
_BINDING = "hal.interface.binding.subspan"
_MMA = "mma.m16n8k32"
_BITS = 8
_SIZES = (128, 64, 32, 16)
_STEPS = (64, 32)
_SHARES = ((2, 2), (2, 1), (1, 2), (1, 1))
"""How many warps stand below and beside each other."""
_ANY_TILE = MatmulTile(64, 64, 64, 2, 2)
"""The tile of a matmul whose sizes none divides, until a better one is chosen."""


class CarryIntegers(PlannedPass["CarriedContraction"]):
    """Configures contractions of i8 for matrix instructions."""

    name: ClassVar[str] = "bankwise-carry-integers"
    summary: ClassVar[str] = "let contractions of 8-bit integers use mma.sync"
    what_stays: ClassVar[str] = "the contraction of i8 keeps scalar instructions"
    kept: ClassVar[str] = "scalar instructions"

    def _plan(self, function: ir.Operation, context: PassContext) -> CarriedContraction | None:
        return carried_contraction(function, context.test_target)

    def _take(
        self, function: ir.Operation, context: PassContext, plan: CarriedContraction
    ) -> NewTile:
        matmul = _carry(function, plan)
        context.assumptions.append((self, _check_multiplied))
        reason = f"{matmul.tile}, by matrix instructions in the place of scalar ones"
        return matmul.operation, matmul.tile, reason


def _check_multiplied(function: ir.Operation) -> None:
    """Checks that the carried integers have been multiplied as integers.

    Raises:
        PassFailure: they have not.
    """
    if carried_integers.is_marked(function):
        raise PassFailure(function.location, carried_integers.objection(function))


class CarriedContraction(NamedTuple):
    """A contraction of i8 that can be carried as one of f8.

    Attributes:
        matmul: it and the tile that it gets.
        fill: what its sums begin with: zeros.
    """

    matmul: WarpTiledMatmul
    fill: ir.Operation


def carried_contraction(
    function: ir.Operation, test_target: str | None = None
) -> CarriedContraction | None:
    """Returns the contraction of i8 of `function`, as matrix instructions would compute it.

    None stands for a function without one by scalar instructions, or for a GPU that has no matrix
    instruction for it.

    Raises:
        Refusal: there is one that matrix instructions cannot compute.
    """
    features = gpu_features_of(function, test_target)
    if not features.mma_sync:
        return None
    instruction = matrix_instructions(features.arch).get(_MMA)
    if instruction is None or _BITS not in instruction.source_bits:
        return None
    with function.context:
        root = scalar_root(function, ir.IntegerType.get_signless(_BITS))
    if root is None or str(scalar_type(root.results[0].type)) != "i32":
        return None
    contraction = scalar_contraction(root, "arith.muli", "arith.addi", "arith.extsi")
    for operand in list(root.operands)[:2]:
        _check_loaded(operand)
    fill = _fill_of_zeros(root.operands[2], function)
    for user, number in operands_with(root.results[0]):
        _check_use(user, number)
    carried = carried_integers.operand_type(function.context)
    if any(str(carried) in str(each.type) for op in operations_in(function) for each in op.results):
        raise Refusal(f"the function has {carried} of its own")
    return CarriedContraction(_tiled(function, contraction), fill)


def _check_use(user: ir.Operation, number: int) -> None:
    """Makes sure that the result of a contraction goes to memory or to an elementwise operation.

    Raises:
        Refusal: it goes elsewhere.
    """
    if user.name == _STORE:
        _check_binding(user.operands[1])
    elif user.name != GENERIC or number >= len(segments_of(user)[0]):
        raise Refusal(f"its result is used by {user.name}")


def _check_binding(buffer: ir.Value) -> None:
    binding = defining_operation(buffer)
    if binding is None or binding.name != _BINDING:
        raise Refusal("a matrix is a part of a buffer")


def _check_loaded(operand: ir.Value) -> None:
    """Makes sure that an operand is read from memory as it is.

    Raises:
        Refusal: it is not.
    """
    load = defining_operation(operand)
    if load is None or load.name != _LOAD:
        made = "an argument" if load is None else load.name
        raise Refusal(f"an operand is computed in the kernel, by {made}")
    _check_binding(load.operands[0])


def _fill_of_zeros(value: ir.Value, function: ir.Operation) -> ir.Operation:
    for fill in operations_in(function, "linalg.fill"):
        if value == fill.results[0]:
            if constant_value(fill.operands[0]) != 0:
                raise Refusal("its sums do not begin with zero")
            return fill
    raise Refusal("it adds to a matrix that is not zero")


def _tiled(function: ir.Operation, contraction: ScalarContraction) -> WarpTiledMatmul:
    """Returns the contraction with the largest tile that divides its sizes, or with any tile.

    Where none divides them, `bankwise-enlarge-matmuls` gives it sizes that one does.
    """
    launch = WarpLaunch.as_row(function)
    of = (contraction.operation, contraction.extents, launch)
    for rows, columns, summed, share in product(_SIZES, _SIZES, _STEPS, _SHARES):
        tile = MatmulTile(rows, columns, summed, *share)
        matmul = WarpTiledMatmul(*of, tile, contraction.loops, carried_integers.SHAPE)
        if matmul.takes(tile):
            return matmul
    return WarpTiledMatmul(*of, _ANY_TILE, contraction.loops, carried_integers.SHAPE)


def _carry(function: ir.Operation, contraction: CarriedContraction) -> WarpTiledMatmul:
    """Replaces a contraction of i8 by one of f8; returns it."""
    old, context = contraction.matmul.operation, function.context
    operand, result = (
        carried_integers.operand_type(context),
        carried_integers.result_type(context),
    )
    a, b, _ = old.operands
    loads = {each: _reloaded(each, operand) for each in dict.fromkeys((a, b))}
    at = Builder.before(old)
    shape = ir.RankedTensorType(old.results[0].type).shape
    floats = ir.RankedTensorType.get(shape, result, loc=old.location)
    begin = at.fill(at.constant(result, 0.0), at.empty(floats))
    kept = {each: old.attributes[each] for each in (MAPS, ITERATORS, CONFIG)}

    def multiply(inside: Builder, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
        return inside.addf(total, inside.mulf(inside.extf(x, result), inside.extf(y, result)))

    new = at.generic([loads[a], loads[b]], begin, kept, multiply)
    for user, number in operands_with(old.results[0]):
        if user.name == _STORE:
            user.operands[1] = _carried_memory(user.operands[1], result)
            user.operands[0] = new.results[0]
        else:
            _read_as_integers(user, number, new.results[0])
    for each in (old, contraction.fill, *(defining_operation(each) for each in loads)):
        if each is not None and not any(list(value.uses) for value in each.results):
            each.erase()
    carried_integers.mark(function)
    matmul = WarpTiledMatmul(
        new,
        contraction.matmul.extents,
        contraction.matmul.launch,
        contraction.matmul.tile,
        contraction.matmul.loops,
        carried_integers.SHAPE,
    )
    _configure(function, matmul)
    return matmul


def _configure(function: ir.Operation, matmul: WarpTiledMatmul) -> None:
    """Gives a contraction its matrix instruction and its tile."""
    context = function.context
    batch = {*range(len(matmul.extents))} - {*matmul.loops}
    ones = ", ".join("1" if loop in batch else "0" for loop in range(len(matmul.extents)))
    kind = f"#iree_gpu.mma_layout<{carried_integers.INSTRUCTION}>"
    entries = {MMA_KIND: kind, PROMOTED: "[0, 1]", "workgroup": f"[{ones}]"}
    config = LoweringConfig(
        {name: ir.Attribute.parse(text, context) for name, text in entries.items()}
    )
    matmul.operation.attributes[CONFIG] = config.attribute(context)
    matmul.configure(function, matmul.tile)
    if not matmul.takes(matmul.tile):
        tile = matmul.tile
        padded = dict(zip(matmul.loops, (tile.rows, tile.columns, tile.summed), strict=True))
        config = LoweringConfig.of(matmul.operation.attributes[CONFIG])
        config = config.with_tiles(
            len(matmul.extents), {PADDING: dict.fromkeys(batch, 1) | padded}, context
        )
        matmul.operation.attributes[CONFIG] = config.attribute(context)


def _reloaded(tensor: ir.Value, element: ir.Type) -> ir.Value:
    """Returns a tensor that is loaded, with the same bytes as elements of another type."""
    load = defining_operation(tensor)
    assert load is not None
    buffer = _carried_memory(load.operands[0], element)
    shape = ir.RankedTensorType(tensor.type).shape
    kind = ir.RankedTensorType.get(shape, element, loc=load.location)
    return Builder.after(load).like(load, [buffer], [kind]).results[0]


def _carried_memory(buffer: ir.Value, element: ir.Type) -> ir.Value:
    """Returns the memory of a binding as elements of another type of the same width."""
    binding = defining_operation(buffer)
    assert binding is not None
    memory = ir.MemRefType(buffer.type)
    kind = ir.MemRefType.get(
        memory.shape, element, memory.layout, memory.memory_space, loc=binding.location
    )
    return Builder.after(binding).like(binding, list(binding.operands), [kind]).results[0]


def _read_as_integers(user: ir.Operation, number: int, carried: ir.Value) -> None:
    """Lets an operation on tensors read operand `number`, of i32, from what carries them."""
    argument = user.regions[0].blocks[0].arguments[number]
    uses, integer = operands_with(argument), argument.type
    argument.set_type(ir.RankedTensorType(carried.type).element_type)
    at = Builder.at_begin(user.regions[0].blocks[0], user.location)
    redirect(uses, at.same_bits(argument, integer))
    user.operands[number] = carried
