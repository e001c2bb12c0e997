# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels of whole vectors, as they are before vector distribution.

A `Program` computes with vectors whose dimensions have the names m, n and k. In a `Space` every
dimension has a part of the lanes and registers, so that each vector's layout is that of its
dimensions, and all vectors of a space fit each other. A loop loads tiles, most of them through the
LDS, computes, and adds up; what was added up is worked on after the loop, and stored.

`render` spells a program in MLIR, `expected` computes it in float64 with a bound of the error that
f32 may make; both start from the description alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from bankwise.bank_model.nested_layout import NestedLayout
from bankwise.runtime.dtypes import dtype_of

from .dispatches import BodyWriter, dispatch_module

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]
Dims = tuple[str, ...]

WAVE = 64
NAMES = ("m", "n", "k")
LOOPED = "k"
"""The dimension whose tiles the loop walks along."""
ROUNDING = 2.0**-24


@dataclass(frozen=True)
class Split:
    """How the index of a dimension is split, and with which strides lanes and waves count it."""

    wave: int = 1
    batch: int = 1
    outer: int = 1
    lane: int = 1
    element: int = 1
    wave_stride: int = 0
    lane_stride: int = 0

    @property
    def size(self) -> int:
        return self.wave * self.batch * self.outer * self.lane * self.element

    @property
    def registers(self) -> int:
        return self.batch * self.outer * self.element


Space = Mapping[str, Split]


def layout(space: Space, dims: Dims) -> NestedLayout:
    """Returns the layout of a vector with these dimensions."""
    splits = [space[name] for name in dims]
    return NestedLayout(
        *(tuple(getattr(each, part) for each in splits) for part in ("wave", "batch", "outer")),
        *(tuple(getattr(each, part) for each in splits) for part in ("lane", "element")),
        *(tuple(getattr(each, part) for each in splits) for part in ("wave_stride", "lane_stride")),
    )


@dataclass(frozen=True)
class Load:
    """Loads a tile of an input of its own.

    Attributes:
        stored: the order of the dimensions in memory.
        dims: their order in the vector.
        copied: elements that a lane copies to the LDS at once; 0 for no way through the LDS.
        turned: whether `vector.transpose` brings the dimensions into order, not the read.
        missing: how many of the last indices of the last dimension are not in memory, and zero.
    """

    dims: Dims
    stored: Dims
    copied: int = 0
    turned: bool = False
    missing: int = 0


@dataclass(frozen=True)
class Scale:
    """Multiplies with a constant.

    Sums of a few f16 are exact in f32, and thus the same in any order; those of multiples are not.
    """

    value: int
    factor: float


@dataclass(frozen=True)
class Combine:
    """Adds, subtracts, multiplies, or takes the greater one of two vectors."""

    op: str
    value: int
    other: int


@dataclass(frozen=True)
class Turn:
    """Reverses the dimensions."""

    value: int


@dataclass(frozen=True)
class Spread:
    """Repeats a vector along another dimension, which becomes the first one."""

    value: int
    dim: str


@dataclass(frozen=True)
class Reduce:
    """Adds up, or takes the maximum, along a dimension."""

    value: int
    dim: str
    op: str = "add"


@dataclass(frozen=True)
class Product:
    """Multiplies and sums over what the vectors have in common, and adds nothing else."""

    value: int
    other: int


@dataclass(frozen=True)
class Cut:
    """Sets what is at or behind `bound` along the first dimension to zero, by a mask."""

    value: int
    bound: int


@dataclass(frozen=True)
class Restage:
    """Moves a vector through the LDS into the layouts of another space."""

    value: int
    space: int


Step = Load | Scale | Combine | Turn | Spread | Reduce | Product | Cut | Restage


@dataclass(frozen=True)
class Program:
    """A kernel of one workgroup.

    Attributes:
        body: steps in the loop; the result of each has its place as its number.
        sums: the steps whose results are added up over the iterations.
        epilogue: steps after the loop, on the sums, which have the first numbers here.
    """

    chip: str
    element: str
    waves: int
    spaces: tuple[Space, ...]
    iterations: int
    body: tuple[Step, ...]
    sums: tuple[int, ...]
    epilogue: tuple[Step, ...] = ()

    @property
    def loads(self) -> list[Load]:
        return [step for step in self.body if isinstance(step, Load)]

    @property
    def sizes(self) -> dict[str, int]:
        return {name: split.size for name, split in self.spaces[0].items()}


@dataclass(frozen=True)
class Kind:
    """What is known of a value without computing it."""

    dims: Dims
    space: int = 0


def kind_of(step: Step, values: Sequence[Kind]) -> Kind:
    """Returns the dimensions and the space of a step's result."""
    if isinstance(step, Load):
        return Kind(step.dims)
    given = values[step.value]
    if isinstance(step, Turn):
        return Kind(given.dims[::-1], given.space)
    if isinstance(step, Spread):
        return Kind((step.dim, *given.dims), given.space)
    if isinstance(step, Reduce):
        return Kind(tuple(name for name in given.dims if name != step.dim), given.space)
    if isinstance(step, Product):
        other = values[step.other].dims
        summed = {*given.dims} & {*other}
        return Kind(tuple(n for n in (*given.dims, *other) if n not in summed), given.space)
    return Kind(given.dims, step.space if isinstance(step, Restage) else given.space)


def kinds(program: Program) -> tuple[list[Kind], list[Kind]]:
    """Returns the kinds of all values in the loop, and of all behind it."""
    body: list[Kind] = []
    for step in program.body:
        body.append(kind_of(step, body))
    after = [body[number] for number in program.sums]
    for step in program.epilogue:
        after.append(kind_of(step, after))
    return body, after


def outputs(program: Program) -> list[int]:
    """Returns the numbers of the values that are stored, behind the loop."""
    _, after = kinds(program)
    last = [len(after) - 1] if program.epilogue else []
    return [*range(len(program.sums)), *last]


# What it computes.


@dataclass(frozen=True)
class Known:
    """A value in float64, and by how much one computed in f32 may differ."""

    value: F64
    bound: F64


def shape_of(program: Program, load: Load) -> tuple[int, ...]:
    """Returns the shape of the memory that a load reads in all iterations."""
    sizes = program.sizes
    shape = [sizes[name] * (program.iterations if name == LOOPED else 1) for name in load.stored]
    if load.missing:
        shape[load.stored.index(load.dims[-1])] -= load.missing
    return tuple(shape)


def input_arrays(program: Program, seed: int = 0) -> list[Array]:
    """Returns random inputs, one per load."""
    random = np.random.default_rng(seed)
    return [
        random.standard_normal(shape_of(program, load)).astype(dtype_of(program.element))
        for load in program.loads
    ]


def expected(program: Program, inputs: Sequence[Array]) -> list[Known]:
    """Returns what is stored."""
    body, after = kinds(program)
    sums: list[Known] = []
    for iteration in range(program.iterations):
        values: list[Known] = []
        given = iter(inputs)
        for number, step in enumerate(program.body):
            if isinstance(step, Load):
                tile = _tile(program, step, next(given).astype(np.float64), iteration)
                values.append(Known(tile, np.zeros_like(tile)))
            else:
                values.append(_computed(program, step, values, body, body[number]))
        found = [values[number] for number in program.sums]
        sums = [_add(*pair) for pair in zip(sums, found, strict=True)] if sums else found
    values = list(sums)
    for number, step in enumerate(program.epilogue, len(sums)):
        values.append(_computed(program, step, values, after, after[number]))
    return [values[number] for number in outputs(program)]


def _tile(program: Program, load: Load, memory: F64, iteration: int) -> F64:
    sizes = program.sizes
    part = tuple(
        slice(iteration * sizes[name], (iteration + 1) * sizes[name])
        if name == LOOPED
        else slice(None)
        for name in load.stored
    )
    tile = memory[part]
    missing = [(0, sizes[n] - have) for n, have in zip(load.stored, tile.shape, strict=True)]
    return np.pad(tile, missing).transpose([load.stored.index(name) for name in load.dims])


def _rounded(value: F64, bound: F64, terms: int = 1) -> Known:
    """Returns a result with an error of its own, of as many roundings as it has terms."""
    return Known(value, bound + (terms + 1) * ROUNDING * (np.abs(value) + bound))


def _add(one: Known, other: Known) -> Known:
    return _rounded(one.value + other.value, one.bound + other.bound)


def _computed(
    program: Program, step: Step, values: Sequence[Known], known: Sequence[Kind], kind: Kind
) -> Known:
    assert not isinstance(step, Load)
    x, dims = values[step.value], known[step.value].dims
    if isinstance(step, Scale):
        return _rounded(x.value * step.factor, x.bound * abs(step.factor))
    if isinstance(step, Combine):
        return _combined(step.op, x, values[step.other])
    if isinstance(step, Turn):
        return Known(x.value.T, x.bound.T)
    if isinstance(step, Spread):
        shape = [program.sizes[name] for name in kind.dims]
        return Known(np.broadcast_to(x.value, shape), np.broadcast_to(x.bound, shape))
    if isinstance(step, Reduce):
        axis = dims.index(step.dim)
        if step.op == "maximumf":
            return Known(x.value.max(axis), x.bound.max(axis))
        magnitude = (np.abs(x.value) + x.bound).sum(axis)
        terms = program.sizes[step.dim] + 1
        return Known(x.value.sum(axis), x.bound.sum(axis) + terms * ROUNDING * magnitude)
    if isinstance(step, Product):
        y, other = values[step.other], known[step.other].dims
        form = f"{''.join(dims)},{''.join(other)}->{''.join(kind.dims)}"
        a, b = np.abs(x.value) + x.bound, np.abs(y.value) + y.bound
        exact = np.einsum(form, np.abs(x.value), np.abs(y.value))
        magnitude = np.einsum(form, a, b)
        terms = prod(program.sizes[name] for name in {*dims} & {*other}) + 2
        bound = magnitude - exact + terms * ROUNDING * magnitude
        return Known(np.einsum(form, x.value, y.value), bound)
    if isinstance(step, Cut):
        kept = (np.arange(x.value.shape[0]) < step.bound).reshape(-1, *[1] * (len(dims) - 1))
        return Known(np.where(kept, x.value, 0), np.where(kept, x.bound, 0))
    return x


def _combined(op: str, x: Known, y: Known) -> Known:
    if op == "mulf":
        bound = x.bound * np.abs(y.value) + y.bound * (np.abs(x.value) + x.bound)
        return _rounded(x.value * y.value, bound)
    if op == "maximumf":
        return Known(np.maximum(x.value, y.value), np.maximum(x.bound, y.bound))
    sign = 1 if op == "addf" else -1
    return _rounded(x.value + sign * y.value, x.bound + y.bound)


# Its MLIR.


def render(program: Program) -> str:
    """Returns the program as a module whose function `run` takes one tensor per load."""
    return _Renderer(program).module()


class _Renderer(BodyWriter):
    """Writes the text of one program."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def _splat(self, value: float, dims: Dims) -> str:
        """Returns a constant vector; equal ones are one value, as CSE makes them."""
        kind = self._type(dims)
        name = f"%splat_{value}_{kind}".translate(str.maketrans("<>.-+", "_____"))
        return self.constant(name, f"dense<{value:e}> : {kind}")

    def _padding(self, element: str) -> str:
        return self.constant(f"%padding_{element}", f"0.0 : {element}")

    def _type(self, dims: Dims, element: str = "f32") -> str:
        sizes = self.program.sizes
        return f"vector<{'x'.join(str(sizes[name]) for name in dims)}x{element}>"

    def _anchored(self, value: str, dims: Dims, space: int, element: str = "f32") -> str:
        where = layout(self.program.spaces[space], dims)
        kind = self._type(dims, element)
        return self.let("v", f"iree_vector_ext.to_layout {value} to layout({where}) : {kind}")

    def module(self) -> str:
        program = self.program
        _, after = kinds(program)
        shapes = [shape_of(program, load) for load in program.loads]
        inputs = [f"{'x'.join(map(str, shape))}x{program.element}" for shape in shapes]
        stored = [after[number].dims for number in outputs(program)]
        results = [self._type(dims)[len("vector<") : -1] for dims in stored]
        self._body(inputs, shapes, results)
        return dispatch_module(
            self.body(),
            inputs,
            results,
            threads=(program.waves * WAVE, 1, 1),
            pipeline="#iree_gpu.pipeline<VectorDistribute>",
        )

    def _body(
        self, inputs: Sequence[str], shapes: Sequence[tuple[int, ...]], results: Sequence[str]
    ) -> None:
        program = self.program
        zero = self.index(0)
        self.sources = [
            self._binding(f"%in{n}", kind, shape)
            for n, (kind, shape) in enumerate(zip(inputs, shapes, strict=True))
        ]
        body, after = kinds(program)
        carried = [body[number].dims for number in program.sums]
        types = ", ".join(map(self._type, carried))
        starts = ", ".join(f"%sum{n} = {self._splat(0.0, d)}" for n, d in enumerate(carried))
        iterations, one = self.index(program.iterations), self.index(1)
        bound = f"%sums:{len(carried)}"
        self.emit(
            f"{bound} = scf.for %iteration = {zero} to {iterations} step {one} "
            f"iter_args({starts}) -> ({types}) {{"
        )
        self.emit("gpu.barrier memfence [#lds]")
        values: list[str] = []
        for number, step in enumerate(program.body):
            values.append(self._step(step, values, body, body[number]))
        found = [
            self.let("v", f"arith.addf %sum{n}, {values[number]} : {self._type(dims)}")
            for n, (number, dims) in enumerate(zip(program.sums, carried, strict=True))
        ]
        self.emit(f"scf.yield {', '.join(found)} : {types}")
        self.emit("}")
        values = [f"%sums#{n}" for n in range(len(carried))]
        for number, step in enumerate(program.epilogue, len(values)):
            values.append(self._step(step, values, after, after[number]))
        for n, (number, result) in enumerate(zip(outputs(program), results, strict=True)):
            dims = after[number].dims
            shape = tuple(program.sizes[name] for name in dims)
            memory, kind = self._binding(f"%out{n}", result, shape)
            bounds = ", ".join(["true"] * len(dims))
            self.emit(
                f"vector.transfer_write {values[number]}, {memory}"
                f"[{', '.join([zero] * len(dims))}] {{in_bounds = [{bounds}]}} "
                f": {self._type(dims)}, {kind}"
            )

    def _binding(self, name: str, kind: str, shape: tuple[int, ...]) -> tuple[str, str]:
        strides = ", ".join(str(prod(shape[axis + 1 :])) for axis in range(len(shape)))
        memory = f"memref<{kind}, strided<[{strides}], offset: ?>>"
        return self.binding("v", name, memory)

    def _step(self, step: Step, values: Sequence[str], known: Sequence[Kind], kind: Kind) -> str:
        if isinstance(step, Load):
            return self._load(step)
        # Each kind of step has a method of its name.
        return getattr(self, type(step).__name__.lower())(step, values, known, kind)

    # Loads.

    def _load(self, load: Load) -> str:
        number = [id(each) for each in self.program.loads].index(id(load))
        memory, kind = self.sources[number]
        element = self.program.element
        staged_dims = load.stored if load.copied else self._read_dims(load)
        value = self._read(load, memory, kind, staged_dims, self._offsets(load))
        if load.copied:
            value = self._copied(load, value)
        dims = self._read_dims(load)
        value = self._anchored(value, dims, 0, element)
        if element != "f32":
            kinds = f"{self._type(dims, element)} to {self._type(dims)}"
            value = self.let("v", f"arith.extf {value} : {kinds}")
        if dims != load.dims:
            value = self._transposed(value, dims, load.dims)
        return value

    def _read_dims(self, load: Load) -> Dims:
        """Returns the order of the dimensions of the vector that is read at last."""
        return load.stored if load.turned else load.dims

    def _offsets(self, load: Load) -> list[str]:
        zero, size = self.index(0), self.program.sizes[LOOPED]
        if LOOPED not in load.stored:
            return [zero] * len(load.stored)
        along = self.let("v", f"affine.apply affine_map<(t) -> (t * {size})>(%iteration)")
        return [along if name == LOOPED else zero for name in load.stored]

    def _read(self, load: Load, memory: str, kind: str, dims: Dims, offsets: Sequence[str]) -> str:
        element = self.program.element
        mask = ""
        if load.missing:
            bounds = []
            for name in load.stored:
                there = self.index(self.program.sizes[name])
                if name == load.dims[-1]:
                    there = self._present(load, name)
                bounds.append(there)
            shape = self._type(load.stored, "i1")
            mask = ", " + self.let("v", f"vector.create_mask {', '.join(bounds)} : {shape}")
        attributes = [f"in_bounds = [{', '.join(['true'] * len(dims))}]"]
        if dims != load.stored:
            attributes.append(f"permutation_map = {_permutation(load.stored, dims)}")
        return self.let(
            "v",
            f"vector.transfer_read {memory}[{', '.join(offsets)}], {self._padding(element)}{mask} "
            f"{{{', '.join(attributes)}}} : {kind}, {self._type(dims, element)}",
        )

    def _present(self, load: Load, name: str) -> str:
        """Returns how many indices of a tile's dimension this iteration finds in memory."""
        size = self.program.sizes[name]
        if name != LOOPED:
            return self.index(size - load.missing)
        there = size * self.program.iterations - load.missing
        text = f"affine.min affine_map<(t) -> ({size}, {there} - t * {size})>(%iteration)"
        return self.let("v", text)

    def _copied(self, load: Load, value: str) -> str:
        """Returns the vector that was copied to the LDS, read from there."""
        sizes = tuple(self.program.sizes[name] for name in load.stored)
        where = copy_layout(sizes, load.copied, self.program.waves * WAVE)
        vector = self._type(load.stored, self.program.element)
        value = self.let("v", f"iree_vector_ext.to_layout {value} to layout({where}) : {vector}")
        return self._through_lds(value, load.stored, self._read_dims(load), self.program.element)

    def _through_lds(self, value: str, stored: Dims, dims: Dims, element: str = "f32") -> str:
        """Writes a vector to a tile of its shape, and reads it with dimensions in this order."""
        sizes = "x".join(str(self.program.sizes[name]) for name in stored)
        tile = f"tensor<{sizes}x{element}, #lds>"
        zeros = ", ".join([self.index(0)] * len(stored))
        bounds = ", ".join(["true"] * len(stored))
        space = "memory_space = #gpu.address_space<workgroup>"
        alloc = self.let("v", f"bufferization.alloc_tensor() <{{{space}}}> : {tile}")
        written = self.let(
            "v",
            f"vector.transfer_write {value}, {alloc}[{zeros}] {{in_bounds = [{bounds}]}} "
            f": {self._type(stored, element)}, {tile}",
        )
        ready = self.let("v", f"iree_gpu.value_barrier {written} : {tile}")
        attributes = [f"in_bounds = [{bounds}]"]
        if dims != stored:
            attributes.append(f"permutation_map = {_permutation(stored, dims)}")
        return self.let(
            "v",
            f"vector.transfer_read {ready}[{zeros}], {self._padding(element)} "
            f"{{{', '.join(attributes)}}} : {tile}, {self._type(dims, element)}",
        )

    # Steps on values.

    def _transposed(self, value: str, dims: Dims, wanted: Dims) -> str:
        order = ", ".join(str(dims.index(name)) for name in wanted)
        kinds = f"{self._type(dims)} to {self._type(wanted)}"
        return self.let("v", f"vector.transpose {value}, [{order}] : {kinds}")

    def scale(self, step: Scale, values: Any, known: Any, kind: Kind) -> str:
        splat = self._splat(step.factor, kind.dims)
        return self.let("v", f"arith.mulf {values[step.value]}, {splat} : {self._type(kind.dims)}")

    def combine(self, step: Combine, values: Any, known: Any, kind: Kind) -> str:
        pair = f"{values[step.value]}, {values[step.other]}"
        return self.let("v", f"arith.{step.op} {pair} : {self._type(kind.dims)}")

    def turn(self, step: Turn, values: Any, known: Any, kind: Kind) -> str:
        return self._transposed(values[step.value], known[step.value].dims, kind.dims)

    def spread(self, step: Spread, values: Any, known: Any, kind: Kind) -> str:
        kinds = f"{self._type(kind.dims[1:])} to {self._type(kind.dims)}"
        wide = self.let("v", f"vector.broadcast {values[step.value]} : {kinds}")
        return self._anchored(wide, kind.dims, kind.space)

    def reduce(self, step: Reduce, values: Any, known: Any, kind: Kind) -> str:
        dims = known[step.value].dims
        start = self._splat(0.0 if step.op == "add" else -3.0e38, kind.dims)
        kinds = f"{self._type(dims)} to {self._type(kind.dims)}"
        along = f"[{dims.index(step.dim)}]"
        value = values[step.value]
        text = f"vector.multi_reduction <{step.op}>, {value}, {start} {along} : {kinds}"
        return self.let("v", text)

    def product(self, step: Product, values: Any, known: Any, kind: Kind) -> str:
        all_dims = [known[step.value].dims, known[step.other].dims, kind.dims]
        names = list(dict.fromkeys(name for dims in all_dims for name in dims))
        maps = ", ".join(
            f"affine_map<({', '.join(names)}) -> ({', '.join(dims)})>" for dims in all_dims
        )
        iterators = ", ".join(
            '"parallel"' if name in kind.dims else '"reduction"' for name in names
        )
        start = self._anchored(self._splat(0.0, kind.dims), kind.dims, kind.space)
        types = ", ".join(map(self._type, all_dims[:2]))
        return self.let(
            "v",
            f"vector.contract {{indexing_maps = [{maps}], iterator_types = [{iterators}], "
            f"kind = #vector.kind<add>}} {values[step.value]}, {values[step.other]}, {start} "
            f": {types} into {self._type(kind.dims)}",
        )

    def cut(self, step: Cut, values: Any, known: Any, kind: Kind) -> str:
        sizes = [self.program.sizes[name] for name in kind.dims]
        bounds = ", ".join(map(self.index, [step.bound, *sizes[1:]]))
        mask = self.let("v", f"vector.create_mask {bounds} : {self._type(kind.dims, 'i1')}")
        zero = self._splat(0.0, kind.dims)
        kinds = f"{self._type(kind.dims, 'i1')}, {self._type(kind.dims)}"
        return self.let("v", f"arith.select {mask}, {values[step.value]}, {zero} : {kinds}")

    def restage(self, step: Restage, values: Any, known: Any, kind: Kind) -> str:
        given = known[step.value]
        written = self._anchored(values[step.value], given.dims, given.space)
        return self._anchored(
            self._through_lds(written, kind.dims, kind.dims), kind.dims, kind.space
        )


def _permutation(stored: Dims, dims: Dims) -> str:
    return f"affine_map<({', '.join(stored)}) -> ({', '.join(dims)})>"


def copy_layout(shape: tuple[int, ...], element: int, threads: int) -> NestedLayout:
    """Returns a layout in which neighbouring threads copy neighbours of `element` elements."""
    splits: list[tuple[int, int, int]] = []
    stride = 1
    for axis in reversed(range(len(shape))):
        held = element if axis == len(shape) - 1 else 1
        units = shape[axis] // held
        lanes = min(units & -units, threads // stride)
        splits.insert(0, (units // lanes, lanes, held))
        stride *= lanes
    strides = [prod(lanes for _, lanes, _ in splits[axis + 1 :]) for axis in range(len(shape))]
    ones = (1,) * len(shape)
    batch, lane, held = (tuple(each) for each in zip(*splits, strict=True))
    lane_strides = tuple(s if n > 1 else 0 for s, n in zip(strides, lane, strict=True))
    return NestedLayout(ones, batch, ones, lane, held, (0,) * len(shape), lane_strides)


# Drawing programs.

MOST_ELEMENTS = 2048
"""The most elements of a vector."""
MOST_PRODUCTS = 512
"""The most products of a contraction in one lane; each becomes an instruction."""


@st.composite
def spaces(draw: st.DrawFn, waves: int, sizes: Mapping[str, int] | None = None) -> Space:
    """Draws how lanes, waves and registers are given to the dimensions.

    Args:
        sizes: what the dimensions must have, if it is known.
    """
    order = draw(st.permutations(NAMES))
    lanes, lane_stride, wave_stride = WAVE, 1, 1
    found: dict[str, Split] = {}
    for place, name in enumerate(order):
        size = sizes[name] if sizes else draw(st.sampled_from([4, 8, 16, 16, 32, 32, 64, 24]))
        twos = size & -size
        wave = draw(st.sampled_from([1, waves])) if wave_stride == 1 and twos >= 2 * waves else 1
        most = min(lanes, twos // wave)
        lane = 1 << draw(st.integers(0, most.bit_length() - 1))
        if place == 2:
            lane = most
        rest = twos // wave // lane
        element = 1 << draw(st.sampled_from([0, 0, *range(min(4, rest.bit_length()))]))
        outer = draw(st.sampled_from([1, 1, 2])) if rest // element > 1 else 1
        batch = size // (wave * lane * element * outer)
        found[name] = Split(
            wave,
            batch,
            outer,
            lane,
            element,
            wave_stride if wave > 1 else 0,
            lane_stride if lane > 1 else 0,
        )
        lanes //= lane
        lane_stride *= lane
        wave_stride *= wave
    return {name: found[name] for name in NAMES}


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Draws a program."""
    waves = draw(st.sampled_from([1, 1, 2, 4]))
    first = draw(spaces(waves))
    sizes = {name: split.size for name, split in first.items()}
    all_spaces = [first, *draw(st.lists(spaces(waves, sizes), max_size=1))]
    drawing = _Drawing(draw, all_spaces)
    body: list[Step] = []
    known: list[Kind] = []
    for _ in range(draw(st.integers(1, 2))):
        drawing.add(drawing.load(), body, known)
    for _ in range(draw(st.integers(0, 4))):
        drawing.more(body, known)
    used = {n for step in body if not isinstance(step, Load) for n in _operands(step)}
    sums = tuple(n for n in range(len(body)) if n not in used)
    after = [known[n] for n in sums]
    epilogue: list[Step] = []
    for _ in range(draw(st.integers(0, 3))):
        drawing.more(epilogue, after, loads=False)
    return Program(
        chip=draw(st.sampled_from(["gfx942", "gfx942", "gfx950"])),
        element=draw(st.sampled_from(["f16", "f16", "bf16", "f32"])),
        waves=waves,
        spaces=tuple(all_spaces),
        iterations=draw(st.integers(1, 3)),
        body=tuple(body),
        sums=sums,
        epilogue=tuple(epilogue),
    )


def _operands(step: Step) -> list[int]:
    if isinstance(step, Load):
        return []
    return [step.value, *([step.other] if isinstance(step, Combine | Product) else [])]


def _distributable(step: Step, steps: Sequence[Step], before: int) -> Step:
    """Returns a step that stock can distribute, behind steps that have `before` values before them.

    It makes a `vector.contract` with a constant of a multiple that is added up, and fails on that.
    """
    if not isinstance(step, Reduce) or step.op != "add" or step.value < before:
        return step
    is_multiple = isinstance(steps[step.value - before], Scale)
    return replace(step, op="maximumf") if is_multiple else step


@dataclass
class _Drawing:
    """Draws steps that fit the values there are."""

    draw: st.DrawFn
    spaces: Sequence[Space]

    def _size(self, dims: Dims) -> int:
        return prod(self.spaces[0][name].size for name in dims)

    def add(self, step: Step, steps: list[Step], known: list[Kind]) -> None:
        known.append(kind_of(step, known))
        steps.append(step)

    def load(self) -> Load:
        pairs = [d for d in (("m", "k"), ("n", "k"), ("m", "n")) if self._size(d) <= MOST_ELEMENTS]
        choices = [*pairs, *pairs, ("m",), ("n",), ("k",)]
        dims = tuple(self.draw(st.permutations(self.draw(st.sampled_from(choices)))))
        stored = tuple(self.draw(st.permutations(dims)))
        last = self.spaces[0][stored[-1]].size
        widths = [w for w in (1, 2, 4, 8, 8) if last % w == 0]
        copied = self.draw(st.sampled_from([0, *widths * 3]))
        # Only a copy reads in the order of the memory, which the mask has too.
        edge = self.spaces[0][dims[-1]].size
        missing = self.draw(st.sampled_from([0, 0, 0, 1, edge // 2])) if copied else 0
        return Load(dims, stored, copied, self.draw(st.booleans()), missing)

    def more(self, steps: list[Step], known: list[Kind], *, loads: bool = True) -> None:
        """Adds a step, and what it needs."""
        makers = [self._scale, self._combine, self._turn, self._spread, self._reduce]
        makers += [self._product, self._product, self._cut, self._restage]
        if loads:
            makers.append(self._load)
        step = self.draw(st.sampled_from(makers))(known)
        if step is not None:
            self.add(_distributable(step, steps, len(known) - len(steps)), steps, known)

    def _load(self, known: Sequence[Kind]) -> Step | None:
        return self.load()

    def _value(self, known: Sequence[Kind], rank: int = 0) -> int | None:
        fitting = [n for n, kind in enumerate(known) if not rank or len(kind.dims) == rank]
        # What was computed last is the most interesting.
        return self.draw(st.sampled_from(fitting[::-1])) if fitting else None

    def _scale(self, known: Sequence[Kind]) -> Step | None:
        value = self._value(known)
        return None if value is None else Scale(value, self.draw(st.sampled_from([2.0, 0.7])))

    def _combine(self, known: Sequence[Kind]) -> Step | None:
        pairs = [
            (i, j) for i, one in enumerate(known) for j, other in enumerate(known) if one == other
        ]
        op = self.draw(st.sampled_from(["addf", "subf", "mulf", "maximumf"]))
        return Combine(op, *self.draw(st.sampled_from(pairs[::-1]))) if pairs else None

    def _turn(self, known: Sequence[Kind]) -> Step | None:
        value = self._value(known, 2)
        return None if value is None else Turn(value)

    def _spread(self, known: Sequence[Kind]) -> Step | None:
        value = self._value(known, 1)
        if value is None:
            return None
        (own,) = known[value].dims
        fitting = [n for n in NAMES if n != own and self._size((n, own)) <= MOST_ELEMENTS]
        return Spread(value, self.draw(st.sampled_from(fitting))) if fitting else None

    def _reduce(self, known: Sequence[Kind]) -> Step | None:
        value = self._value(known, 2)
        if value is None:
            return None
        # Stock leaves the sums of all waves but one out where no lanes are summed over.
        space = self.spaces[known[value].space]
        dims = [n for n in known[value].dims if space[n].wave == 1 or space[n].lane > 1]
        if not dims:
            return None
        dim = self.draw(st.sampled_from(dims))
        return Reduce(value, dim, self.draw(st.sampled_from(["add", "add", "maximumf"])))

    def _product(self, known: Sequence[Kind]) -> Step | None:
        pairs = [
            (i, j)
            for i, one in enumerate(known)
            for j, other in enumerate(known)
            if len({*one.dims} & {*other.dims}) == 1
            and len(one.dims) == len(other.dims) == 2
            and one.space == other.space
            and self._product_fits({*one.dims, *other.dims}, one, other)
        ]
        return Product(*self.draw(st.sampled_from(pairs[::-1]))) if pairs else None

    def _product_fits(self, names: set[str], one: Kind, other: Kind) -> bool:
        """Returns whether a product is small enough, and the sum is in one wave.

        Stock's own results are wrong where a `vector.contract` sums over several waves.
        """
        space = self.spaces[one.space]
        result = {*one.dims} ^ {*other.dims}
        (summed,) = {*one.dims} & {*other.dims}
        local = prod(space[name].registers for name in names)
        fits = local <= MOST_PRODUCTS and self._size(tuple(result)) <= MOST_ELEMENTS
        return fits and space[summed].wave == 1

    def _cut(self, known: Sequence[Kind]) -> Step | None:
        value = self._value(known)
        if value is None:
            return None
        size = self.spaces[0][known[value].dims[0]].size
        return Cut(value, self.draw(st.integers(1, size)))

    def _restage(self, known: Sequence[Kind]) -> Step | None:
        value = self._value(known, 2)
        if value is None:
            return None
        return Restage(value, self.draw(st.integers(0, len(self.spaces) - 1)))
