# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates the constant expressions of a program, as IREE's `iree-consteval-jit-globals` does.

IREE moves what does not depend on a call into globals, with an initializer for each, compiles all
initializers for the processor, runs them, and puts what they have stored into the program. That is
half of the compile of many language models, whose positions and masks are constants:

    util.initializer { %0 = linalg.generic {yield linalg.index}; util.global.store %0, @positions }
    ->  util.global private @positions = dense<[0, 1, 2, ...]>

Here initializers that store integers, or floats that nobody can round otherwise, are evaluated with
NumPy (`dialect_utils/tensor_values.py`). The others go to IREE's pass, in a module of their own, so
that they have IREE's bits. The pass is the next to last one of its phase, and those behind it look
at single functions, which load globals as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from iree.compiler import ir
from iree.compiler.api import Session

from ..dialect_utils.operations import children, defining_operation, operations_in, symbol_of
from ..dialect_utils.tensor_values import (
    LOAD,
    STORE,
    Array,
    NotComputed,
    TensorEvaluator,
    dense_elements,
    dtype_of,
)
from .compile_settings import EVALUATED, PHASES
from .embedding import Lost, StepError, SteppedInvocation

if TYPE_CHECKING:
    import numpy.typing as npt


INITIALIZER = "util.initializer"
_GLOBAL, _VALUE, _PARAMETER = "util.global", "initial_value", "flow.tensor.constant"
_PARAMETER_VALUE = ".parameter.named<"
_ROOTS, _ENDS = ("arith.constant", LOAD), (STORE, "util.return")
_OTHER_ORDER = re.compile(r"scf\..*|(func|util)\.call|util\.global\..*indirect")
_BLOB = re.compile(r'^\s*(?:"(?:[^"\\]|\\.)*"|[\w$.-]+): "0x([0-9A-Fa-f]+)"', re.MULTILINE)
_ALIGNMENT_BYTES = 4
"""What stands in front of the elements of a resource."""
_MOST_BYTES = 1 << 20
"""Of larger resources text would be long."""


def evaluate_constants(module: ir.Operation, session: Session) -> None:
    """Gives globals the values that their initializers store, where these are constant.

    Args:
        module: after phase `EVALUATED`, without IREE's evaluation.
        session: that of the module.

    Raises:
        Lost: the compiler cannot evaluate what is left, alone. In the whole program it may.
    """
    globals_ = {symbol_of(each): each for each in children(module, _GLOBAL)}
    left = _evaluate(_eligible(children(module, INITIALIZER), globals_), globals_)
    if not left:
        return
    try:
        _let_iree_evaluate(left, globals_, session)
    except (StepError, ir.MLIRError, LookupError, ValueError) as error:
        raise Lost from error


def _evaluate(
    initializers: Iterable[ir.Operation], globals_: Mapping[str, ir.Operation]
) -> list[ir.Operation]:
    """Evaluates initializers with NumPy, and returns those of which that does not know all."""
    evaluator = TensorEvaluator({}, _resource)
    left: list[ir.Operation] = []
    for initializer in initializers:
        loads, stores = (_symbols(initializer, each) for each in (LOAD, STORE))
        try:
            for name in loads:
                if name not in evaluator.globals_:
                    evaluator.globals_[name] = _initial(globals_[name])
            evaluator.run(initializer)
            values = {name: _attribute(evaluator.globals_[name], globals_[name]) for name in stores}
        except (NotComputed, LookupError, TypeError, ValueError):
            left.append(initializer)
            for name in stores:
                evaluator.globals_.pop(name, None)
            continue
        _settle(initializer, values, globals_)
    return left


def _settle(
    initializer: ir.Operation,
    values: Mapping[str, ir.Attribute],
    globals_: Mapping[str, ir.Operation],
) -> None:
    for name, value in values.items():
        globals_[name].attributes[_VALUE] = value
    initializer.erase()


def _symbols(initializer: ir.Operation, accesses: str) -> list[str]:
    """Returns the globals that an initializer loads, or stores."""
    found = operations_in(initializer, accesses)
    return [ir.FlatSymbolRefAttr(each.attributes["global"]).value for each in found]


def _type_of(variable: ir.Operation) -> ir.ShapedType:
    return ir.ShapedType(ir.TypeAttr(variable.attributes["type"]).value)


def _initial(variable: ir.Operation) -> Array:
    """Returns the value that a global has.

    Raises:
        NotComputed: it is not known, or may become another.
    """
    if _VALUE not in variable.attributes or "is_mutable" in variable.attributes:
        raise NotComputed(f"value of @{symbol_of(variable)}")
    kind = _type_of(variable)
    return dense_elements(
        variable.attributes[_VALUE], kind.element_type, list(kind.shape), _resource
    )


def _attribute(array: Array, variable: ir.Operation) -> ir.Attribute:
    """Returns a value as IREE's pass writes it.

    Raises:
        NotComputed: it is not known how.
    """
    if "is_mutable" in variable.attributes:
        raise NotComputed(f"value of @{symbol_of(variable)}, which may become another")
    kind = _type_of(variable)
    element = kind.element_type
    dtype_of(element)
    if isinstance(element, ir.IntegerType):
        stored = array.astype(np.dtype(f"i{max(1, element.width // 8)}"))
    elif isinstance(element, ir.FloatType):
        stored = np.ascontiguousarray(array)
    else:
        raise NotComputed(f"global of type {element}")
    raw = np.ascontiguousarray(stored).reshape(-1).view(f"u{stored.dtype.itemsize}")
    if raw.size and (raw == raw[0]).all():
        return ir.DenseElementsAttr.get_splat(kind, _number(stored.reshape(-1)[0], element))
    if isinstance(element, ir.IntegerType) and element.width not in (8, 16, 32, 64):
        raise NotComputed(f"global of type {element}")
    return ir.DenseElementsAttr.get(
        np.ascontiguousarray(stored),
        type=element,
        shape=list(kind.shape),
        context=variable.context,
    )


def _number(value: Any, kind: ir.Type) -> ir.Attribute:
    if isinstance(kind, ir.IntegerType):
        return ir.IntegerAttr.get(kind, int(value) & 1 if kind.width == 1 else int(value))
    with ir.Location.unknown(kind.context):
        return ir.FloatAttr.get(kind, float(value))


def _resource(attribute: ir.Attribute) -> npt.NDArray[Any]:
    """Returns the elements of a resource, which no binding reads, from the text of a constant.

    Raises:
        NotComputed: it is large, or of a type that is not known.
    """
    kind = ir.ShapedType(getattr(attribute, "type", None))
    dtype = _stored_dtype(kind.element_type)
    shape = list(kind.shape)
    if int(np.prod(shape)) * dtype.itemsize > _MOST_BYTES:
        raise NotComputed("a large resource")
    with ir.Location.unknown(attribute.context):
        module = ir.Module.create()
        module.operation.attributes["held"] = attribute
        match = _BLOB.search(module.operation.get_asm())
    data = bytes.fromhex(match[1])[_ALIGNMENT_BYTES:] if match else b""
    if len(data) != int(np.prod(shape)) * dtype.itemsize:
        raise NotComputed("a resource that is not there")
    return np.frombuffer(data, dtype)


def _stored_dtype(kind: ir.Type) -> np.dtype[Any]:
    if isinstance(kind, ir.IntegerType):
        if kind.width not in (8, 16, 32, 64):
            raise NotComputed(f"resource of type {kind}")
        return np.dtype(f"<i{kind.width // 8}")
    return np.dtype(dtype_of(kind))


def _eligible(
    initializers: Sequence[ir.Operation], globals_: Mapping[str, ir.Operation]
) -> list[ir.Operation]:
    """Returns the initializers that IREE's pass evaluates: neither they nor what they load need
    parameters, which only the runtime has, and all is computed from constants, in a row."""
    unknown = {name for name, each in globals_.items() if _is_parameter(each)}
    found: list[ir.Operation] = []
    for each in initializers:
        if (
            operations_in(each, _PARAMETER)
            or unknown.intersection(_symbols(each, LOAD))
            or not (_is_in_a_row(each) and _comes_from_constants(each))
        ):
            unknown.update(_symbols(each, STORE))
        else:
            found.append(each)
    return found


def _is_in_a_row(initializer: ir.Operation) -> bool:
    """Returns whether operations of an initializer just follow each other, and say what they access
    by name."""
    return len([*initializer.regions[0].blocks]) == 1 and not any(
        _OTHER_ORDER.match(each.name) for each in children(initializer)
    )


def _is_parameter(variable: ir.Operation) -> bool:
    value = variable.attributes.get(_VALUE)
    # The text of the elements of a constant may be long.
    known = value is None or isinstance(value, ir.DenseElementsAttr)
    return not known and _PARAMETER_VALUE in str(value)


def _comes_from_constants(initializer: ir.Operation) -> bool:
    """Returns whether IREE's analysis of constant expressions reaches all operations.

    It begins at constants and loads, and goes to whatever uses their values or makes values that
    are used with them. What has neither, such as the indices of a loop alone, it does not see.
    """
    operations = [each for each in children(initializer) if each.name not in _ENDS]
    neighbours: dict[ir.Operation, set[ir.Operation]] = {each: set() for each in operations}
    for each in operations:
        inside = [each, *operations_in(each)]
        for operand in chain.from_iterable(inner.operands for inner in inside):
            maker = defining_operation(operand)
            if maker is not None and maker in neighbours and maker != each:
                neighbours[each].add(maker)
                neighbours[maker].add(each)
    reached: set[ir.Operation] = set()
    waiting = [each for each in operations if each.name in _ROOTS]
    while waiting:
        each = waiting.pop()
        if each not in reached:
            reached.add(each)
            waiting += neighbours[each]
    return len(reached) == len(operations)


def _let_iree_evaluate(
    initializers: Sequence[ir.Operation],
    globals_: Mapping[str, ir.Operation],
    session: Session,
) -> None:
    """Evaluates initializers by the compiler, in a module that has nothing else.

    Raises:
        StepError: the compiler has reported an error.
    """
    alone = _module_of(initializers, globals_)
    invocation = SteppedInvocation(session)
    try:
        invocation.import_op(alone.operation)
        invocation.execute(PHASES[PHASES.index(EVALUATED) - 1], EVALUATED)
        evaluated = {
            symbol_of(each): each.attributes[_VALUE]
            for each in children(invocation.export(), _GLOBAL)
            if _VALUE in each.attributes
        }
        for each in initializers:
            names = _symbols(each, STORE)
            if all(name in evaluated for name in names):
                _settle(each, {name: evaluated[name] for name in names}, globals_)
    finally:
        invocation.close()


def _module_of(
    initializers: Sequence[ir.Operation], globals_: Mapping[str, ir.Operation]
) -> ir.Module:
    """Returns a module with initializers, their globals, and a function that returns what they
    store, so that it is used."""
    context = initializers[0].context
    with ir.Location.unknown(context):
        module = ir.Module.create()
        inside = ir.InsertionPoint(module.body)
        stored = list(chain.from_iterable(_symbols(each, STORE) for each in initializers))
        accessed = {name for each in initializers for name in _symbols(each, LOAD)} | {*stored}
        devices = [
            each
            for each in globals_.values()
            if str(each.attributes["type"]) == "!hal.device" or symbol_of(each) in accessed
        ]
        for name, each in module_attributes(initializers[0]).items():
            module.operation.attributes[name] = each
        for each in devices:
            each.clone(inside)
        for each in initializers:
            each.clone(inside)
        for name in stored:
            # Scalars are stored, too, and a program may name a global by any text.
            kind = ir.TypeAttr(globals_[name].attributes["type"]).value
            symbol, get = (
                ir.FlatSymbolRefAttr.get(each, context) for each in (name, f"get_{name}")
            )
            text = (
                f"util.func public {get}() -> {kind} {{ %0 = util.global.load {symbol} : "
                f"{kind} util.return %0 : {kind} }}"
            )
            getter = ir.Module.parse(
                f"module {{ util.global private {symbol} : {kind} {text} }}", context
            )
            for made in children(getter.operation, "util.func"):
                inside.insert(made.detach_from_parent())
    return module


def module_attributes(inside: ir.Operation) -> Mapping[str, ir.Attribute]:
    """Returns the attributes of the module that an operation is in."""
    parent = inside.parent
    assert parent is not None
    attributes = parent.operation.attributes
    return {each: attributes[each] for each in attributes if each != "sym_name"}
