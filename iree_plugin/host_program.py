# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the host side of a compiled module, with any device behind it.

After phase `executable-targets` a module's functions are *stream programs*: they import the
inputs, allocate buffers, and submit dispatches, fills and copies.

    %2 = stream.cmd.execute with(%0 as %arg2, %result as %arg4) {
      stream.cmd.dispatch @exe::@variant::@kernel(%n : i32) { ro %arg2[...], wo %arg4[...] }
    }

`HostProgram` interprets them one op after another; timepoints are ignored, because every command
is complete when the next one starts. Ops that it does not know are refused by name.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from iree.compiler import ir

from ..dialect_utils.element_types import ElementTypeError, dtype_of, element_type_of
from ..dialect_utils.lane_values import Unknown, compute_result, constant


class HostProgramError(RuntimeError):
    """A module, function or input that cannot be run; the message names it."""


Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Binding:
    """A range of device memory that a kernel is given."""

    address: int
    size: int


@dataclass(frozen=True)
class DispatchCommand:
    """One kernel launch.

    Attributes:
        kernel: the kernel's name in the executable's assembly.
        workgroups: in x, y, z.
        bindings: buffers in the order of the kernel's pointer arguments.
        constants: 32-bit values behind them.
    """

    kernel: str
    workgroups: tuple[int, int, int]
    bindings: tuple[Binding, ...]
    constants: tuple[int, ...]


class Device(Protocol):
    """What a host program needs of a device. Addresses are plain integers."""

    def allocate(self, size: int) -> int:
        """Reserves `size` bytes of undefined content."""
        ...

    def write(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Copies host bytes to the device."""
        ...

    def read(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        """Copies device bytes to the host."""
        ...

    def dispatch(self, command: DispatchCommand) -> None:
        """Runs a kernel to its end."""
        ...


@dataclass(frozen=True)
class _Resource:
    """A buffer on the device, or a part of one."""

    address: int
    size: int

    def part(self, offset: int, size: int) -> _Resource:
        if offset < 0 or size < 0 or offset + size > self.size:
            raise HostProgramError(
                f"bytes {offset} .. {offset + size} of a resource of {self.size} bytes"
            )
        return _Resource(self.address + offset, size)


@dataclass(frozen=True)
class _BufferView:
    """An input or output tensor: host data, or a resource with a shape."""

    shape: tuple[int, ...]
    element_type: str
    data: Array | None = None
    resource: _Resource | None = None


@dataclass(frozen=True)
class _HostBuffer:
    data: npt.NDArray[np.uint8]


_TIMEPOINT = object()


@dataclass(frozen=True)
class FunctionSignature:
    """A function's name and declaration, as `iree-run-module` reports them."""

    name: str
    declaration: str


class HostProgram:
    """The functions and globals of one module, on one device."""

    def __init__(self, module: ir.Operation, device: Device) -> None:
        """Runs the module's initializers.

        Args:
            module: the module after phase `executable-targets`.

        Raises:
            HostProgramError: an initializer does what is not supported.
        """
        self._module = module
        self._device = device
        self._globals: dict[str, object] = {}
        self._functions: dict[str, ir.Operation] = {}
        self._exports: dict[str, ir.Operation] = {}
        self._blobs = _resource_blobs(module)
        initializers: list[ir.Operation] = []
        for op in module.regions[0].blocks[0]:
            operation = op.operation
            if operation.name == "util.func":
                self._functions[_symbol(operation)] = operation
            elif operation.name == "util.initializer":
                initializers.append(operation)
            elif operation.name == "hal.executable":
                self._collect_exports(operation)
            elif operation.name == "util.global" and "initial_value" in operation.attributes:
                value = operation.attributes["initial_value"]
                self._globals[_symbol(operation)] = _constant(value)
        for initializer in initializers:
            _Interpreter(self, self._device).run_region(initializer.regions[0], [])

    @property
    def signatures(self) -> tuple[FunctionSignature, ...]:
        """The exported functions."""
        return tuple(
            FunctionSignature(name, _declaration(function))
            for name, function in self._functions.items()
            if "iree.reflection" in function.attributes
        )

    def call(self, function: str, inputs: Sequence[Array | int | float]) -> list[Array]:
        """Runs `function` on `inputs`; scalars come back as arrays of rank 0.

        Raises:
            HostProgramError: no such function, inputs that do not fit, or an op that is not
                supported.
        """
        if function not in self._functions:
            names = ", ".join(s.name for s in self.signatures) or "none"
            raise HostProgramError(f"no function '{function}'; the module exports {names}")
        body = self._functions[function].regions[0]
        parameters = list(body.blocks[0].arguments)
        if len(inputs) != len(parameters):
            raise HostProgramError(
                f"function '{function}' takes {len(parameters)} inputs, {len(inputs)} are given: "
                f"{_declaration(self._functions[function])}"
            )
        values = [
            _argument(number, value, parameter.type)
            for number, (value, parameter) in enumerate(zip(inputs, parameters, strict=True))
        ]
        results = _Interpreter(self, self._device).run_region(body, values)
        return [self._fetch(value) for value in results]

    def _fetch(self, value: object) -> Array:
        if isinstance(value, _BufferView):
            if value.data is not None:
                return value.data
            assert value.resource is not None
            dtype = _dtype(value.element_type)
            size = math.prod(value.shape) * dtype.itemsize
            data = self._device.read(value.resource.address, size)
            return data.view(dtype).reshape(value.shape)
        return np.asarray(value)

    def _collect_exports(self, executable: ir.Operation) -> None:
        for variant in executable.regions[0].blocks[0]:
            if variant.operation.name != "hal.executable.variant":
                continue
            for op in variant.operation.regions[0].blocks[0]:
                if op.operation.name == "hal.executable.export":
                    names = (_symbol(executable), _symbol(variant.operation), _symbol(op.operation))
                    self._exports["::".join(names)] = op.operation


def _symbol(operation: ir.Operation) -> str:
    return ir.StringAttr(operation.attributes["sym_name"]).value


def _declaration(function: ir.Operation) -> str:
    reflection = str(function.attributes["iree.reflection"])
    match = re.search(r'iree\.abi\.declaration = "((?:[^"\\]|\\.)*)"', reflection)
    return match[1] if match else _symbol(function)


def _dtype(element_type: str) -> np.dtype[Any]:
    try:
        return dtype_of(element_type)
    except ElementTypeError as error:
        raise HostProgramError(str(error)) from None


def _argument(number: int, value: Array | int | float, kind: ir.Type) -> object:
    """An input as the function's parameter type wants it."""
    if str(kind) == "!hal.buffer_view":
        array = np.asarray(value)
        return _BufferView(array.shape, element_type_of(array.dtype), np.ascontiguousarray(array))
    if np.ndim(value) != 0:
        raise HostProgramError(f"input {number} is a tensor, the function takes one {kind}")
    if isinstance(kind, ir.IntegerType | ir.IndexType):
        return int(value)
    if isinstance(kind, ir.FloatType):
        return float(_dtype(str(kind)).type(value))
    raise HostProgramError(f"input {number} has type {kind}, which is not supported")


def _constant(attribute: ir.Attribute) -> object:
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    if isinstance(attribute, ir.IntegerAttr | ir.FloatAttr):
        return attribute.value
    return attribute


# Bytes of constants.

_BLOB = re.compile(r'^\s*("(?:[^"\\]|\\.)*"|[\w$.-]+): "0x([0-9A-Fa-f]+)"', re.MULTILINE)


def _resource_blobs(module: ir.Operation) -> Mapping[str, bytes]:
    """The `dense_resource` blobs of a module by name; the first 4 bytes of the text align them."""
    found = False

    def look(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        if op.name == "util.buffer.constant" and "dense_resource<" in str(op.attributes["value"]):
            found = True
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.walk(look)
    if not found:
        return {}
    text = module.get_asm()
    return {
        match[1].strip('"'): bytes.fromhex(match[2])[4:]
        for match in _BLOB.finditer(text[text.rfind("dialect_resources:") :])
    }


_COMPOSITE_PART = re.compile(
    r'dense_resource<("(?:[^"\\]|\\.)*"|[^>"]+)> : [a-z]+<[^>]*>|dense<.*?> : [a-z]+<[^>]*>',
    re.DOTALL,
)


def _constant_bytes(attribute: ir.Attribute, blobs: Mapping[str, bytes]) -> npt.NDArray[np.uint8]:
    """The bytes of a `util.buffer.constant`."""
    text = str(attribute)
    parts: list[npt.NDArray[np.uint8]] = []
    if text.startswith("#util.composite<"):
        size = int(text[len("#util.composite<") :].split("x", 1)[0])
        elements = [match[0] for match in _COMPOSITE_PART.finditer(text)]
    else:
        size = None
        elements = [text]
    for element in elements:
        if match := re.match(r'dense_resource<("(?:[^"\\]|\\.)*"|[^>"]+)>', element):
            name = match[1].strip('"')
            if name not in blobs:
                raise HostProgramError(f"the module does not hold the constant '{name}'")
            parts.append(np.frombuffer(blobs[name], np.uint8))
        else:
            parts.append(_dense_bytes(ir.Attribute.parse(element, attribute.context)))
    data = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
    if size is not None and size != len(data):
        raise HostProgramError(f"cannot read the constant {text[:60]}")
    return data


def _dense_bytes(attribute: ir.Attribute) -> npt.NDArray[np.uint8]:
    kind = ir.ShapedType(ir.DenseElementsAttr(attribute).type)
    dtype = _dtype(str(kind.element_type))
    if not isinstance(attribute, ir.DenseElementsAttr):
        raise HostProgramError(f"cannot read the constant {str(attribute)[:60]}")
    if attribute.is_splat:
        value = _constant(attribute.get_splat_value())
        array = np.full(kind.shape, value, dtype)
    elif dtype.kind == "V" or dtype.name.startswith(("bfloat", "float8", "int4", "uint4")):
        raise HostProgramError(f"cannot read a constant of type {kind}")
    else:
        array = np.array(attribute, dtype)
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1)


# The interpreter.


class _Interpreter:
    """One run of one region."""

    def __init__(self, program: HostProgram, device: Device) -> None:
        self.program = program
        self.device = device
        self.values: dict[ir.Value, Any] = {}
        self.steps = 0

    def run_region(self, region: ir.Region, arguments: Sequence[object]) -> list[object]:
        """Runs a region of basic blocks; the operands of its return."""
        block = region.blocks[0]
        while True:
            for parameter, value in zip(block.arguments, arguments, strict=True):
                self.values[parameter] = value
            operations = [op.operation for op in block]
            for operation in operations[:-1]:
                self.run(operation)
            last = operations[-1]
            self.steps += len(operations)
            if self.steps > 10_000_000:
                raise HostProgramError("the host program does not end")
            if last.name in ("util.return", "hal.return", "stream.yield"):
                return [self.values[operand] for operand in last.operands]
            block, arguments = self.branch(last)

    def branch(self, operation: ir.Operation) -> tuple[ir.Block, list[object]]:
        """Where a terminator goes, and the values it passes."""
        if operation.name == "cf.br":
            return operation.successors[0], self.operands(operation)
        if operation.name == "cf.cond_br":
            condition, yes, no = self.segments(operation)
            taken = bool(condition[0])
            return operation.successors[0 if taken else 1], yes if taken else no
        raise self.unsupported(operation)

    def unsupported(self, operation: ir.Operation, detail: str = "") -> HostProgramError:
        reason = f"host op '{operation.name}' is not supported{detail}"
        return HostProgramError(f"{reason} (supported are straight-line stream programs)")

    def operands(self, operation: ir.Operation) -> list[Any]:
        return [self.values[operand] for operand in operation.operands]

    def segments(self, operation: ir.Operation) -> list[list[Any]]:
        """Operand values by segment."""
        values = iter(self.operands(operation))
        sizes = ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"])
        return [[next(values) for _ in range(size)] for size in sizes]

    def run(self, operation: ir.Operation) -> None:
        """Executes one op."""
        handler = _HANDLERS.get(operation.name)
        if handler is None:
            raise self.unsupported(operation)
        results = handler(self, operation)
        for result, value in zip(operation.results, results, strict=True):
            self.values[result] = value


Handler = Callable[[_Interpreter, ir.Operation], Sequence[object]]


def _integers(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    """Integer and index arithmetic: a wave of one lane computes it."""
    operands = [constant(value) for value in run.operands(op)]
    results: list[object] = []
    for number in range(len(op.results)):
        computed = compute_result(op, number, operands)
        if isinstance(computed, Unknown):
            raise HostProgramError(computed.reason)
        results.append(computed.uniform)
    return results


def _float(function: Callable[..., Any]) -> Handler:
    def handle(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
        dtype = _dtype(str(op.results[0].type))
        return [float(dtype.type(function(*map(dtype.type, run.operands(op)))))]

    return handle


def _bitcast(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    source, target = _dtype(str(op.operands[0].type)), _dtype(str(op.results[0].type))
    value = np.array(run.operands(op)[0]).astype(source).view(target)
    return [value.item() if target.kind in "iub" else float(value)]


def _nothing(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    return [_TIMEPOINT for _ in op.results]


def _buffer_constant(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    return [_HostBuffer(_constant_bytes(op.attributes["value"], run.program._blobs))]


def _assert_view(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    """hal.buffer_view.assert: the input's type and shape."""
    view, element_type, _, *shape = run.operands(op)
    message = ir.StringAttr(op.attributes["message"]).value
    if view.element_type != element_type or list(view.shape) != shape:
        wanted = "x".join([*map(str, shape), str(element_type)])
        given = "x".join([*map(str, view.shape), view.element_type])
        raise HostProgramError(f"{message} is {given}, the function takes {wanted}")
    return []


def _import_tensor(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    view, *_, size = run.operands(op)
    if view.resource is not None:
        return [view.resource.part(0, size)]
    data = view.data.reshape(-1).view(np.uint8)
    if len(data) != size:
        raise HostProgramError(f"an input of {len(data)} bytes where {size} are needed")
    address = run.device.allocate(size)
    run.device.write(address, data)
    return [_Resource(address, size)]


def _export_tensor(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    resource, *rest = run.operands(op)
    dimensions = rest[:-1]
    attribute = op.attributes["source_encoding"]
    kind = ir.RankedTensorType(ir.TypeAttr(attribute).value)
    dynamic = iter(dimensions)
    shape = tuple(
        next(dynamic) if kind.is_dynamic_dim(i) else kind.get_dim_size(i) for i in range(kind.rank)
    )
    return [_BufferView(shape, str(kind.element_type), resource=resource)]


def _allocate(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    """stream.resource.alloc and alloca, the latter with a timepoint."""
    size = next(v for v in reversed(run.operands(op)) if isinstance(v, int))
    resource = _Resource(run.device.allocate(size), size)
    return [resource, *(_TIMEPOINT for _ in op.results[1:])]


def _subview(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    resource, _, offset, size = run.operands(op)
    return [resource.part(offset, size)]


def _await(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    resources, _, _ = run.segments(op)
    return resources


def _file_read(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    buffer, source_offset, target, _, target_offset, length, *_ = run.operands(op)
    part = target.part(target_offset, length)
    run.device.write(part.address, buffer.data[source_offset : source_offset + length])
    return [_TIMEPOINT]


def _file_constant(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    buffer, _, offset, length = run.operands(op)
    return [_HostBuffer(buffer.data[offset : offset + length])]


def _execute(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    """stream.cmd.execute: its resources under new names, then its commands."""
    resources, _, _ = run.segments(op)
    block = op.regions[0].blocks[0]
    for parameter, value in zip(block.arguments, resources, strict=True):
        run.values[parameter] = value
    _commands(run, block)
    return [_TIMEPOINT]


def _commands(run: _Interpreter, block: ir.Block) -> None:
    for op in block:
        operation = op.operation
        if operation.name == "stream.yield":
            continue
        if operation.name in ("stream.cmd.concurrent", "stream.cmd.serial"):
            _commands(run, operation.regions[0].blocks[0])
        else:
            run.run(operation)


def _fill(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    resource, _, offset, length, value = run.operands(op)
    dtype = _dtype(str(op.operands[4].type))
    pattern = np.array([value]).astype(dtype).view(np.uint8)
    part = resource.part(offset, length)
    run.device.write(part.address, np.tile(pattern, length // len(pattern)))
    return []


def _copy(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    source, _, source_offset, target, _, target_offset, length = run.operands(op)
    data = run.device.read(source.part(source_offset, length).address, length)
    run.device.write(target.part(target_offset, length).address, data)
    return []


def _dispatch(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    workload, constants, resources, _, offsets, lengths = run.segments(op)
    entry_points = [str(e).replace("@", "") for e in ir.ArrayAttr(op.attributes["entry_points"])]
    entry = next((e for e in entry_points if e in run.program._exports), None)
    if entry is None:
        raise HostProgramError(f"the module has no kernel {' or '.join(entry_points)}")
    counts = _workgroups(run, run.program._exports[entry], workload)
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


def _workgroups(
    run: _Interpreter, export: ir.Operation, workload: Sequence[int]
) -> tuple[int, int, int]:
    """The workgroup count that the export computes from the workload."""
    region = export.regions[0]
    arguments = [None, *workload][: len(region.blocks[0].arguments)]
    counts = _Interpreter(run.program, run.device).run_region(region, arguments)
    if len(counts) != 3 or not all(isinstance(c, int) for c in counts):
        raise run.unsupported(export)
    x, y, z = (int(str(c)) for c in counts)
    return x, y, z


def _global_load(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    name = str(op.attributes["global"]).removeprefix("@")
    if name not in run.program._globals:
        raise HostProgramError(f"global @{name} is read before it is set")
    return [run.program._globals[name]]


def _global_store(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    run.program._globals[str(op.attributes["global"]).removeprefix("@")] = run.operands(op)[0]
    return []


def _view_dimension(run: _Interpreter, op: ir.Operation) -> Sequence[object]:
    return [run.operands(op)[0].shape[ir.IntegerAttr(op.attributes["index"]).value]]


_INTEGER_OPS = (
    *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
    *("arith.divsi", "arith.divui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi"),
    *("arith.remsi", "arith.remui", "arith.shli", "arith.shrsi", "arith.shrui", "arith.cmpi"),
    *("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui", "arith.trunci"),
    *("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui"),
    *("affine.apply", "affine.min", "affine.max"),
)

_HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        **dict.fromkeys(_INTEGER_OPS, _integers),
        "arith.constant": lambda run, op: [_constant(op.attributes["value"])],
        "arith.select": lambda run, op: [run.operands(op)[1 if run.operands(op)[0] else 2]],
        "arith.bitcast": _bitcast,
        "arith.addf": _float(operator.add),
        "arith.subf": _float(operator.sub),
        "arith.mulf": _float(operator.mul),
        "arith.divf": _float(operator.truediv),
        "arith.truncf": _float(lambda a: a),
        "arith.extf": _float(lambda a: a),
        "hal.element_type": lambda run, op: [str(op.attributes["type"])],
        "hal.encoding_type": lambda run, op: ["dense_row_major"],
        "hal.buffer_view.assert": _assert_view,
        "hal.buffer_view.dim": _view_dimension,
        "stream.timepoint.immediate": _nothing,
        "stream.timepoint.join": _nothing,
        "stream.timepoint.barrier": lambda run, op: [run.operands(op)[0], _TIMEPOINT],
        "stream.timepoint.await": _await,
        "stream.tensor.import": _import_tensor,
        "stream.tensor.export": _export_tensor,
        "stream.resource.alloc": _allocate,
        "stream.resource.alloca": _allocate,
        "stream.resource.dealloca": _nothing,
        "stream.resource.subview": _subview,
        "stream.resource.size": lambda run, op: [run.operands(op)[0].size],
        # Constants are never mapped but always read: one path.
        "stream.resource.try_map": lambda run, op: [0, None],
        "stream.file.constant": _file_constant,
        "stream.file.read": _file_read,
        "stream.cmd.execute": _execute,
        "stream.cmd.fill": _fill,
        "stream.cmd.copy": _copy,
        "stream.cmd.dispatch": _dispatch,
        "stream.cmd.flush": _nothing,
        "stream.cmd.invalidate": _nothing,
        "stream.cmd.discard": _nothing,
        "util.global.load": _global_load,
        "util.global.store": _global_store,
        "util.buffer.constant": _buffer_constant,
        "util.optimization_barrier": lambda run, op: run.operands(op),
    }
)
