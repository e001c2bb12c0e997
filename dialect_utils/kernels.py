# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one workgroup executes: a function, or what a `gpu.launch` inside one holds.

A `gpu.launch` is a kernel in the middle of a host function. Its own sizes tell how many lanes run
it, and the arguments of its body are the numbers of the workgroup and of the lane.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from iree.compiler import ir

from .gpu_target import KNOWN_BLOCK_SIZE, KNOWN_BLOCK_SIZES, Launch, block_size_of
from .loops import FOR, body_of
from .operations import GPU_FUNC, GPU_LAUNCH, children, operations_in, parents_of

if TYPE_CHECKING:
    from .index.lane_values import LaneEvaluator, LaneValues, Unknown

_THREAD_IDS, _BLOCK_SIZES = 3, 9
"""The first of the three arguments of a `gpu.launch` that number the lane, and that of those that
say how many lanes there are."""
_NUMBERS, _CLUSTER_NUMBERS = 12, 6
"""The arguments of a `gpu.launch` that are numbers; so many more where it launches clusters."""


_BACKEND = re.compile(r'#hal\.executable\.target<"([^"]*)"')


def functions_in(module: ir.Operation) -> list[ir.Operation]:
    """Returns the functions with a body inside `module`, in the order of the text."""
    return [
        op
        for op in operations_in(module)
        if "function_type" in op.attributes and any(len(region.blocks) for region in op.regions)
    ]


def kernels_of(function: ir.Operation) -> list[ir.Operation]:
    """Returns the function, and every `gpu.launch` inside it, in the order of the text."""
    return [function, *(op for op in operations_in(function, GPU_LAUNCH) if op != function)]


def operations_of_kernel(kernel: ir.Operation) -> list[ir.Operation]:
    """Returns what a workgroup executes, in the order of the text.

    What is inside another `gpu.launch` is not among it.
    """
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == GPU_LAUNCH and operation != kernel:
            return ir.WalkResult.SKIP
        found.append(operation)
        return ir.WalkResult.ADVANCE

    kernel.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def memory_arguments(kernel: ir.Operation) -> list[tuple[ir.BlockArgument, bool]]:
    """Returns the arguments of a kernel's body, each with whether it is memory of its own.

    The attributions of a `gpu.func` and of a `gpu.launch` are allocated for each workgroup; all
    other arguments of a function are its caller's. Numbers of a `gpu.launch` are not among them.
    """
    if not any(len(region.blocks) for region in kernel.regions):
        return []
    arguments = list(body_of(kernel).arguments)
    if kernel.name == GPU_LAUNCH:
        return [(each, True) for each in arguments[_numbers_of(kernel) :]]
    of_caller = len(arguments)
    if kernel.name == GPU_FUNC:
        kind = ir.TypeAttr(kernel.attributes["function_type"]).value
        of_caller = len(ir.FunctionType(kind).inputs)
    return [(each, each.arg_number >= of_caller) for each in arguments]


def _numbers_of(launch: ir.Operation) -> int:
    sizes = ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"])
    return _NUMBERS + (_CLUSTER_NUMBERS if sizes[7] else 0)


def lane_evaluator(kernel: ir.Operation, launch: Launch) -> LaneEvaluator:
    """Returns what evaluates the values of a kernel in every lane."""
    # A compile looks for its kernels before it needs that.
    from .index.lane_values import LaneEvaluator, LaneValues, Unknown, constant, thread_places

    if kernel.name != GPU_LAUNCH:
        return LaneEvaluator(launch)
    arguments = body_of(kernel).arguments
    given: dict[ir.Value, LaneValues | Unknown] = {}
    sizes = (*launch.workgroup_size, 1, 1, 1)
    for dimension, place in enumerate(thread_places(launch)):
        given[arguments[_THREAD_IDS + dimension]] = LaneValues(place)
        given[arguments[_BLOCK_SIZES + dimension]] = constant(sizes[dimension])
    for outer in parents_of(kernel):
        if outer.name == FOR:
            outside = Unknown("loop around the gpu.launch")
            given.update(dict.fromkeys(body_of(outer).arguments, outside))
    return LaneEvaluator(launch, given)


def state_block_size(kernel: ir.Operation, block: tuple[int, ...]) -> None:
    """Writes the lanes of a workgroup along x, y and z to a kernel that states no size itself."""
    if block_size_of(kernel) is not None or "translation_info" in kernel.attributes:
        return
    name = KNOWN_BLOCK_SIZES.get(kernel.name, KNOWN_BLOCK_SIZE)
    sizes = (*block, 1, 1)[:3]
    kernel.attributes[name] = ir.DenseI32ArrayAttr.get(sizes, kernel.context)


def variants_of(module: ir.Operation) -> list[ir.Operation]:
    """Returns the `hal.executable.variant`s of a program, in the order of the text."""
    executables = children(module, "hal.executable")
    return [each for one in executables for each in children(one, "hal.executable.variant")]


def backend_of(variant: ir.Operation) -> str:
    """Returns the backend that a `hal.executable.variant` is for; empty where it names none."""
    backend = _BACKEND.search(str(variant.attributes["target"]))
    return backend[1] if backend else ""
