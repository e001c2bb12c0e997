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
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from iree.compiler import ir

from .calls import InputTypeError, as_element_type, callable_names
from .dtypes import element_type_of, packed_size, unpacked
from .host_constants import resource_blobs
from .host_interpreter import HostModule, Interpreter
from .host_values import (
    TIMEPOINT,
    Array,
    BufferView,
    Device,
    HostProgramError,
    host_dtype,
    plain_value,
)
from .parameter_files import Parameters


@dataclass(frozen=True)
class FunctionSignature:
    """An exported function.

    Attributes:
        declaration: the one that `iree-run-module` reports, or the types of parameters and results.
        results: how many values it returns.
    """

    name: str
    declaration: str
    results: int


class HostProgram:
    """The functions and globals of one module, on one device."""

    def __init__(
        self,
        module: ir.Operation,
        device: Device,
        parameters: Parameters | None = None,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        """Runs the module's initializers.

        Args:
            module: the module after phase `executable-targets`.
            parameters: what the module loads from files.
            trace: is told of each op before it runs.

        Raises:
            HostProgramError: an initializer does what is not supported.
        """
        # The ops below are parts of it.
        self._module = module
        self._device = device
        functions: dict[str, ir.Operation] = {}
        exports: dict[str, ir.Operation] = {}
        self._host = HostModule(
            functions, exports, {}, resource_blobs(module), parameters or Parameters({}), trace
        )
        initializers: list[ir.Operation] = []
        for op in module.regions[0].blocks[0]:
            operation = op.operation
            if operation.name == "util.func" and len(operation.regions[0].blocks):
                functions[_symbol(operation)] = operation
            elif operation.name == "util.initializer":
                initializers.append(operation)
            elif operation.name == "hal.executable":
                exports.update(_kernel_exports(operation))
            elif operation.name == "util.global" and "initial_value" in operation.attributes:
                value = operation.attributes["initial_value"]
                self._host.globals[_symbol(operation)] = plain_value(value)
        for initializer in initializers:
            Interpreter(self._host, self._device).run_region(initializer.regions[0], [])

    @property
    def signatures(self) -> tuple[FunctionSignature, ...]:
        """Returns the exported functions that can be called with inputs alone."""
        public = [name for name, op in self._host.functions.items() if _is_public(op)]
        return tuple(self.signature(name) for name in callable_names(public))

    def signature(self, function: str) -> FunctionSignature:
        """Returns the signature of an exported function.

        Raises:
            HostProgramError: there is no such function.
        """
        found = self._host.functions.get(function)
        if found is None or not _is_public(found):
            names = ", ".join(s.name for s in self.signatures) or "none"
            raise HostProgramError(f"no function '{function}'; the module exports {names}")
        return FunctionSignature(function, _declaration(found), len(_type(found).results))

    def call(self, function: str, inputs: Sequence[Array | int | float]) -> list[Array]:
        """Runs `function` on `inputs`, and returns its results; scalars are arrays of rank 0.

        Fences, which a function with `$async` in its name takes, are not among the inputs. An
        array of raw bytes (of a NumPy void type) is read as the type that the function wants.

        Raises:
            HostProgramError: there is no such function, the inputs do not fit, or an op is not
                supported.
        """
        signature = self.signature(function)
        body = self._host.functions[function].regions[0]
        parameters = list(body.blocks[0].arguments)
        wanted = [parameter for parameter in parameters if str(parameter.type) != "!hal.fence"]
        if len(inputs) != len(wanted):
            raise HostProgramError(
                f"function '{function}' takes {len(wanted)} inputs, {len(inputs)} are given: "
                f"{signature.declaration}"
            )
        given = iter(enumerate(inputs))
        values = [
            self._argument(*next(given), parameter) if parameter in wanted else TIMEPOINT
            for parameter in parameters
        ]
        results = Interpreter(self._host, self._device).run_region(body, values)
        return [self._fetch(value) for value in results]

    def _argument(self, number: int, value: Array | int | float, parameter: ir.Value) -> object:
        """Converts an input to the type of the function's parameter."""
        kind = parameter.type
        if str(kind) == "!hal.buffer_view":
            return _view(number, np.asarray(value), self._element_type(parameter))
        if np.ndim(value) != 0:
            raise HostProgramError(f"input {number} is a tensor, the function takes one {kind}")
        if isinstance(kind, ir.IntegerType | ir.IndexType):
            return int(value)
        if isinstance(kind, ir.FloatType):
            return float(host_dtype(str(kind)).type(value))
        raise HostProgramError(f"input {number} has type {kind}, which is not supported")

    def _element_type(self, parameter: ir.Value) -> str:
        """Returns the element type that the function asserts of a tensor; empty without one."""
        for use in parameter.uses:
            op = use.owner.operation
            if op.name == "hal.buffer_view.assert":
                return str(ir.TypeAttr(op.operands[1].owner.attributes["type"]).value)
            if op.name == "util.call":
                callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
                if callee in self._host.functions:
                    body = self._host.functions[callee].regions[0].blocks[0]
                    return self._element_type(body.arguments[use.operand_number])
        return ""

    def _fetch(self, value: object) -> Array:
        if isinstance(value, BufferView):
            if value.resource is None:
                assert value.data is not None
                return value.data
            dtype = host_dtype(value.element_type)
            size = packed_size(math.prod(value.shape), dtype)
            return unpacked(self._device.read(value.resource.address, size), dtype, value.shape)
        return np.asarray(value)


def _kernel_exports(executable: ir.Operation) -> dict[str, ir.Operation]:
    found: dict[str, ir.Operation] = {}
    for variant in executable.regions[0].blocks[0]:
        if variant.operation.name != "hal.executable.variant":
            continue
        for op in variant.operation.regions[0].blocks[0]:
            if op.operation.name == "hal.executable.export":
                names = (_symbol(executable), _symbol(variant.operation), _symbol(op.operation))
                found["::".join(names)] = op.operation
    return found


def _symbol(operation: ir.Operation) -> str:
    return ir.StringAttr(operation.attributes["sym_name"]).value


def _is_public(function: ir.Operation) -> bool:
    attributes = function.attributes
    return (
        "sym_visibility" not in attributes
        or ir.StringAttr(attributes["sym_visibility"]).value == "public"
    )


def _type(function: ir.Operation) -> ir.FunctionType:
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def _declaration(function: ir.Operation) -> str:
    if "iree.reflection" in function.attributes:
        reflection = str(function.attributes["iree.reflection"])
        match = re.search(r'iree\.abi\.declaration = "((?:[^"\\]|\\.)*)"', reflection)
        if match:
            return match[1]
    kind = _type(function)
    inputs, results = (", ".join(map(str, types)) for types in (kind.inputs, kind.results))
    return f"@{_symbol(function)}({inputs}) -> ({results})"


def _view(number: int, array: Array, wanted: str) -> BufferView:
    """Reads an input tensor as the function's element type."""
    try:
        array = as_element_type(array, wanted)
    except InputTypeError as error:
        raise HostProgramError(f"input {number} {error}") from None
    given = element_type_of(array.dtype)
    # As in IREE, integers of either sign fit a parameter of their width.
    if given == wanted.removeprefix("u").removeprefix("s"):
        given, array = wanted, array.view(host_dtype(wanted))
    return BufferView(array.shape, given, np.ascontiguousarray(array))
