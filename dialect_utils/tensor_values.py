# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensors that constant expressions of a program make, computed with NumPy.

    %i = linalg.generic ... { yield (linalg.index 0) }        [0, 1, 2, 3]
    %m = linalg.generic ... ins(%i) { yield cmpi slt, ... }   [-1, -1, 0, 0]    a true i1 is -1

Only what has one right result is computed: operations on integers and indices, moves of elements,
comparisons, and operations on floats that round once. Where compiled code might round otherwise, as
a product whose sum with something is rounded once or twice, nothing is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from math import prod
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from iree.compiler import ir

from ..bank_model.quick_dataclass import dataclass
from .index.lane_values import MAX_LANE_VALUES, LaneValues, Unknown, compute_result
from .indexing_maps import maps_of
from .operations import children

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


Array: TypeAlias = "npt.NDArray[Any]"
"""A tensor: integers and indices as int64, sign-extended, and floats as they are."""

LOAD, STORE = "util.global.load", "util.global.store"
_FLOATS: Mapping[str, type[np.floating[Any]]] = MappingProxyType(
    {"f16": np.float16, "f32": np.float32, "f64": np.float64}
)
_WIDTHS = (1, 8, 16, 32, 64)
_PRODUCTS = ("arith.mulf",)
_ROUNDED: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply}
)
_RELATIONS = (eq, gt, ge, lt, le, ne)
"""What the predicates 1 to 6 of `arith.cmpf` ask of ordered numbers, and 8 to 13 of others, too."""
_ORDERED, _UNORDERED, _SECOND = 7, 14, 7


class NotComputed(Exception):
    """The value of an operation is not computed here; the message says of which."""


@dataclass
class TensorEvaluator:
    """Computes operations without regions for control, one after the other.

    Attributes:
        globals_: the values of globals by name, those that the blocks store too.
        resource: reads a `dense_resource`.
    """

    globals_: dict[str, Array]
    resource: Callable[[ir.Attribute], Array]
    _values: dict[ir.Value, Array] = field(default_factory=dict)
    _rounds: set[bool] = field(default_factory=set)
    """Whether there are products of floats (True), and sums of them (False)."""

    def run(self, around: ir.Operation) -> None:
        """Computes what the operations in another one store.

        Raises:
            NotComputed: not all of it is computed here. Some may have been stored.
        """
        self._rounds.clear()
        for operation in children(around):
            self._compute(operation)

    def _compute(self, operation: ir.Operation) -> None:
        compute = _ON_TENSORS.get(operation.name)
        if compute is None:
            raise NotComputed(operation.name)
        results = compute(self, operation)
        for result, array in zip(operation.results, results, strict=True):
            self._values[result] = array

    def operand(self, operation: ir.Operation, number: int) -> Array:
        """Returns an operand.

        Raises:
            NotComputed: it is not known.
        """
        value = operation.operands[number]
        if value not in self._values:
            raise NotComputed(operation.name)
        return self._values[value]

    def elements(self, operation: ir.Operation, extents: Sequence[int]) -> list[Array]:
        """Computes the body of a `linalg.generic` for all iterations at once.

        Args:
            extents: how long its loops are, all of them parallel.

        Returns:
            what it yields, as arrays that broadcast to `extents`.
        """
        *body, end = children(operation)
        for each in body:
            self._element(each, extents)
        return [self.operand(end, number) for number in range(len(end.operands))]

    def _element(self, operation: ir.Operation, extents: Sequence[int]) -> None:
        operands = [self.operand(operation, each) for each in range(len(operation.operands))]
        if operation.name == "linalg.index":
            dimension = ir.IntegerAttr(operation.attributes["dim"]).value
            shape = [1] * len(extents)
            shape[dimension] = extents[dimension]
            computed = np.arange(extents[dimension], dtype=np.int64).reshape(shape)
        elif operation.name == "arith.constant":
            (computed,) = _constant(self, operation)
        elif operation.name == "cf.assert":
            if not operands[0].all():
                raise NotComputed("cf.assert of what does not hold")
            return
        elif operation.name in _ROUNDED:
            self._rounds.add(operation.name in _PRODUCTS)
            if len(self._rounds) > 1:
                raise NotComputed("sums of products")
            computed = _rounded_once(_ROUNDED[operation.name], operands)
        elif operation.name in _ON_ELEMENTS:
            computed = _ON_ELEMENTS[operation.name](operation, operands)
        else:
            computed = _integers(operation, operands)
        self._values[operation.results[0]] = computed

    def bind(self, operation: ir.Operation, extents: Sequence[int]) -> None:
        """Gives the arguments of a `linalg.generic`'s body what each iteration has of operands."""
        arguments = operation.regions[0].blocks[0].arguments
        for number, (argument, access) in enumerate(
            zip(arguments, maps_of(operation), strict=True)
        ):
            if any(True for _ in argument.uses):
                array = self.operand(operation, number)
                self._values[argument] = _per_iteration(array, access, len(extents))


def dtype_of(kind: ir.Type) -> type[np.generic]:
    """Returns the type of the elements of an array.

    Raises:
        NotComputed: there is none for this type.
    """
    whole = isinstance(kind, ir.IntegerType) and kind.is_signless and kind.width in _WIDTHS
    if whole or isinstance(kind, ir.IndexType):
        return np.int64
    if str(kind) not in _FLOATS:
        raise NotComputed(f"value of type {kind}")
    return _FLOATS[str(kind)]


def static_shape(value: ir.Value) -> list[int]:
    """Returns the shape of a tensor.

    Raises:
        NotComputed: it depends on a call, or has too many elements.
    """
    shaped = ir.ShapedType(value.type)
    if not shaped.has_static_shape or prod(shaped.shape) > MAX_LANE_VALUES:
        raise NotComputed(f"value of type {value.type}")
    return list(shaped.shape)


# On tensors: what an operation makes of the operands that are known.


def _constant(evaluator: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    attribute, kind = operation.attributes["value"], operation.results[0].type
    if not isinstance(kind, ir.ShapedType):
        return [_scalar(attribute, kind)]
    shape = static_shape(operation.results[0])
    return [dense_elements(attribute, kind.element_type, shape, evaluator.resource)]


def dense_elements(
    attribute: ir.Attribute,
    kind: ir.Type,
    shape: Sequence[int],
    resource: Callable[[ir.Attribute], Array],
) -> Array:
    """Returns the elements of a constant.

    Args:
        kind: the type of an element.

    Raises:
        NotComputed: they are not known.
    """
    dtype = dtype_of(kind)
    if isinstance(attribute, ir.DenseElementsAttr):
        if attribute.is_splat:
            return np.full(shape, _scalar(attribute.get_splat_value(), kind))
        if str(kind) == "i1":
            raise NotComputed("conditions that are constants")
        return np.array(attribute).astype(dtype).reshape(shape)
    return resource(attribute).astype(dtype).reshape(shape)


def _scalar(attribute: ir.Attribute, kind: ir.Type) -> Array:
    dtype = dtype_of(kind)
    if isinstance(attribute, ir.BoolAttr):
        return np.array(-1 if attribute.value else 0, dtype)
    if isinstance(attribute, ir.IntegerAttr):
        width = kind.width if isinstance(kind, ir.IntegerType) else 64
        value = attribute.value & ((1 << width) - 1)
        return np.array(value - (1 << width) if value >> (width - 1) else value, dtype)
    if isinstance(attribute, ir.FloatAttr):
        return np.array(attribute.value, dtype)
    raise NotComputed(f"constant {attribute}")


def _empty(_: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    # Whoever reads an element of it that nobody has written may read anything.
    kind = ir.ShapedType(operation.results[0].type).element_type
    return [np.zeros(static_shape(operation.results[0]), dtype_of(kind))]


def _fill(evaluator: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    return [np.full(static_shape(operation.results[0]), evaluator.operand(operation, 0))]


def _reshape(evaluator: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    return [evaluator.operand(operation, 0).reshape(static_shape(operation.results[0]))]


def _slices(operation: ir.Operation) -> tuple[tuple[slice, ...], list[int]]:
    """Returns the part of a tensor that a slice is, and its shape with all dimensions."""
    offsets, sizes, strides = (
        list(ir.DenseI64ArrayAttr(operation.attributes[f"static_{each}"]))
        for each in ("offsets", "sizes", "strides")
    )
    if min((0, *offsets, *sizes, *strides)) < 0:
        raise NotComputed(f"{operation.name} of sizes that the program computes")
    parts = (
        slice(offset, offset + (size - 1) * stride + 1, stride)
        for offset, size, stride in zip(offsets, sizes, strides, strict=True)
    )
    return tuple(parts), sizes


def _extract_slice(evaluator: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    part, _ = _slices(operation)
    found = evaluator.operand(operation, 0)[part]
    return [found.reshape(static_shape(operation.results[0]))]


def _insert_slice(evaluator: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    part, sizes = _slices(operation)
    made = evaluator.operand(operation, 1).copy()
    made[part] = evaluator.operand(operation, 0).reshape(sizes)
    return [made]


def _generic(evaluator: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    kinds = {str(each) for each in ir.ArrayAttr(operation.attributes["iterator_types"])}
    extents = static_shape(operation.results[0])
    made = maps_of(operation)[-len(operation.results) :]
    identity = ir.AffineMap.get_identity(len(extents), operation.context)
    if kinds - {"#linalg.iterator_type<parallel>"} or any(each != identity for each in made):
        raise NotComputed(f"{operation.name} that reduces or transposes")
    evaluator.bind(operation, extents)
    yielded = evaluator.elements(operation, extents)
    return [np.broadcast_to(each, extents) for each in yielded]


def _per_iteration(array: Array, access: ir.AffineMap, loops: int) -> Array:
    """Returns the element that each iteration reads, as an array with an axis for each loop."""
    if not all(isinstance(each, ir.AffineDimExpr) for each in access.results):
        raise NotComputed("reads that are no permutation of loops")
    along = [ir.AffineDimExpr(each).position for each in access.results]
    order = sorted(range(len(along)), key=lambda axis: along[axis])
    shape = [1] * loops
    for axis, loop in enumerate(along):
        shape[loop] = array.shape[axis]
    return array.transpose(order).reshape(shape)


def _scan(evaluator: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    combined, *_ = children(operation)
    inclusive = ir.BoolAttr(operation.attributes["inclusive"]).value
    added, start = evaluator.operand(operation, 0), evaluator.operand(operation, 2)
    whole = str(ir.ShapedType(operation.results[0].type).element_type) == "i64"
    if combined.name != "arith.addi" or not (inclusive and whole) or start.any():
        raise NotComputed(operation.name)
    axis = ir.IntegerAttr(operation.attributes["dimension"]).value
    sums = np.cumsum(added, axis=axis, dtype=np.int64)
    return [sums, np.take(sums, -1, axis=axis)]


def _load(evaluator: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    name = ir.FlatSymbolRefAttr(operation.attributes["global"]).value
    if name not in evaluator.globals_:
        raise NotComputed(f"{operation.name} of @{name}")
    return [evaluator.globals_[name]]


def _store(evaluator: TensorEvaluator, operation: ir.Operation) -> list[Array]:
    name = ir.FlatSymbolRefAttr(operation.attributes["global"]).value
    evaluator.globals_[name] = evaluator.operand(operation, 0)
    return []


_ON_TENSORS: Mapping[str, Callable[[TensorEvaluator, ir.Operation], list[Array]]] = (
    MappingProxyType(
        {
            "arith.constant": _constant,
            "tensor.empty": _empty,
            "tensor.expand_shape": _reshape,
            "tensor.collapse_shape": _reshape,
            "tensor.extract_slice": _extract_slice,
            "tensor.insert_slice": _insert_slice,
            "linalg.fill": _fill,
            "linalg.generic": _generic,
            "iree_linalg_ext.scan": _scan,
            LOAD: _load,
            STORE: _store,
            "util.return": lambda _, __: [],
        }
    )
)


# On elements: what an operation makes of arrays that broadcast.


def _integers(operation: ir.Operation, operands: Sequence[Array]) -> Array:
    if any(each.dtype != np.int64 for each in operands):
        raise NotComputed(operation.name)
    computed = compute_result(operation, 0, [LaneValues(each) for each in operands])
    if isinstance(computed, Unknown):
        raise NotComputed(computed.reason)
    return computed.values


def _select(_: ir.Operation, operands: Sequence[Array]) -> Array:
    return np.where(operands[0] != 0, operands[1], operands[2])


def _compare(operation: ir.Operation, operands: Sequence[Array]) -> Array:
    number = ir.IntegerAttr(operation.attributes["predicate"]).value
    left, right = operands
    unordered = np.isnan(left) | np.isnan(right)
    if number % _SECOND == 0:
        truth = {0: False & unordered, _ORDERED: ~unordered, _UNORDERED: unordered}[number]
    elif number > _UNORDERED:
        truth = unordered | True
    else:
        truth = _RELATIONS[(number - 1) % _SECOND](left, right)
        truth = truth | unordered if number > _SECOND else truth & ~unordered
    return -truth.astype(np.int64)


def _float_of_integer(operation: ir.Operation, operands: Sequence[Array]) -> Array:
    dtype = dtype_of(operation.results[0].type)
    # Processors without a conversion to f16 go by way of f32, which rounds twice.
    with np.errstate(over="ignore"):
        made = operands[0].astype(dtype)
    back = np.where(np.isfinite(made), made, 0).astype(np.int64)
    if (back != operands[0]).any():
        raise NotComputed(f"{operation.name} that rounds")
    return made


def _rounded_once(function: Callable[..., Any], operands: Sequence[Array]) -> Array:
    """Returns the sums or products of floats, each of which is rounded once.

    Raises:
        NotComputed: an operand or a result is no finite number, or is so close to zero that it is
            subnormal, which some processors replace by zero.
    """
    with np.errstate(all="ignore"):
        made = np.asarray(function(*operands))
    for each in (made, *operands):
        small = np.abs(each) < np.finfo(each.dtype).smallest_normal
        if (~np.isfinite(each) | (small & (each != 0))).any():
            raise NotComputed("floats near zero, or none")
    exact = function(*(each.astype(np.longdouble) for each in operands))
    if (made == 0)[exact != 0].any():
        raise NotComputed("floats near zero")
    return made


def _extract(operation: ir.Operation, operands: Sequence[Array]) -> Array:
    source, *places = operands
    for place, size in zip(places, source.shape, strict=True):
        if ((place < 0) | (place >= size)).any():
            raise NotComputed(f"{operation.name} beyond a tensor")
    return source[tuple(np.broadcast_arrays(*places))] if places else source


_ON_ELEMENTS: Mapping[str, Callable[[ir.Operation, Sequence[Array]], Array]] = MappingProxyType(
    {
        "arith.select": _select,
        "arith.cmpf": _compare,
        "arith.sitofp": _float_of_integer,
        "tensor.extract": _extract,
    }
)
