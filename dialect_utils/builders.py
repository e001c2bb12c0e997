# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creating operations: a method for each one that a pass emits.

    at = Builder.before(store)
    row = at.addi(index, at.index(16))
    part = at.extract(vector, [3])

A builder is a place in the program and the location that new operations get. Nowhere else does the
package name an operation in order to create it, nor spell the attributes of one.

The methods do not wrap the classes of `iree.compiler.dialects`. There are none for `nvgpu`, `ub`
and `iree_vector_ext`, and to import those of the other dialects is slow, above all that of `llvm`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from math import prod

from iree.compiler import ir

from ..bank_model.nested_layout import NestedLayout
from ..bank_model.quick_dataclass import dataclass, replace
from .dynamic_sizes import DYNAMIC
from .element_types import scalar_type
from .operations import TRANSFER_READ, TRANSFER_WRITE, attributes_of, point_behind

Branch = Callable[["Builder"], "Sequence[ir.Value] | None"]
"""Emits the body of a region by the builder that it gets, and returns what the region yields."""

PRIORITY = "rocdl.s.setprio"
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Those of `arith.cmpi`, in the order of their numbers."""
_FLOAT_PREDICATES = {"oeq": 1, "ogt": 2, "olt": 4, "uno": 14}
"""The numbers of predicates of `arith.cmpf`."""
_GIVEN_INDEX = -(2**31)
"""Stands for an index of `llvm.getelementptr` that an operand gives."""


def _binary(name: str) -> Callable[[Builder, ir.Value, ir.Value], ir.Value]:
    """Returns the method for an operation on two values of the type of its result."""

    def build(self: Builder, left: ir.Value, right: ir.Value) -> ir.Value:
        return self._value(name, [left, right], left.type)

    return build


def _dialect(kind: ir.Type) -> str:
    """Returns the dialect of operations that give a memref, or a tensor, another shape."""
    return "memref" if isinstance(kind, ir.MemRefType) else "tensor"


def _reshape(name: str) -> Callable[[Builder, ir.Value, Sequence[int]], ir.Value]:
    """Returns the method for an operation that gives the elements of a vector another shape."""

    def build(self: Builder, vector: ir.Value, shape: Sequence[int]) -> ir.Value:
        return self._reshaped(name, vector, shape)

    return build


@dataclass(eq=False)
class Builder:
    """Creates operations at an insertion point, all with one location."""

    point: ir.InsertionPoint
    location: ir.Location

    @staticmethod
    def before(operation: ir.Operation) -> Builder:
        """Returns the builder in front of an operation, at its location."""
        return Builder(ir.InsertionPoint(operation), operation.location)

    @staticmethod
    def after(operation: ir.Operation) -> Builder:
        """Returns the builder right behind an operation, at its location."""
        return Builder(ir.InsertionPoint.after(operation), operation.location)

    @staticmethod
    def behind(value: ir.Value) -> Builder:
        """Returns the builder right behind the definition of a value, at its location."""
        return Builder(point_behind(value), value.location)

    @staticmethod
    def at_begin(block: ir.Block, location: ir.Location) -> Builder:
        """Returns the builder at the beginning of a block."""
        return Builder(ir.InsertionPoint.at_block_begin(block), location)

    def at(self, location: ir.Location) -> Builder:
        """Returns the builder at the same place that gives another location."""
        return replace(self, location=location)

    # Any operation.

    @property
    def context(self) -> ir.Context:
        """Returns the context of what is created."""
        return self.location.context

    def create(
        self,
        name: str,
        operands: Sequence[ir.Value] = (),
        results: Sequence[ir.Type] = (),
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Creates an operation by its name; for the methods of builders alone."""
        # A list, which holds its values: of another sequence, such as an operation's operands, the
        # bindings let go of each value before the library has read it.
        # Asking for the dialect loads it, where nothing in the module has its operations yet.
        self.context.get_dialect_descriptor(name.partition(".")[0])
        return ir.Operation.create(
            name,
            results=results,
            operands=[*operands],
            attributes=attributes,
            regions=regions,
            loc=self.location,
            ip=self.point,
        )

    def like(
        self,
        operation: ir.Operation,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type] | None = None,
        *,
        name: str | None = None,
        kept: Sequence[str] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Creates an operation with the attributes of another one.

        Args:
            results: their types; those of `operation` by default.
            name: the name, where it is not that of `operation`.
            kept: the attributes that are taken over, where `operation` has them; all by default.
        """
        attributes = attributes_of(operation)
        if kept is not None:
            attributes = {key: attributes[key] for key in kept if key in attributes}
        if results is None:
            results = [result.type for result in operation.results]
        return self.create(name or operation.name, operands, results, attributes, regions)

    def clone(self, operation: ir.Operation, operands: Sequence[ir.Value]) -> ir.Operation:
        """Copies an operation with its location, all that it promises and its regions.

        Args:
            operands: what the copy is computed from.
        """
        copy = operation.clone(ip=self.point).operation
        for number, operand in enumerate(operands):
            copy.operands[number] = operand
        return copy

    def clone_all(
        self, operations: Iterable[ir.Operation], values: dict[ir.Value, ir.Value]
    ) -> None:
        """Copies operations in their order, as `clone` does.

        Args:
            values: what stands for operands; what the copies compute for the results is added.
        """
        for each in operations:
            copy = self.clone(each, [values.get(operand, operand) for operand in each.operands])
            values.update(zip(each.results, copy.results, strict=True))

    def accessing(
        self, access: ir.Operation, number: int, rank: int, buffer: ir.Value, index: ir.Value
    ) -> ir.Operation:
        """Creates an access like another one, to a buffer that has one index.

        Args:
            number: which operand of `access` is the buffer; its indices come behind it.
            rank: how many indices these are.
        """
        operands, attributes = list(access.operands), attributes_of(access)
        if "operandSegmentSizes" in attributes:
            sizes = list(ir.DenseI32ArrayAttr(attributes["operandSegmentSizes"]))
            places = range(len(sizes))
            (indices,) = (
                at for at in places if sum(sizes[:at]) == number + 1 and sizes[at] == rank
            )
            attributes["operandSegmentSizes"] = self._segments(
                *sizes[:indices], 1, *sizes[indices + 1 :]
            )
        operands[number : number + 1 + rank] = [buffer, index]
        results = [result.type for result in access.results]
        return self.create(access.name, operands, results, attributes)

    def _value(
        self,
        name: str,
        operands: Sequence[ir.Value],
        result: ir.Type,
        **attributes: ir.Attribute,
    ) -> ir.Value:
        """Returns the only result of a new operation."""
        return self.create(name, operands, [result], attributes).results[0]

    # Types and attributes.

    def integer_type(self, bits: int) -> ir.IntegerType:
        """Returns the type iN."""
        return ir.IntegerType.get_signless(bits, self.context)

    def vector_type(self, shape: Sequence[int], element: ir.Type) -> ir.VectorType:
        """Returns the type of vectors of static sizes."""
        return ir.VectorType.get(list(shape), element, loc=self.location)

    def tensor_type(self, shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
        """Returns the type of tensors of static sizes."""
        return ir.RankedTensorType.get(list(shape), element, loc=self.location)

    def _index_type(self) -> ir.Type:
        return ir.IndexType.get(self.context)

    def _integer(self, bits: int, number: int) -> ir.Attribute:
        return ir.IntegerAttr.get(self.integer_type(bits), number)

    def _numbers(self, numbers: Sequence[int]) -> ir.Attribute:
        return ir.DenseI64ArrayAttr.get(list(numbers), self.context)

    def _segments(self, *sizes: int) -> ir.Attribute:
        return ir.DenseI32ArrayAttr.get(list(sizes), self.context)

    def _array(self, numbers: Sequence[int]) -> ir.Attribute:
        return ir.ArrayAttr.get([self._integer(64, each) for each in numbers], self.context)

    # arith and math.

    addi, subi, muli = _binary("arith.addi"), _binary("arith.subi"), _binary("arith.muli")
    divui, remui = _binary("arith.divui"), _binary("arith.remui")
    shli, shrui = _binary("arith.shli"), _binary("arith.shrui")
    andi, ori, xori = _binary("arith.andi"), _binary("arith.ori"), _binary("arith.xori")
    minui, minsi = _binary("arith.minui"), _binary("arith.minsi")
    maxsi = _binary("arith.maxsi")
    addf, subf = _binary("arith.addf"), _binary("arith.subf")
    mulf, divf = _binary("arith.mulf"), _binary("arith.divf")
    minnumf, maxnumf = _binary("arith.minnumf"), _binary("arith.maxnumf")
    maximumf = _binary("arith.maximumf")

    maximum = _binary("stablehlo.maximum")

    def converted(self, tensor: ir.Value, element: ir.Type) -> ir.Value:
        """Converts the elements of a tensor of StableHLO."""
        shape = ir.ShapedType(tensor.type).shape
        return self._value("stablehlo.convert", [tensor], self.tensor_type(shape, element))

    def index(self, number: int) -> ir.Value:
        """Creates a constant of type index."""
        return self.constant(self._index_type(), number)

    def constant(self, kind: ir.Type, number: float | ir.Attribute) -> ir.Value:
        """Creates a constant, or a vector all of whose elements are that constant."""
        scalar = scalar_type(kind)
        if isinstance(number, ir.Attribute):
            value = number
        elif isinstance(scalar, ir.FloatType):
            value = ir.FloatAttr.get(scalar, number, loc=self.location)
        else:
            value = ir.IntegerAttr.get(scalar, int(number))
        if isinstance(kind, ir.VectorType):
            value = ir.DenseElementsAttr.get_splat(kind, value)
        return self._value("arith.constant", [], kind, value=value)

    def add_without_wrap(self, left: ir.Value, right: ir.Value, flags: ir.Attribute) -> ir.Value:
        """Creates an `arith.addi` with overflow flags, such as `#arith.overflow<nsw>`."""
        return self._value("arith.addi", [left, right], left.type, overflowFlags=flags)

    def cmpi(self, predicate: str, left: ir.Value, right: ir.Value) -> ir.Value:
        """Creates a comparison of two integers or indices, or of vectors of them."""
        number = self._integer(64, _PREDICATES.index(predicate))
        return self._value("arith.cmpi", [left, right], self._truths(left), predicate=number)

    def cmpf(self, predicate: str, left: ir.Value, right: ir.Value) -> ir.Value:
        """Creates a comparison of two floating-point numbers, or of vectors of them.

        Args:
            predicate: such as `olt`, which is false of NaN, or `uno`, which is true of it.
        """
        number = self._integer(64, _FLOAT_PREDICATES[predicate])
        return self._value("arith.cmpf", [left, right], self._truths(left), predicate=number)

    def _truths(self, compared: ir.Value) -> ir.Type:
        """Returns the type of a comparison of a value, element by element."""
        truth: ir.Type = self.integer_type(1)
        if isinstance(compared.type, ir.VectorType):
            truth = self.vector_type(compared.type.shape, truth)
        return truth

    def any_element(self, condition: ir.Value) -> ir.Value:
        """Returns whether any element of a vector of conditions holds."""
        return reduce(self.ori, self.elements(condition))

    def select(self, condition: ir.Value, value: ir.Value, other: ir.Value) -> ir.Value:
        """Creates the choice between two values."""
        return self._value("arith.select", [condition, value, other], value.type)

    def index_cast(self, value: ir.Value, bits: int) -> ir.Value:
        """Returns an index as an integer."""
        return self._value("arith.index_cast", [value], self.integer_type(bits))

    def extui(self, value: ir.Value, bits: int) -> ir.Value:
        """Widens an integer by zeros."""
        return self._value("arith.extui", [value], self.integer_type(bits))

    def extsi(self, value: ir.Value, bits: int) -> ir.Value:
        """Widens an integer by its sign."""
        return self._value("arith.extsi", [value], self.integer_type(bits))

    def trunci(self, value: ir.Value, bits: int) -> ir.Value:
        """Drops the upper bits of an integer."""
        return self._value("arith.trunci", [value], self.integer_type(bits))

    def extf(self, value: ir.Value, kind: ir.Type) -> ir.Value:
        """Widens a floating-point number."""
        return self._value("arith.extf", [value], kind)

    def truncf(self, value: ir.Value, kind: ir.Type) -> ir.Value:
        """Rounds a floating-point number to a narrower type."""
        return self._value("arith.truncf", [value], kind)

    def same_bits(self, value: ir.Value, kind: ir.Type) -> ir.Value:
        """Returns the bits of a scalar, or of each element, as another type of the same width."""
        return self._value("arith.bitcast", [value], kind)

    def negf(self, value: ir.Value) -> ir.Value:
        """Creates a negation."""
        return self._value("arith.negf", [value], value.type)

    def exp2(self, value: ir.Value) -> ir.Value:
        """Creates a power of two."""
        return self._value("math.exp2", [value], value.type)

    def fma(self, left: ir.Value, right: ir.Value, added: ir.Value) -> ir.Value:
        """Creates left * right + added, rounded once."""
        return self._value("math.fma", [left, right, added], left.type)

    # affine.

    def apply(self, computed: ir.AffineMap | str, *operands: ir.Value) -> ir.Value:
        """Creates the value of a map, or of an expression of `d0`, `d1` and so on: the operands."""
        if isinstance(computed, str):
            names = ", ".join(f"d{number}" for number in range(len(operands)))
            value = ir.Attribute.parse(f"affine_map<({names}) -> ({computed})>", self.context)
        else:
            value = ir.AffineMapAttr.get(computed)
        return self._value("affine.apply", operands, self._index_type(), map=value)

    def linearize(self, digits: Sequence[ir.Value], basis: Sequence[int]) -> ir.Value:
        """Creates the number with these digits.

        Args:
            basis: the sizes of the digits; that of the first may be left out.
        """
        attributes = {
            "static_basis": self._numbers(basis),
            "operandSegmentSizes": self._segments(len(digits), 0),
        }
        return self._value("affine.linearize_index", digits, self._index_type(), **attributes)

    # gpu and scf.

    def thread_id(self, dimension: str) -> ir.Value:
        """Creates the number of the thread along x, y or z of its workgroup."""
        attribute = ir.Attribute.parse(f"#gpu.dim<{dimension}>", self.context)
        return self._value("gpu.thread_id", [], self._index_type(), dimension=attribute)

    def same_in_wave(self, value: ir.Value) -> ir.Value:
        """Returns a value that all lanes of a wave have, as what the compiler knows to be that."""
        kind = ir.Attribute.parse("#gpu.broadcast<first_active_lane>", self.context)
        return self._value("gpu.subgroup_broadcast", [value], value.type, broadcast_type=kind)

    def exchanged(self, value: ir.Value, distance: ir.Value, lanes: ir.Value) -> ir.Value:
        """Returns what another lane of a wave has for a value of 32 bits.

        Args:
            distance: the bits in which the number of the other lane differs, as an i32.
            lanes: how many lanes a wave has, as an i32.
        """
        mode = ir.Attribute.parse("#gpu.shuffle_mode<xor>", self.context)
        kinds = [value.type, self.integer_type(1)]
        shuffle = self.create("gpu.shuffle", [value, distance, lanes], kinds, {"mode": mode})
        return shuffle.results[0]

    def barrier(self, space: str) -> None:
        """Creates a barrier of the workgroup, for accesses to a memory space."""
        spaces = ir.ArrayAttr.get([ir.Attribute.parse(space, self.context)], self.context)
        self.create("gpu.barrier", [], [], {"address_spaces": spaces})

    def if_(
        self,
        condition: ir.Value,
        then: Branch,
        otherwise: Branch | None = None,
        results: Sequence[ir.Type] = (),
    ) -> ir.Operation:
        """Creates an `scf.if` with the operations that its branches emit."""
        operation = self.create("scf.if", [condition], results, regions=2)
        for region, branch in zip(operation.regions, (then, otherwise), strict=True):
            if branch is not None:
                inside = replace(self, point=ir.InsertionPoint(region.blocks.append()))
                inside.create("scf.yield", branch(inside) or ())
        return operation

    # vector.

    shape_cast, broadcast = _reshape("vector.shape_cast"), _reshape("vector.broadcast")

    def step(self, count: int) -> ir.Value:
        """Creates the vector of the indices 0, 1, ... below `count`."""
        return self._value("vector.step", [], self.vector_type([count], self._index_type()))

    def splat(self, scalar: ir.Value, count: int) -> ir.Value:
        """Creates a vector of rank 1 all of whose elements are a scalar."""
        kind = self.vector_type([count], scalar.type)
        return self._value("vector.broadcast", [scalar], kind)

    def extract(self, vector: ir.Value, position: Sequence[int]) -> ir.Value:
        """Takes an element, or the vector of the dimensions that `position` leaves."""
        kind = ir.VectorType(vector.type)
        left = kind.shape[len(position) :]
        part = self.vector_type(left, kind.element_type) if left else kind.element_type
        static = self._numbers(position)
        return self._value("vector.extract", [vector], part, static_position=static)

    def insert(self, part: ir.Value, whole: ir.Value, position: Sequence[int]) -> ir.Value:
        """Returns a vector with another element, or vector, at a position."""
        static = self._numbers(position)
        return self._value("vector.insert", [part, whole], whole.type, static_position=static)

    def extract_slice(self, vector: ir.Value, first: int, count: int) -> ir.Value:
        """Takes consecutive elements of a vector of rank 1."""
        part = self.vector_type([count], ir.VectorType(vector.type).element_type)
        place = {"offsets": first, "sizes": count, "strides": 1}
        attributes = {name: self._array([number]) for name, number in place.items()}
        return self._value("vector.extract_strided_slice", [vector], part, **attributes)

    def insert_slice(self, part: ir.Value, whole: ir.Value, first: int) -> ir.Value:
        """Returns a vector of rank 1 with other elements from `first` on."""
        attributes = {"offsets": self._array([first]), "strides": self._array([1])}
        return self._value("vector.insert_strided_slice", [part, whole], whole.type, **attributes)

    def from_elements(self, elements: Sequence[ir.Value], shape: Sequence[int]) -> ir.Value:
        """Creates a vector of these elements, in row-major order."""
        kind = self.vector_type(shape, elements[0].type)
        return self._value("vector.from_elements", elements, kind)

    def shaped(self, vector: ir.Value, shape: Sequence[int]) -> ir.Value:
        """Returns the elements of a vector in another shape, or itself if it has that shape."""
        same = list(ir.VectorType(vector.type).shape) == list(shape)
        return vector if same else self.shape_cast(vector, shape)

    def transpose(self, vector: ir.Value, order: Sequence[int]) -> ir.Value:
        """Returns a vector whose dimension d is dimension `order[d]` of another one."""
        old = ir.VectorType(vector.type).shape
        shape = [old[dim] for dim in order]
        permutation = self._numbers(order)
        return self._reshaped("vector.transpose", vector, shape, permutation=permutation)

    def bitcast(self, vector: ir.Value, shape: Sequence[int], element: ir.Type) -> ir.Value:
        """Returns the bits of a vector as elements of another type."""
        return self._value("vector.bitcast", [vector], self.vector_type(shape, element))

    def shuffle(self, vector: ir.Value, taken: Sequence[int]) -> ir.Value:
        """Returns the elements of a vector of rank 1 in another order."""
        mask = self._numbers(taken)
        return self._value("vector.shuffle", [vector, vector], vector.type, mask=mask)

    def multi_reduction(
        self, kind: ir.Attribute, terms: ir.Value, start: ir.Value, dims: Sequence[int]
    ) -> ir.Value:
        """Reduces dimensions of a vector, beginning with `start`."""
        along = self._numbers(dims)
        name = "vector.multi_reduction"
        return self._value(name, [terms, start], start.type, kind=kind, reduction_dims=along)

    def load(
        self, kind: ir.VectorType, memory: ir.Value, indices: Sequence[ir.Value], alignment: int
    ) -> ir.Value:
        """Loads a vector from an address that is a multiple of `alignment` bytes."""
        aligned = self._integer(64, alignment)
        return self._value("vector.load", [memory, *indices], kind, alignment=aligned)

    def load_element(self, memory: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
        """Loads one element of a memref."""
        return self._value("memref.load", [memory, *indices], memory.type.element_type)

    def store_element(self, value: ir.Value, memory: ir.Value, indices: Sequence[ir.Value]) -> None:
        """Stores one element to a memref."""
        self.create("memref.store", [value, memory, *indices])

    def store(
        self, vector: ir.Value, memory: ir.Value, *indices: ir.Value, alignment: int = 0
    ) -> None:
        """Stores a vector to memory, at a multiple of `alignment` bytes where that is known."""
        attributes = {"alignment": self._integer(64, alignment)} if alignment else None
        self.create("vector.store", [vector, memory, *indices], attributes=attributes)

    def poison(self, kind: ir.Type) -> ir.Value:
        """Creates a value that is written before it is read."""
        return self._value(
            "ub.poison", [], kind, value=ir.Attribute.parse("#ub.poison", self.context)
        )

    def elements(self, value: ir.Value) -> list[ir.Value]:
        """Returns the elements of a vector in row-major order, or the scalar itself."""
        kind = value.type
        if not isinstance(kind, ir.VectorType):
            return [value]
        flat = self.shaped(value, [prod(kind.shape)])
        return [self.extract(flat, [number]) for number in range(prod(kind.shape))]

    def joined(self, elements: Sequence[ir.Value], kind: ir.Type) -> ir.Value:
        """Returns a value of type `kind` with these elements; a scalar has one."""
        if not isinstance(kind, ir.VectorType):
            (element,) = elements
            return element
        return self.shaped(self.from_elements(elements, [len(elements)]), kind.shape)

    def _reshaped(
        self, name: str, vector: ir.Value, shape: Sequence[int], **attributes: ir.Attribute
    ) -> ir.Value:
        """Creates an operation that only gives the elements of a vector other places."""
        kind = self.vector_type(shape, ir.VectorType(vector.type).element_type)
        return self._value(name, [vector], kind, **attributes)

    # memref.

    def address(self, memory: ir.Value, mark: str = "") -> ir.Value:
        """Creates the address of the memory of a memref, in bytes, as an index.

        Args:
            mark: the name of an attribute that says what it is for, if it is to have one.
        """
        name, marked = "memref.extract_aligned_pointer_as_index", ir.UnitAttr.get(self.context)
        attributes: dict[str, ir.Attribute] = {mark: marked} if mark else {}
        return self.create(name, [memory], [self._index_type()], attributes).results[0]

    def global_place(self, memory: ir.Value, place: ir.Value, element: ir.Type) -> ir.Value:
        """Creates a pointer to an element of global memory, of which LLVM knows the address as it
        does that of a load.

        Args:
            place: the number of the element in the memory, which is contiguous.
        """
        pointer = ir.Type.parse("!llvm.ptr<1>", self.context)
        start = self._value("llvm.inttoptr", [self.index_cast(self.address(memory), 64)], pointer)
        indices = ir.DenseI32ArrayAttr.get([_GIVEN_INDEX], self.context)
        return self._value(
            "llvm.getelementptr",
            [start, self.index_cast(place, 64)],
            pointer,
            elem_type=ir.TypeAttr.get(element),
            rawConstantIndices=indices,
        )

    def dim(self, shaped: ir.Value, number: ir.Value) -> ir.Value:
        """Creates the size of a dimension of a memref or a tensor."""
        return self._value(f"{_dialect(shaped.type)}.dim", [shaped, number], self._index_type())

    def copy(self, source: ir.Value, target: ir.Value) -> None:
        """Copies one memref to another."""
        self.create("memref.copy", [source, target])

    def subview(
        self,
        memory: ir.Value,
        kind: ir.MemRefType,
        first: ir.Value | None = None,
    ) -> ir.Value:
        """Creates a view of type `kind` without gaps between its indices.

        Args:
            first: the first index along the first dimension; 0 by default.
        """
        rest = [0] * (kind.rank - 1)
        operands = [memory] if first is None else [memory, first]
        return self._value(
            "memref.subview",
            operands,
            kind,
            static_offsets=self._numbers([0 if first is None else DYNAMIC, *rest]),
            static_sizes=self._numbers(kind.shape),
            static_strides=self._numbers([1] * kind.rank),
            operandSegmentSizes=self._segments(1, len(operands) - 1, 0, 0),
        )

    def expand_shape(
        self,
        memory: ir.Value,
        kind: ir.MemRefType | ir.RankedTensorType,
        groups: Sequence[Sequence[int]],
    ) -> ir.Value:
        """Creates a view of which each of the `groups` of dimensions is one of `memory`.

        Args:
            memory: a memref; of a tensor it makes a tensor.
        """
        shape = self._numbers(kind.shape)
        grouped = self._groups(groups)
        name = f"{_dialect(kind)}.expand_shape"
        return self._value(name, [memory], kind, reassociation=grouped, static_output_shape=shape)

    def collapse_shape(
        self,
        memory: ir.Value,
        kind: ir.MemRefType | ir.RankedTensorType,
        groups: Sequence[Sequence[int]],
    ) -> ir.Value:
        """Creates a view each of whose dimensions is one of the `groups` of those of `memory`.

        Args:
            memory: a memref; of a tensor it makes a tensor.
        """
        grouped = self._groups(groups)
        name = f"{_dialect(kind)}.collapse_shape"
        return self._value(name, [memory], kind, reassociation=grouped)

    def _groups(self, groups: Sequence[Sequence[int]]) -> ir.Attribute:
        return ir.ArrayAttr.get([self._array(group) for group in groups], self.context)

    # nvgpu.

    def ldmatrix(
        self, memory: ir.Value, indices: Sequence[ir.Value], kind: ir.VectorType, transposed: bool
    ) -> ir.Value:
        """Reads matrices, of which a vector of type `kind` has one in each row."""
        return self._value(
            "nvgpu.ldmatrix",
            [memory, *indices],
            kind,
            transpose=ir.BoolAttr.get(transposed, self.context),
            numTiles=self._integer(32, kind.shape[0]),
        )

    def copy_async(
        self,
        target: Sequence[ir.Value],
        source: Sequence[ir.Value],
        elements: int,
        read: ir.Value | None = None,
        *,
        bypass_l1: bool,
    ) -> None:
        """Issues the copy of elements from global memory to the LDS.

        Args:
            target, source: a memref and its indices.
            read: how many of the elements are read; zeros stand for the others. None reads all.
        """
        counts = [] if read is None else [read]
        segments = self._segments(1, len(target) - 1, 1, len(source) - 1, len(counts))
        attributes = {
            "dstElements": ir.IntegerAttr.get(self._index_type(), elements),
            "operandSegmentSizes": segments,
        }
        if bypass_l1:
            attributes["bypassL1"] = ir.UnitAttr.get(self.context)
        operands = [*target, *source, *counts]
        self.create("nvgpu.device_async_copy", operands, [self._token()], attributes)

    def close_group(self) -> ir.Value:
        """Makes a group of the copies issued since the last group, and returns its token."""
        return self._value("nvgpu.device_async_create_group", [], self._token())

    def wait(self, token: ir.Value, groups: int) -> None:
        """Waits until at most so many groups of copies are on their way."""
        self.create(
            "nvgpu.device_async_wait", [token], [], {"numGroups": self._integer(32, groups)}
        )

    def _token(self) -> ir.Type:
        return ir.Type.parse("!nvgpu.device.async.token", self.context)

    # nvvm.

    def any_lane_of_warp(self, condition: ir.Value) -> ir.Value:
        """Returns whether a condition holds in any of the 32 lanes of a warp."""
        kind = ir.Attribute.parse("#nvvm<vote_sync_kind <any>>", self.context)
        lanes = self.constant(self.integer_type(32), -1)
        return self._value("nvvm.vote.sync", [lanes, condition], condition.type, kind=kind)

    def multiply_adds(self, terms: Iterable[Sequence[ir.Value]]) -> list[ir.Value]:
        """Creates left * right + added, rounded once, of numbers that are asked for one by one."""
        # To read it for each takes as long as to create the operation.
        rnd = ir.Attribute.parse("#nvvm.fp_rnd_mode<rn>", self.context)
        return [self._value("nvvm.fma", each, each[0].type, rnd=rnd) for each in terms]

    # rocdl and amdgpu.

    def gather_to_lds(
        self, target: Sequence[ir.Value], source: Sequence[ir.Value], moved: ir.VectorType
    ) -> ir.Operation:
        """Issues the copy of a vector of each lane from global memory to the LDS.

        It is on its way until `wait_for_marks` says that it has come.

        Args:
            target: a memref, and the indices where the vectors of a wave begin, one behind another.
            source: a memref, and the indices where each lane reads.
        """
        attributes = {
            "async": ir.UnitAttr.get(self.context),
            "transferType": ir.TypeAttr.get(moved),
            "operandSegmentSizes": self._segments(1, len(source) - 1, 1, len(target) - 1),
        }
        return self.create("amdgpu.gather_to_lds", [*source, *target], [], attributes)

    def mark_copies(self) -> None:
        """Makes a group of the `gather_to_lds` issued since the last mark."""
        self.create("rocdl.asyncmark", [], [])

    def wait_for_marks(self, groups: int) -> None:
        """Waits until at most so many groups of `gather_to_lds` are on their way."""
        self.create("rocdl.wait.asyncmark", [], [], {"count": self._integer(16, groups)})

    def transpose_load(
        self, memory: ir.Value, indices: Sequence[ir.Value], kind: ir.VectorType
    ) -> ir.Value:
        """Reads from the LDS a block of rows and columns, of which each lane gets a column."""
        return self._value("amdgpu.transpose_load", [memory, *indices], kind)

    def any_lane(self, condition: ir.Value) -> ir.Value:
        """Returns whether a condition holds in any of the 64 lanes of a wave."""
        mask = self.integer_type(64)
        lanes = self._value("rocdl.ballot", [condition], mask)
        return self.cmpi("ne", lanes, self.constant(mask, 0))

    def mix_exponentials(self) -> None:
        """Asks LLVM to alternate the products and the exponentials of a block of an AMD kernel."""
        self.create("rocdl.iglp.opt", [], [], {"variant": self._integer(32, 3)})

    def set_priority(self, priority: int) -> None:
        """Sets the priority, from 0 to 3, with which a wave of an AMD GPU issues from here on."""
        self.create(PRIORITY, [], [], {"priority": self._integer(16, priority)})

    # llvm.

    def assembly(
        self,
        text: str,
        operands: Sequence[ir.Value] = (),
        constraints: Sequence[str] = (),
        results: Sequence[ir.Type] = (),
    ) -> list[ir.Value]:
        """Creates machine instructions that may read and write memory, and returns what they make.

        Args:
            text: the instructions, in which `$0`, `$1` and so on stand for results and operands.
            constraints: of the results and of the operands, as LLVM spells them.
            results: their types.
        """
        kinds = list(results)
        if len(kinds) > 1:
            members = ", ".join(map(str, kinds))
            kinds = [ir.Type.parse(f"!llvm.struct<({members})>", self.context)]
        attributes = {
            "asm_string": ir.StringAttr.get(text, self.context),
            "constraints": ir.StringAttr.get(",".join((*constraints, "~{memory}")), self.context),
            "has_side_effects": ir.UnitAttr.get(self.context),
            "tail_call_kind": ir.Attribute.parse("#llvm.tailcallkind<none>", self.context),
        }
        made = list(self.create("llvm.inline_asm", operands, kinds, attributes).results)
        if len(results) < 2:
            return made
        return [self.member(made[0], number, kind) for number, kind in enumerate(results)]

    def unknown_number(self, value: ir.Value) -> ir.Value:
        """Returns an index that is the same in a wave, as a value that LLVM knows nothing of."""
        attributes = {
            "asm_string": ir.StringAttr.get("", self.context),
            "constraints": ir.StringAttr.get("=s,0", self.context),
            "tail_call_kind": ir.Attribute.parse("#llvm.tailcallkind<none>", self.context),
        }
        number = self.index_cast(value, 32)
        made = self.create("llvm.inline_asm", [number], [number.type], attributes).results[0]
        return self._value("arith.index_cast", [made], value.type)

    # IREE's dialects.

    to_simt = _reshape("iree_vector_ext.to_simt")
    to_simd = _reshape("iree_vector_ext.to_simd")

    def swizzle_hint(self, buffer: ir.Value, swizzle: ir.Attribute) -> ir.Value:
        """Creates a view of a buffer whose elements lie where the swizzle puts them."""
        return self._value("iree_codegen.swizzle_hint", [buffer], buffer.type, swizzle=swizzle)

    def to_layout(self, vector: ir.Value, layout: NestedLayout) -> ir.Value:
        """States how a vector lies in the lanes."""
        attribute = ir.Attribute.parse(str(layout), self.context)
        return self._reshaped("iree_vector_ext.to_layout", vector, layout.shape, layout=attribute)

    def through_lds(self, tensor: ir.Value, layout: NestedLayout) -> ir.Value:
        """States how a tensor lies in the lanes, which get it through the LDS."""
        attributes = {
            "layout": ir.Attribute.parse(str(layout), self.context),
            "shared_memory_conversion": ir.Attribute.parse(
                "#iree_gpu.derived_thread_config", self.context
            ),
        }
        return self._value("iree_vector_ext.to_layout", [tensor], tensor.type, **attributes)

    def value_barrier(self, tensor: ir.Value) -> ir.Value:
        """Returns a tensor once all threads of the workgroup have written what they write to it."""
        return self._value("iree_gpu.value_barrier", [tensor], tensor.type)

    # Tensors.

    def load_from_buffer(self, buffer: ir.Value) -> ir.Value:
        """Returns the elements of a buffer of static sizes as a tensor."""
        kind = ir.ShapedType(buffer.type)
        tensor = self.tensor_type(kind.shape, kind.element_type)
        return self._value("iree_codegen.load_from_buffer", [buffer], tensor)

    def store_to_buffer(self, tensor: ir.Value, buffer: ir.Value) -> None:
        """Writes the elements of a tensor to a buffer."""
        self.create("iree_codegen.store_to_buffer", [tensor, buffer])

    def empty(self, kind: ir.RankedTensorType, sizes: Sequence[ir.Value] = ()) -> ir.Value:
        """Creates a tensor whose elements are written before they are read.

        Args:
            sizes: those of the dynamic dimensions.
        """
        return self._value("tensor.empty", sizes, kind)

    def fill(self, scalar: ir.Value, tensor: ir.Value) -> ir.Value:
        """Returns a tensor all of whose elements are a scalar."""
        segments = {"operandSegmentSizes": self._segments(1, 1)}
        operands = [scalar, tensor]
        fill = self.create("linalg.fill", operands, [tensor.type], segments, regions=1)
        self._linalg_body(fill, lambda _, value, before: value)
        return fill.results[0]

    def made_first(self, tensor: ir.Value) -> ir.Value:
        """Returns a tensor that IREE computes before what uses it, into memory of its own."""
        kind = ir.RankedTensorType(tensor.type)
        dynamic = [number for number, size in enumerate(kind.shape) if size == DYNAMIC]
        sizes = [self.dim(tensor, self.index(number)) for number in dynamic]
        made = self._value("util.optimization_barrier", [tensor], kind)
        # Nobody finds the sizes behind a barrier.
        return self._value("flow.tensor.tie_shape", [made, *sizes], kind) if sizes else made

    def dispatch_region(self, yielded: Sequence[ir.Value]) -> ir.Operation:
        """Creates a region of operations that are one dispatch; of static shapes alone.

        Args:
            yielded: what is to become its results. What makes it moves into the region.
        """
        kinds = [each.type for each in yielded]
        segments: dict[str, ir.Attribute] = {"operandSegmentSizes": self._segments(0, 0)}
        region = self.create("flow.dispatch.region", [], kinds, segments, regions=2)
        inside = replace(self, point=ir.InsertionPoint(region.regions[0].blocks.append()))
        inside.create("flow.return", yielded)
        return region

    def generic(
        self,
        inputs: Sequence[ir.Value],
        outputs: ir.Value | Sequence[ir.Value],
        attributes: dict[str, ir.Attribute],
        body: Callable[..., ir.Value | Sequence[ir.Value]],
    ) -> ir.Operation:
        """Creates a `linalg.generic`.

        Args:
            attributes: `indexing_maps`, `iterator_types`, and what else it has.
            body: gets a builder and an element of each operand, and returns that of each result.
        """
        outs = list(outputs) if isinstance(outputs, Sequence) else [outputs]
        segments = {"operandSegmentSizes": self._segments(len(inputs), len(outs))}
        attributes = {**attributes, **segments}
        kinds = [each.type for each in outs]
        generic = self.create("linalg.generic", [*inputs, *outs], kinds, attributes, regions=1)
        self._linalg_body(generic, body)
        return generic

    def contraction(
        self, inputs: Sequence[ir.Value], sums: ir.Value, loops: Sequence[Sequence[int]]
    ) -> ir.Value:
        """Adds products of the elements of two tensors to sums, in the type of these.

        Args:
            loops: those that index both inputs and the sums.
        """
        count = 1 + max(loop for each in loops for loop in each)
        return self.sum_of_products(inputs, sums, self.looped(count, loops))

    def sum_of_products(
        self, inputs: Sequence[ir.Value], sums: ir.Value, attributes: dict[str, ir.Attribute]
    ) -> ir.Value:
        """Adds products of the elements of two tensors to sums, in the type of these.

        Args:
            attributes: `indexing_maps` and `iterator_types`.
        """

        def add_product(at: Builder, left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
            factors = [
                each if each.type == total.type else at.extf(each, total.type)
                for each in (left, right)
            ]
            return at.addf(total, at.mulf(*factors))

        return self.generic(inputs, sums, attributes, add_product).results[0]

    def summed(self, tensor: ir.Value, sums: ir.Value) -> ir.Value:
        """Adds the elements along the first dimension of a tensor to sums."""
        rank = ir.ShapedType(tensor.type).rank
        attributes = self.looped(rank, [range(rank), range(1, rank)])
        add = lambda at, element, total: at.addf(total, element)  # noqa: E731
        return self.generic([tensor], sums, attributes, add).results[0]

    def parallel(
        self,
        inputs: Sequence[ir.Value],
        loops: Sequence[Sequence[int]],
        output: ir.Value,
        body: Callable[..., ir.Value],
    ) -> ir.Value:
        """Returns a tensor each of whose elements `body` computes by itself.

        Args:
            loops: the loops that index each of the inputs, one for each dimension of the output.
        """
        rank = ir.ShapedType(output.type).rank
        attributes = self.looped(rank, [*loops, range(rank)])
        return self.generic(inputs, output, attributes, body).results[0]

    def computed(
        self,
        kinds: Sequence[ir.RankedTensorType],
        body: Callable[..., Sequence[ir.Value]],
        more: dict[str, ir.Attribute],
    ) -> list[ir.Value]:
        """Returns tensors of one shape whose elements `body` computes from their indices.

        Args:
            body: gets a builder and the indices, and returns an element of each tensor.
            more: further attributes of the `linalg.generic`.
        """
        rank = kinds[0].rank
        attributes = {**more, **self.looped(rank, [range(rank)] * len(kinds))}
        made = [self.empty(each) for each in kinds]

        def at_indices(at: Builder, *_: ir.Value) -> Sequence[ir.Value]:
            return body(at, *(at.loop_index(dim) for dim in range(rank)))

        return list(self.generic([], made, attributes, at_indices).results)

    def element(self, tensor: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
        """Takes an element of a tensor."""
        kind = ir.RankedTensorType(tensor.type).element_type
        return self._value("tensor.extract", [tensor, *indices], kind)

    def loop_index(self, loop: int) -> ir.Value:
        """Returns, in the body of a `linalg.generic`, how far a loop is."""
        return self._value("linalg.index", [], self._index_type(), dim=self._integer(64, loop))

    def looped(self, count: int, loops: Sequence[Sequence[int]]) -> dict[str, ir.Attribute]:
        """Returns the attributes of a `linalg.generic`, which sums over what no result has.

        Args:
            count: how many loops there are.
            loops: those that index each operand, the last of which is a result.
        """
        kinds = ["parallel" if loop in loops[-1] else "reduction" for loop in range(count)]
        iterators = [
            ir.Attribute.parse(f"#linalg.iterator_type<{each}>", self.context) for each in kinds
        ]
        return {
            "indexing_maps": self.indexing_maps(count, loops),
            "iterator_types": ir.ArrayAttr.get(iterators, self.context),
        }

    def indexing_maps(self, count: int, loops: Sequence[Sequence[int]]) -> ir.Attribute:
        """Returns the maps of operands whose dimensions are indexed by these of so many loops."""
        dims = [ir.AffineDimExpr.get(loop, self.context) for loop in range(count)]
        maps = (ir.AffineMap.get(count, 0, [dims[e] for e in each], self.context) for each in loops)
        return ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps], self.context)

    def slice(
        self,
        tensor: ir.Value,
        kind: ir.RankedTensorType,
        offsets: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> ir.Value:
        """Takes elements of a tensor; dimensions of one may be left out of `kind`.

        Args:
            strides: how far apart the elements are in each dimension; neighbours by default.
        """
        return self._value(
            "tensor.extract_slice",
            [tensor],
            kind,
            static_offsets=self._numbers(offsets),
            static_sizes=self._numbers(sizes),
            static_strides=self._numbers(strides or [1] * len(sizes)),
            operandSegmentSizes=self._segments(1, 0, 0, 0),
        )

    def im2col(
        self,
        image: ir.Value,
        kind: ir.RankedTensorType,
        *,
        output_sizes: Sequence[Sequence[int]],
        kernel_size: Sequence[int],
        **numbers: Sequence[int],
    ) -> ir.Value:
        """Lists the elements of an image in windows; `iree_linalg_ext.im2col` says how.

        Args:
            kind: the type of the result.
            numbers: the other lists of the operation, by name.
        """
        sizes = [self._numbers(each) for each in output_sizes]
        none = self._numbers([])
        absent = [f"static_{of}_pad_{end}" for of in ("input", "output") for end in ("low", "high")]
        return self._value(
            "iree_linalg_ext.im2col",
            [image, self.empty(kind)],
            kind,
            static_kernel_size=self._numbers(kernel_size),
            static_offsets=self._numbers([0] * len(sizes)),
            static_output_sizes=ir.ArrayAttr.get(sizes, self.context),
            operandSegmentSizes=self._segments(1, 1, *[0] * 8),
            **{name: self._numbers(each) for name, each in numbers.items()},
            **dict.fromkeys(absent, none),
        )

    def attention(
        self,
        attention: ir.Operation,
        inputs: Sequence[ir.Value],
        kind: ir.RankedTensorType,
        maps: ir.Attribute,
    ) -> ir.Value:
        """Creates an `iree_linalg_ext.attention` like another one, whose scores it takes over.

        Args:
            inputs: Q, K, V, the scale of the scores, and a mask if there is one.
            kind: the type of the output.
            maps: the `indexing_maps`.
        """
        made = self.like(attention, [*inputs, self.empty(kind)], [kind], regions=1)
        made.attributes["indexing_maps"] = maps
        attention.regions[0].blocks[0].append_to(made.regions[0])
        return made.results[0]

    def scaling_attention(
        self,
        inputs: Sequence[ir.Value],
        factors: Sequence[float],
        kind: ir.RankedTensorType,
        maps: ir.Attribute,
    ) -> ir.Operation:
        """Creates an `iree_linalg_ext.attention` that multiplies its scores in f32.

        Args:
            inputs, kind, maps: as for `attention`.
            factors: by what each score is multiplied, one after the other, before the mask is
                added.
        """
        operands, attributes = [*inputs, self.empty(kind)], {"indexing_maps": maps}
        made = self.create("iree_linalg_ext.attention", operands, [kind], attributes, regions=1)
        single = ir.F32Type.get(self.context)
        block = made.regions[0].blocks.append(single, arg_locs=[self.location])
        inside = replace(self, point=ir.InsertionPoint(block))
        score: ir.Value = block.arguments[0]
        for factor in factors:
            score = inside.mulf(score, inside.constant(single, factor))
        inside.create("iree_linalg_ext.yield", [score])
        return made

    def online_attention(
        self,
        attention: ir.Operation,
        inputs: Sequence[ir.Value],
        outputs: Sequence[ir.Value],
        maps: ir.Attribute,
    ) -> ir.Operation:
        """Creates an `iree_linalg_ext.online_attention`, which takes over an attention's scores.

        Args:
            inputs: Q, K, V, the scale of the scores, and a mask if there is one.
            outputs: what the output, the maxima and the sums of rows begin with.
            maps: the `indexing_maps`.
        """
        operation = self.create(
            "iree_linalg_ext.online_attention",
            [*inputs, *outputs],
            [each.type for each in outputs],
            {"indexing_maps": maps},
            regions=1,
        )
        attention.regions[0].blocks[0].append_to(operation.regions[0])
        return operation

    def _linalg_body(
        self, operation: ir.Operation, body: Callable[..., ir.Value | Sequence[ir.Value]]
    ) -> None:
        """Emits the body of an operation of linalg on the elements of its operands."""
        kinds = [scalar_type(each.type) for each in operation.operands]
        block = operation.regions[0].blocks.append(*kinds, arg_locs=[self.location] * len(kinds))
        inside = replace(self, point=ir.InsertionPoint(block))
        made = body(inside, *block.arguments)
        inside.create("linalg.yield", [made] if isinstance(made, ir.Value) else made)

    # Tensors in the LDS.

    def alloc(self, kind: ir.MemRefType, mark: str) -> ir.Value:
        """Creates a `memref.alloc` of a static shape that has an attribute."""
        attributes = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0], self.context),
            mark: ir.UnitAttr.get(self.context),
        }
        return self.create("memref.alloc", [], [kind], attributes).results[0]

    def alloc_tensor(self, shaped: ir.VectorType, space: str) -> ir.Value:
        """Creates a tensor with the shape and the elements of a vector in a memory space."""
        memory = ir.Attribute.parse(space, self.context)
        kind = ir.RankedTensorType.get(shaped.shape, shaped.element_type, memory, loc=self.location)
        segments = self._segments(0, 0, 0)
        return self._value(
            "bufferization.alloc_tensor",
            [],
            kind,
            memory_space=memory,
            operandSegmentSizes=segments,
        )

    def transfer_write(self, vector: ir.Value, tensor: ir.Value) -> ir.Value:
        """Returns a tensor that holds the elements of a vector of its shape."""
        rank = ir.VectorType(vector.type).rank
        operands = [vector, tensor, *([self.index(0)] * rank)]
        segments = self._segments(1, 1, rank, 0)
        return self._value(
            TRANSFER_WRITE,
            operands,
            tensor.type,
            **self._whole(rank),
            operandSegmentSizes=segments,
        )

    def transfer_read(
        self, memory: ir.Value, vector: ir.Type, indices: Sequence[ir.Value] = ()
    ) -> ir.Value:
        """Returns elements of a tensor or memref, side by side along its last dimensions.

        Args:
            indices: where the elements begin; by default with the first one.
        """
        kind = ir.VectorType(vector)
        padding = self.poison(kind.element_type)
        rank = ir.ShapedType(memory.type).rank
        operands = [memory, *(indices or [self.index(0)] * rank), padding]
        segments = self._segments(1, rank, 1, 0)
        inner = ir.AffineMap.get_minor_identity(rank, kind.rank, self.context)
        whole = self._whole(kind.rank) | {"permutation_map": ir.AffineMapAttr.get(inner)}
        return self._value(
            TRANSFER_READ,
            operands,
            kind,
            **whole,
            operandSegmentSizes=segments,
        )

    def _whole(self, rank: int) -> dict[str, ir.Attribute]:
        """Returns the attributes of a transfer of all elements in their order."""
        inside = ir.BoolAttr.get(True, self.context)
        identity = ir.AffineMap.get_identity(rank, self.context)
        return {
            "in_bounds": ir.ArrayAttr.get([inside] * rank, self.context),
            "permutation_map": ir.AffineMapAttr.get(identity),
        }

    # llvm.

    def fptrunc(self, value: ir.Value, kind: ir.Type) -> ir.Value:
        """Rounds floating-point numbers to a narrower type, by the hardware's instruction."""
        return self._value("llvm.fptrunc", [value], kind)

    def freeze(self, value: ir.Value) -> ir.Value:
        """Returns a value, of which LLVM takes care that it is the same at each use."""
        return self._value("llvm.freeze", [value], value.type)

    def member(self, struct: ir.Value, number: int, kind: ir.Type) -> ir.Value:
        """Returns a member of a struct, which has the type `kind`."""
        return self._value("llvm.extractvalue", [struct], kind, position=self._numbers([number]))

    def intrinsic(self, name: str, operands: Sequence[ir.Value], result: ir.Type) -> ir.Value:
        """Calls an LLVM intrinsic, by which a pass asks for one machine instruction.

        Args:
            name: the intrinsic as LLVM spells it, such as `llvm.amdgcn.perm`.
        """
        return self._value(
            "llvm.call_intrinsic",
            operands,
            result,
            intrin=ir.StringAttr.get(name, self.context),
            operandSegmentSizes=self._segments(len(operands), 0),
            op_bundle_sizes=self._segments(),
        )
