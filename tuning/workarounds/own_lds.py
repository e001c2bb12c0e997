# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives each kernel of an executable for NVIDIA GPUs the LDS that it needs itself.

IREE 3.13 lays the LDS of all functions of an executable one behind the other, and every launch asks
for all of it. Of three kernels for ranges of a size, none has room for a second workgroup then, and
the sum may be more than the GPU has:

    hal.executable.export @few ... <workgroup_local_memory = 245760>         -> 49152
    hal.executable.export @many ... <workgroup_local_memory = 245760>        -> 65536
    ...
    llvm.func @many() {
      %memory = llvm.mlir.addressof @__dynamic_shared_memory__
      %first = llvm.getelementptr %memory[0, 180224]                         -> [0, 0]
      %second = llvm.getelementptr %memory[0, 212992]                        -> [0, 32768]

Runs on modules whose functions are in the LLVM dialect, before they become machine code.

This works around IREE 3.13 (`docs/for_iree.md#the-lds-of-specialized-kernels`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from iree.compiler import ir

from ...bank_model.families import NVIDIA
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.kernels import backend_of, variants_of
from ...dialect_utils.operations import children, defining_operation, operations_in, symbol_of

_EXPORT, _FUNCTION = "hal.executable.export", "llvm.func"
_ADDRESS, _OFFSET = "llvm.mlir.addressof", "llvm.getelementptr"
_MEMORY, _BYTES_OF_MEMORY = "__dynamic_shared_memory__", "!llvm.array<0 x i8>"
_BYTES = "workgroup_local_memory"


def shares_lds(variants: Iterable[ir.Operation]) -> bool:
    """Returns whether kernels that are compiled together are launched with one LDS."""
    return any(len(exports) > 1 for _, exports in _exports(variants))


def separate_lds(module: ir.Operation) -> None:
    """Lets the LDS of each kernel begin at 0, and lets its launch ask for no more than that.

    Kernels of which it is not known what LDS is theirs alone stay as they are.
    """
    for variant, exports in _exports(variants_of(module)):
        functions = {symbol_of(each): _places(each) for each in operations_in(variant, _FUNCTION)}
        places = {name: found for name, found in functions.items() if found is not None}
        if len(exports) > 1 and len(places) == len(functions):
            for export in exports:
                _separate(export, places)


def _exports(
    variants: Iterable[ir.Operation],
) -> Iterator[tuple[ir.Operation, list[ir.Operation]]]:
    """Yields those of the variants that are for NVIDIA GPUs, with their exports."""
    for variant in variants:
        if backend_of(variant) == NVIDIA.backend:
            yield variant, children(variant, _EXPORT)


class _Place(NamedTuple):
    """Where an allocation begins in the LDS of an executable.

    Attributes:
        address: the operation that computes it.
        constant: the operand of that with the offset.
    """

    address: ir.Operation
    constant: ir.Operation

    @property
    def offset(self) -> int:
        """Returns the bytes before the allocation."""
        return ir.IntegerAttr(self.constant.attributes["value"]).value

    def move_to(self, offset: int) -> None:
        """Lets the allocation begin elsewhere."""
        kind = ir.IntegerAttr(self.constant.attributes["value"]).type
        constant = Builder.before(self.address).clone(self.constant, [])
        constant.attributes["value"] = ir.IntegerAttr.get(kind, offset)
        self.address.operands[len(self.address.operands) - 1] = constant.results[0]


def _places(function: ir.Operation) -> list[_Place] | None:
    """Returns the allocations of a function; None where one is addressed in another form."""
    places: list[_Place] = []
    for address in operations_in(function, _ADDRESS):
        if ir.FlatSymbolRefAttr(address.attributes["global_name"]).value != _MEMORY:
            continue
        for use in address.results[0].uses:
            user = use.owner.operation
            indices = [defining_operation(each) for each in list(user.operands)[1:]]
            if user.name != _OFFSET or str(user.attributes["elem_type"]) != _BYTES_OF_MEMORY:
                return None
            constant = indices[-1]
            if constant is None or constant.name != "llvm.mlir.constant":
                return None
            places.append(_Place(user, constant))
    return places


def _separate(export: ir.Operation, places: Mapping[str, Sequence[_Place]]) -> None:
    """Gives the kernel of an export its own LDS, if all between its ends is that.

    Args:
        places: where the allocations of all functions begin, as IREE has laid them.
    """
    name = symbol_of(export)
    own = places.get(name, ())
    if not own or _BYTES not in export.attributes:
        return
    size = ir.IntegerAttr(export.attributes[_BYTES])
    others = [each.offset for key, found in places.items() if key != name for each in found]
    start, last = min(each.offset for each in own), max(each.offset for each in own)
    end = min((offset for offset in others if offset > start), default=size.value)
    if end <= last or start in others:
        return
    for each in own:
        each.move_to(each.offset - start)
    export.attributes[_BYTES] = ir.IntegerAttr.get(size.type, end - start)
