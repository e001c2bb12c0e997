# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random parts of tensors that move within them, or are read backwards."""

from __future__ import annotations

import numpy as np

from ..program_families.program import TOLERANCE, Array, Input, Program, integers, tensor

_KINDS = ("f32", "f16", "i32", "i8")


def moved(random: np.random.Generator, name: str) -> Program:
    """Returns a part of a tensor in another place of it, once or in each of three steps."""
    kind, shape = _drawn(random)
    sizes = [int(random.integers(1, size + 1)) for size in shape]
    gaps = [size - part for size, part in zip(shape, sizes, strict=True)]
    read, written = ([int(random.integers(gap + 1)) for gap in gaps] for _ in range(2))
    steps, is_sum = int(random.choice([1, 1, 3])), random.random() < 0.5
    begin = "%twice" if is_sum else "%a"
    x, part = tensor(kind, *shape), tensor(kind, *sizes)
    ones, add = [1] * len(shape), "addi" if kind.startswith("i") else "addf"
    maps = _maps([f"d{dim}" for dim in range(len(shape))], 2)
    source = f"""func.func @main(%a: {x}) -> {x} {{
  %first = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = arith.constant {steps} : index
  %empty = tensor.empty() : {x}
  %twice = linalg.generic {{{maps}}} ins(%a : {x}) outs(%empty : {x}) {{
  ^bb0(%e: {kind}, %o: {kind}):
    %s = arith.{add} %e, %e : {kind}
    linalg.yield %s : {kind}
  }} -> {x}
  %out = scf.for %i = %first to %last step %one iter_args(%t = {begin}) -> {x} {{
    %part = tensor.extract_slice %t{read} {sizes} {ones} : {x} to {part}
    %moved = tensor.insert_slice %part into %t{written} {sizes} {ones} : {part} into {x}
    scf.yield %moved : {x}
  }}
  return %out : {x}
}}
"""

    def reference(a: Array) -> Array:
        result = a * 2 if is_sum else a
        places = [
            tuple(map(slice, starts, np.add(starts, sizes).tolist())) for starts in (read, written)
        ]
        for _ in range(steps):
            taken, result = result[places[0]], result.copy()
            result[places[1]] = taken
        return result

    return Program(name, source, (_draw(kind, shape),), reference, TOLERANCE["exact"])


def reflected(random: np.random.Generator, name: str) -> Program:
    """Returns a tensor with its own reflection in front, along any dimension."""
    kind, shape = _drawn(random)
    axis = int(random.integers(len(shape)))
    shape[axis] = int(random.integers(2, 150))
    edge = int(random.integers(1, shape[axis]))
    sizes = [*shape[:axis], edge, *shape[axis + 1 :]]
    padded = [*shape[:axis], edge + shape[axis], *shape[axis + 1 :]]
    starts = [int(dim == axis) for dim in range(len(shape))]
    loops = [f"d{dim}" for dim in range(len(shape))]
    backwards = [*loops[:axis], f"-d{axis} + {edge - 1}", *loops[axis + 1 :]]
    x, part, out = (tensor(kind, *each) for each in (shape, sizes, padded))
    source = f"""func.func @main(%a: {x}) -> {out} {{
  %part = tensor.extract_slice %a{starts} {sizes} {[1] * len(shape)} : {x} to {part}
  %empty = tensor.empty() : {part}
  %edge = linalg.generic {{{_maps(loops, 1, backwards)}}}
      ins(%part : {part}) outs(%empty : {part}) {{
  ^bb0(%e: {kind}, %o: {kind}):
    linalg.yield %e : {kind}
  }} -> {part}
  %out = tensor.concat dim({axis}) %edge, %a : ({part}, {x}) -> {out}
  return %out : {out}
}}
"""

    def reference(a: Array) -> Array:
        return np.pad(a, [(edge * (dim == axis), 0) for dim in range(a.ndim)], mode="reflect")

    return Program(name, source, (_draw(kind, shape),), reference, TOLERANCE["exact"])


def _drawn(random: np.random.Generator) -> tuple[str, list[int]]:
    """Returns a type, and the shape of a tensor."""
    shape = [int(random.choice([1, 2, 5, 16, 33])) for _ in range(random.integers(3))]
    return _KINDS[random.integers(len(_KINDS))], [*shape, int(random.choice([2, 9, 24, 64, 100]))]


def _draw(kind: str, shape: list[int]) -> Input:
    return integers(kind, *shape, low=-6, high=7)


def _maps(loops: list[str], count: int, *others: list[str]) -> str:
    """Returns the attributes of an operation on elements whose last operands the loops index."""
    names = ", ".join(f"d{dim}" for dim in range(len(loops)))
    maps = (f"affine_map<({names}) -> ({', '.join(each)})>" for each in (*others, *[loops] * count))
    kinds = ", ".join(['"parallel"'] * len(loops))
    return f"indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]"
