# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workgroup attributions of a `gpu.func` as allocations, and back.

    gpu.func @k() workgroup(%t : memref<32x32xf32, #lds>) {
    gpu.func @k() { %t = memref.alloc() {bankwise.attribution} : memref<32x32xf32, #lds>

An attribution is an argument of the body, whose type no pass can change. Between the two functions
here it is a `memref.alloc`, to which passes give layouts as to any other.
"""

from __future__ import annotations

from iree.compiler import ir

from ..builders import Builder
from ..handed_attributes import ATTRIBUTION
from ..kernels import memory_arguments
from ..loops import body_of
from ..operations import GPU_FUNC, operations_in
from .flow import is_lds_allocation
from .lds_ops import ALLOC
from .memref_types import is_workgroup_memref, type_of

_COUNT = "workgroup_attributions"
_OF_ARGUMENTS = "workgroup_attrib_attrs"


def allocate_attributions(function: ir.Operation) -> int:
    """Makes allocations of a function's workgroup attributions; returns how many.

    It makes none of a function of which an attribution has attributes, which an allocation would
    lose, or which has private attributions, which come behind.
    """
    if function.name != GPU_FUNC or _OF_ARGUMENTS in function.attributes:
        return 0
    own = [argument for argument, is_own in memory_arguments(function) if is_own]
    if not own or not all(is_workgroup_memref(argument.type) for argument in own):
        return 0
    block = body_of(function)
    # A block loses its arguments from the last one on, so that numbers stay.
    for argument in reversed(own):
        allocation = Builder.at_begin(block, argument.location).alloc(
            type_of(argument), ATTRIBUTION
        )
        argument.replace_all_uses_with(allocation)
        block.erase_argument(argument.arg_number)
    del function.attributes[_COUNT]
    return len(own)


def attribute_allocations(function: ir.Operation) -> int:
    """Makes attributions again of what `allocate_attributions` has made; returns how many."""
    made = [
        each
        for each in operations_in(function, ALLOC)
        if ATTRIBUTION in each.attributes and is_lds_allocation(each)
    ]
    block = body_of(function) if made else None
    for allocation in made:
        assert block is not None
        argument = block.add_argument(allocation.results[0].type, allocation.location)
        allocation.results[0].replace_all_uses_with(argument)
        allocation.erase()
    if made:
        kind = ir.IntegerType.get_signless(64, function.context)
        function.attributes[_COUNT] = ir.IntegerAttr.get(kind, len(made))
    return len(made)
