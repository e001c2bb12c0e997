# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interprets the ops of a host program, one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from ..dialect_utils.diagnostics import SourceLocation
from .dtypes import is_integer, packed
from .host_constants import constant_bytes
from .host_scalars import SCALAR_OPS
from .host_values import (
    TIMEPOINT,
    Binding,
    BufferView,
    Device,
    DispatchCommand,
    HostBuffer,
    HostProgramError,
    Resource,
    host_dtype,
)
from .parameter_files import Bytes, ParameterError, Parameters


@dataclass(frozen=True)
class HostModule:
    """What the functions of a module share.

    Attributes:
        functions: the functions that have a body, by name.
        exports: the kernels' exports by `executable::variant::kernel`.
        globals: the values of globals by name, which the program changes.
        blobs: the bytes of `dense_resource` constants by name.
        parameters: the weights that lie in files.
        trace: is told of each op before it runs; None where nobody is.
    """

    functions: Mapping[str, ir.Operation]
    exports: Mapping[str, ir.Operation]
    globals: dict[str, object]
    blobs: Mapping[str, bytes]
    parameters: Parameters
    trace: Callable[[str], None] | None = None


class Interpreter:
    """A run of one region."""

    def __init__(self, module: HostModule, device: Device) -> None:
        self.module = module
        self.device = device
        self.values: dict[ir.Value, Any] = {}
        self.steps = 0

    def run_region(self, region: ir.Region, arguments: Sequence[object]) -> list[object]:
        """Runs a region of basic blocks, and returns the operands of its return."""
        block = region.blocks[0]
        while True:
            last = self.run_block(block, arguments)
            if last.name in _RETURNS:
                return self.operands(last)
            block, arguments = self.branch(last)

    def run_block(self, block: ir.Block, arguments: Sequence[object]) -> ir.Operation:
        """Runs a block up to its terminator, and returns the terminator."""
        for parameter, value in zip(block.arguments, arguments, strict=True):
            self.values[parameter] = value
        operations = [op.operation for op in block]
        for operation in operations[:-1]:
            self.run(operation)
        self.steps += len(operations)
        if self.steps > 10_000_000:
            raise _located(operations[-1], "the host program does not end")
        return operations[-1]

    def branch(self, operation: ir.Operation) -> tuple[ir.Block, list[object]]:
        """Returns the block that a terminator branches to, and the values that it passes."""
        if operation.name == "cf.br":
            return operation.successors[0], self.operands(operation)
        if operation.name == "cf.cond_br":
            condition, yes, no = self.segments(operation)
            taken = bool(condition[0])
            return operation.successors[0 if taken else 1], yes if taken else no
        if operation.name == "cf.switch":
            return self.switch(operation)
        raise self.unsupported(operation)

    def switch(self, operation: ir.Operation) -> tuple[ir.Block, list[object]]:
        """Returns the block that cf.switch branches to, and the values that it passes.

        A value that is no case goes to the first block.
        """
        (flag,), default, passed = self.segments(operation)
        if "case_values" not in operation.attributes:
            return operation.successors[0], default
        values = [int(x) for x in ir.DenseIntElementsAttr(operation.attributes["case_values"])]
        if flag not in values:
            return operation.successors[0], default
        sizes = list(ir.DenseI32ArrayAttr(operation.attributes["case_operand_segments"]))
        case = values.index(flag)
        start = sum(sizes[:case])
        return operation.successors[case + 1], passed[start : start + sizes[case]]

    def unsupported(self, operation: ir.Operation, detail: str = "") -> HostProgramError:
        """Returns the error of an op that cannot be run."""
        return _located(
            operation,
            f"the emulator does not run the host op '{operation.name}'{detail}; what runs are "
            "programs of dispatches, fills, copies, calls, branches and loops",
        )

    def operands(self, operation: ir.Operation) -> list[Any]:
        """Returns the values of an op's operands."""
        return [self.values[operand] for operand in operation.operands]

    def segments(self, operation: ir.Operation) -> list[list[Any]]:
        """Returns the values of an op's operands, segment by segment."""
        values = iter(self.operands(operation))
        sizes = ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"])
        return [[next(values) for _ in range(size)] for size in sizes]

    def run(self, operation: ir.Operation) -> None:
        """Executes one op."""
        name = operation.name
        if self.module.trace is not None:
            self.module.trace(_trace_line(operation))
        if name in SCALAR_OPS:
            results = SCALAR_OPS[name](operation, self.operands(operation))
        elif name in HANDLERS:
            results = HANDLERS[name](self, operation)
        else:
            raise self.unsupported(operation)
        for result, value in zip(operation.results, results, strict=True):
            self.values[result] = value


_RETURNS = frozenset({"util.return", "hal.return"})


def _trace_line(operation: ir.Operation) -> str:
    """Returns an op's name, what it calls or launches, and its place in the source."""
    named = (str(operation.attributes[key]) for key in _CALLED if key in operation.attributes)
    place = SourceLocation.of(operation.location)
    words = [f"[{place}]" if place else "", operation.name, *named]
    return " ".join(word for word in words if word)


_CALLED = ("callee", "entry_points", "global", "entry_point")


def _located(operation: ir.Operation, message: str) -> HostProgramError:
    place = SourceLocation.of(operation.location)
    return HostProgramError(f"{place}: {message}" if place else message)


def _nothing(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    return [TIMEPOINT for _ in op.results]


def _buffer_constant(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    return [HostBuffer(constant_bytes(op.attributes["value"], run.module.blobs))]


def _assert_view(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    """Runs hal.buffer_view.assert, which checks an input's type and shape."""
    view, element_type, _, *shape = run.operands(op)
    message = ir.StringAttr(op.attributes["message"]).value
    if view.element_type != element_type or list(view.shape) != shape:
        wanted = "x".join([*map(str, shape), str(element_type)])
        given = "x".join([*map(str, view.shape), view.element_type])
        raise HostProgramError(f"{message} is {given}, the function takes {wanted}")
    return []


def _import_tensor(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    view, *_, size = run.operands(op)
    if view.resource is not None:
        return [view.resource.part(0, size)]
    data = packed(view.data)
    if len(data) != size:
        raise HostProgramError(f"an input of {len(data)} bytes where {size} are needed")
    view.resource = Resource(run.device.allocate(size), size)
    run.device.write(view.resource.address, data)
    return [view.resource]


def _export_tensor(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    resource, *rest = run.operands(op)
    dimensions = rest[:-1]
    attribute = op.attributes["source_encoding"]
    kind = ir.RankedTensorType(ir.TypeAttr(attribute).value)
    dynamic = iter(dimensions)
    shape = tuple(
        next(dynamic) if kind.is_dynamic_dim(i) else kind.get_dim_size(i) for i in range(kind.rank)
    )
    return [BufferView(shape, str(kind.element_type), resource=resource)]


def _allocate(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    """Runs stream.resource.alloc, and alloca, which returns a timepoint too."""
    size = next(v for v in reversed(run.operands(op)) if isinstance(v, int))
    resource = Resource(run.device.allocate(size), size)
    return [resource, *(TIMEPOINT for _ in op.results[1:])]


def _subview(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    resource, _, offset, size = run.operands(op)
    return [resource.part(offset, size)]


def _await(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    resources, _, _ = run.segments(op)
    return resources


def _file_read(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    buffer, source_offset, target, _, target_offset, length, *_ = run.operands(op)
    part = target.part(target_offset, length)
    run.device.write(part.address, buffer.data[source_offset : source_offset + length])
    return [TIMEPOINT]


def _file_constant(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    buffer, _, offset, length = run.operands(op)
    return [HostBuffer(buffer.data[offset : offset + length])]


def _parameter(
    run: Interpreter, op: ir.Operation, scope: Sequence[Any], key: Any, offset: int, length: int
) -> Bytes:
    """Reads some bytes of a parameter, which may have no scope."""
    name, key_text = ("".join(bytes(b.data).decode() for b in part) for part in (scope, [key]))
    try:
        return run.module.parameters.read(name, key_text, offset, length)
    except ParameterError as error:
        raise _located(op, str(error)) from None


def _load_parameters(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    """Runs stream.cmd.parameter.load, which makes a resource for each parameter."""
    scope, keys, offsets, lengths, _ = run.segments(op)
    results: list[object] = []
    for key, offset, length in zip(keys, offsets, lengths, strict=True):
        address = run.device.allocate(length)
        run.device.write(address, _parameter(run, op, scope, key, offset, length))
        results.append(Resource(address, length))
    return [*results, TIMEPOINT]


def _gather_parameters(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    """Runs stream.cmd.parameter.gather, which reads parameters into parts of one resource."""
    scope, keys, offsets, (target,), _, places, lengths, _ = run.segments(op)
    for key, offset, place, length in zip(keys, offsets, places, lengths, strict=True):
        part = target.part(place, length)
        run.device.write(part.address, _parameter(run, op, scope, key, offset, length))
    return [TIMEPOINT]


def _execute(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    """Runs stream.cmd.execute: gives its resources new names, and runs its commands."""
    resources, _, _ = run.segments(op)
    block = op.regions[0].blocks[0]
    for parameter, value in zip(block.arguments, resources, strict=True):
        run.values[parameter] = value
    _commands(run, block)
    return [TIMEPOINT]


def _commands(run: Interpreter, block: ir.Block) -> None:
    for op in block:
        operation = op.operation
        if operation.name == "stream.yield":
            continue
        if operation.name in ("stream.cmd.concurrent", "stream.cmd.serial"):
            _commands(run, operation.regions[0].blocks[0])
        else:
            run.run(operation)


def _fill(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    resource, _, offset, length, value = run.operands(op)
    dtype = host_dtype(str(op.operands[4].type))
    pattern = np.array([value]).astype(dtype).view(np.uint8)
    part = resource.part(offset, length)
    run.device.write(part.address, np.tile(pattern, length // len(pattern)))
    return []


def _copy(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    source, _, source_offset, target, _, target_offset, length = run.operands(op)
    parts = source.part(source_offset, length), target.part(target_offset, length)
    run.device.copy(parts[0].address, parts[1].address, length)
    return []


def _dispatch(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    workload, constants, resources, _, offsets, lengths = run.segments(op)
    named = ir.ArrayAttr(op.attributes["entry_points"])
    entry_points = ["::".join(ir.SymbolRefAttr(each).value) for each in named]
    entry = next((e for e in entry_points if e in run.module.exports), None)
    if entry is None:
        raise HostProgramError(f"the module has no kernel {' or '.join(entry_points)}")
    entry = _entry_for(run, entry, workload)
    counts = _workgroup_count(run, run.module.exports[entry], workload)
    bindings = tuple(
        Binding(part.address, part.size)
        for resource, offset, length in zip(resources, offsets, lengths, strict=True)
        for part in [resource.part(offset, length)]
    )
    bits = []
    for value, operand in zip(constants, list(op.operands)[len(workload) :], strict=False):
        if not isinstance(operand.type, ir.IntegerType) or operand.type.width > 32:
            raise run.unsupported(op, f" with a constant of type {operand.type}")
        bits.append(value & 0xFFFFFFFF)
    if min(counts) > 0:
        kernel = entry.split("::")[-1]
        run.device.dispatch(DispatchCommand(kernel, counts, bindings, tuple(bits)))
    return []


def _entry_for(run: Interpreter, entry: str, workload: Sequence[int]) -> str:
    """Returns the kernel that a dispatch of another one runs for a workload.

    It is the other one, or what that falls back to where its condition does not hold.
    """
    export = run.module.exports[entry]
    if "condition_fallback" not in export.attributes:
        return entry
    (holds,) = _computed(run, export.regions[_CONDITION], workload)
    if holds:
        return entry
    fallback = ir.FlatSymbolRefAttr(export.attributes["condition_fallback"]).value
    return _entry_for(run, "::".join([*entry.split("::")[:-1], fallback]), workload)


_COUNT, _CONDITION = range(2)
"""The regions of an export."""


def _computed(run: Interpreter, region: ir.Region, workload: Sequence[int]) -> list[object]:
    """Returns what a region of an export computes from a workload."""
    arguments = [None, *workload][: len(region.blocks[0].arguments)]
    return Interpreter(run.module, run.device).run_region(region, arguments)


def _workgroup_count(
    run: Interpreter, export: ir.Operation, workload: Sequence[int]
) -> tuple[int, int, int]:
    """Returns the workgroup count that the export computes from the workload."""
    counts = _computed(run, export.regions[_COUNT], workload)
    if len(counts) != 3 or not all(isinstance(c, int) for c in counts):
        raise run.unsupported(export)
    x, y, z = (int(str(c)) for c in counts)
    return x, y, z


def _named(op: ir.Operation, attribute: str) -> str:
    """Returns the symbol that an attribute names, without the quotes that its text may have."""
    return ir.FlatSymbolRefAttr(op.attributes[attribute]).value


def _global_load(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    name = _named(op, "global")
    if name not in run.module.globals:
        raise HostProgramError(f"global @{name} is read before it is set")
    return [run.module.globals[name]]


def _global_store(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    run.module.globals[_named(op, "global")] = run.operands(op)[0]
    return []


def _view_dimension(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    return [run.operands(op)[0].shape[ir.IntegerAttr(op.attributes["index"]).value]]


def _load_element(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    """Runs stream.resource.load, which reads one number that the host may read."""
    resource, _, offset = run.operands(op)
    dtype = host_dtype(str(op.results[0].type))
    part = resource.part(offset, dtype.itemsize)
    value = run.device.read(part.address, part.size).view(dtype)[0]
    return [int(value) if is_integer(dtype) else float(value)]


def _store_element(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    """Runs stream.resource.store."""
    resource, _, offset, value = run.operands(op)
    data = np.array([value]).astype(host_dtype(str(op.operands[3].type))).view(np.uint8)
    run.device.write(resource.part(offset, len(data)).address, data)
    return []


# Control flow with regions, and calls.


def _call(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    callee = _named(op, "callee")
    if callee not in run.module.functions:
        raise _located(op, f"the module calls @{callee} and does not hold it")
    region = run.module.functions[callee].regions[0]
    return Interpreter(run.module, run.device).run_region(region, run.operands(op))


def _yielded(run: Interpreter, region: ir.Region, arguments: Sequence[object]) -> list[Any]:
    """Runs a region of one block, and returns what it yields."""
    return run.operands(run.run_block(region.blocks[0], arguments))


def _if(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    region = op.regions[0 if run.operands(op)[0] else 1]
    return _yielded(run, region, []) if len(region.blocks) else []


def _for(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    first, end, step, *carried = run.operands(op)
    for number in range(first, end, step):
        carried = _yielded(run, op.regions[0], [number, *carried])
    return carried


def _while(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    values = run.operands(op)
    while True:
        goes_on, *values = _yielded(run, op.regions[0], values)
        if not goes_on:
            return values
        values = _yielded(run, op.regions[1], values)


def _index_switch(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    cases = list(ir.DenseI64ArrayAttr(op.attributes["cases"]))
    chosen = run.operands(op)[0]
    return _yielded(run, op.regions[cases.index(chosen) + 1 if chosen in cases else 0], [])


def _assert(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    if not run.operands(op)[0]:
        raise _located(op, ir.StringAttr(op.attributes["msg"]).value)
    return []


def _same(run: Interpreter, op: ir.Operation) -> Sequence[int]:
    left, right = run.operands(op)
    return [int(left is right or left == right)]


def _done(run: Interpreter, op: ir.Operation) -> Sequence[object]:
    """Returns the status of something that is waited for."""
    return [0]


Handler = Callable[[Interpreter, ir.Operation], Sequence[object]]

HANDLERS: Mapping[str, Handler] = {
    "hal.element_type": lambda run, op: [str(ir.TypeAttr(op.attributes["type"]).value)],
    "hal.encoding_type": lambda run, op: ["dense_row_major"],
    "hal.buffer_view.assert": _assert_view,
    "hal.buffer_view.dim": _view_dimension,
    "hal.buffer_view.rank": lambda run, op: [len(run.operands(op)[0].shape)],
    # Fences and devices: every command is complete when the next one starts.
    "hal.devices.get": _nothing,
    "hal.devices.count": lambda run, op: [1],
    "hal.fence.create": _nothing,
    "hal.fence.join": _nothing,
    "hal.fence.signal": _nothing,
    "hal.fence.query": _done,
    "hal.fence.await": _done,
    "stream.timepoint.immediate": _nothing,
    "stream.timepoint.import": _nothing,
    "stream.timepoint.export": _nothing,
    "stream.timepoint.chain_external": _nothing,
    "stream.timepoint.join": _nothing,
    "stream.timepoint.barrier": lambda run, op: [run.operands(op)[0], TIMEPOINT],
    "stream.timepoint.await": _await,
    "stream.tensor.import": _import_tensor,
    "stream.tensor.export": _export_tensor,
    "stream.resource.alloc": _allocate,
    "stream.resource.alloca": _allocate,
    "stream.resource.dealloca": _nothing,
    "stream.resource.retain": _nothing,
    "stream.resource.release": lambda run, op: [0],
    "stream.resource.is_terminal": lambda run, op: [0],
    "stream.resource.subview": _subview,
    "stream.resource.size": lambda run, op: [run.operands(op)[0].size],
    "stream.resource.load": _load_element,
    "stream.resource.store": _store_element,
    # Constants are never mapped but always read: one path.
    "stream.resource.try_map": lambda run, op: [0, None],
    "stream.file.constant": _file_constant,
    "stream.file.read": _file_read,
    "stream.cmd.parameter.load": _load_parameters,
    "stream.cmd.parameter.gather": _gather_parameters,
    "stream.cmd.execute": _execute,
    "stream.cmd.fill": _fill,
    "stream.cmd.copy": _copy,
    "stream.cmd.dispatch": _dispatch,
    "stream.cmd.flush": _nothing,
    "stream.cmd.invalidate": _nothing,
    "stream.cmd.discard": _nothing,
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
    "scf.index_switch": _index_switch,
    "cf.assert": _assert,
    "util.call": _call,
    "util.null": lambda run, op: [None],
    "util.cmp.eq": _same,
    "util.cmp.ne": lambda run, op: [1 - _same(run, op)[0]],
    "util.cast": lambda run, op: run.operands(op),
    "util.global.load": _global_load,
    "util.global.store": _global_store,
    "util.buffer.constant": _buffer_constant,
}
"""Ops that need the program or the device, by name."""
