# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tuning/fragments/join_stores.py: what is stored where, lane by lane, before and behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import pytest
from iree.compiler import ir

from bankwise.dialect_utils.gpu_target import Launch, launch_of
from bankwise.dialect_utils.index.lane_values import LaneEvaluator, constant
from bankwise.dialect_utils.memory.memref_types import static_strides, type_of
from bankwise.dialect_utils.operations import defining_operation, operations_in
from bankwise.tuning.fragments.join_stores import JoinStores

from ...functions import Parsed, launched, parse, run

THREADS = 64
Word = tuple[str, int, int, int]
"""A word of a value: the value, the wave, the lane, and which of its words."""


def memory_after(parsed: Parsed, workgroup: int) -> dict[int, Word]:
    """Returns what each word of the memory holds, by its number, when all lanes have stored."""
    launch = launch_of(parsed.function)
    assert launch is not None
    given = {each.results[0]: constant(workgroup) for each in parsed.operations("gpu.block_id")}
    evaluator = LaneEvaluator(launch, given)
    known: dict[ir.Value, np.ndarray] = {}
    for number, argument in enumerate(parsed.function.regions[0].blocks[0].arguments):
        known[argument] = _words(f"%{number}", argument.type, launch)
    memory: dict[int, Word] = {}
    for operation in operations_in(parsed.function):
        found = _computed(operation, known, evaluator, launch)
        if found is not None:
            known[operation.results[0]] = found
        if operation.name == "vector.store":
            for place, word in _stored(operation, known, evaluator, launch):
                assert place not in memory
                memory[place] = word
    return memory


def _words(name: str, kind: ir.Type, launch: Launch) -> np.ndarray:
    """Returns the words of a vector in all lanes [waves, lanes, words]."""
    vector = ir.VectorType(kind)
    count = vector.shape[0] * (32 if "32" in str(vector.element_type) else 16) // 32
    words = np.empty((launch.waves, launch.subgroup_size, count), dtype=object)
    for place in np.ndindex(words.shape):
        words[place] = (name, *place)
    return words


def _computed(
    operation: ir.Operation,
    known: dict[ir.Value, np.ndarray],
    evaluator: LaneEvaluator,
    launch: Launch,
) -> np.ndarray | None:
    operands = list(operation.operands)
    if operation.name == "vector.bitcast":
        return known[operands[0]]
    if operation.name == "vector.extract":
        (number,) = ir.DenseI64ArrayAttr(operation.attributes["static_position"])
        return known[operands[0]][..., number : number + 1]
    if operation.name == "vector.from_elements":
        return np.concatenate([known[each] for each in operands], axis=-1)
    if operation.name == "arith.select" and operands[1] in known:
        condition = evaluator.known(operands[0]).full(launch)[..., None]
        return np.where(condition, known[operands[1]], known[operands[2]])
    if operation.name == "gpu.shuffle":
        distance, width = (evaluator.known(each).uniform for each in operands[1:])
        assert width == launch.subgroup_size and "xor" in str(operation.attributes["mode"])
        assert distance
        return known[operands[0]][:, np.arange(launch.subgroup_size) ^ distance]
    return None


def _stored(
    store: ir.Operation,
    known: dict[ir.Value, np.ndarray],
    evaluator: LaneEvaluator,
    launch: Launch,
) -> Iterator[tuple[int, Word]]:
    value, memory, *indices = store.operands
    strides, words = static_strides(type_of(memory)), known[value]
    assert strides is not None
    element = np.zeros(words.shape[:2], np.int64)
    for each, stride in zip(indices, strides, strict=True):
        element = element + evaluator.known(each).full(launch) * stride
    length = ir.VectorType(value.type).shape[0]
    around = defining_operation(store.parent.operands[0]) if store.parent.name == "scf.if" else None
    holds = np.ones(words.shape[:2])
    if around is not None:
        holds = evaluator.known(around.results[0]).full(launch)
    for wave, lane, number in np.ndindex(words.shape):
        if holds[wave, lane]:
            place = element[wave, lane] * words.shape[-1] // length
            assert element[wave, lane] % length == 0, "no vector lies there"
            yield int(place) + number, cast(Word, words[wave, lane, number])


def kernel(
    element: str = "f16",
    columns: Sequence[int] = (0, 8, 16, 24),
    row: str = "8 * w + r",
    column: str = "2 * q",
    digits: str = "2, 8, 4",
    shape: str = "64x64",
    before: str = "",
    around: str = "",
    computed: str = "",
    read: str = "",
    threads: int = THREADS,
) -> Parsed:
    """Returns a function whose lanes store two elements of a row for each number of `columns`.

    Args:
        row, column: where, by the digits w, r and q of a thread's number, and by the workgroup's b.
        digits: how many there are of each.
        before, around: arithmetic, and the condition under which they are stored.
        computed: what is done with their values before that.
        read: what is done with the memory behind.
    """
    arguments = ", ".join(f"%v{n}: vector<2x{element}>" for n in range(len(columns)))
    kind = f"memref<{shape}x{element}, #hal.descriptor_type<storage_buffer>>"
    places = "affine_map<(w, r, q, b) -> ({})>(%d#0, %d#1, %d#2, %block)"
    stored = "%w" if computed else "%v"
    stores = "".join(
        f"""
      {computed and f"%w{n} = {computed} %v{n} : vector<2x{element}>"}
      %c{n} = affine.apply {places.format(f"{column} + {each}")}
      vector.store {stored}{n}, %memory[%row, %c{n}] : {kind}, vector<2x{element}>"""
        for n, each in enumerate(columns)
    )
    if around:
        stores = f"scf.if {around} {{{stores}\n }}"
    return parse(f"""
    func.func @f({arguments}) attributes {{{launched(f"{threads}, 1, 1", wave=32)}}} {{
      %zero = arith.constant 0 : index
      %last = arith.constant 12 : index
      %t = gpu.thread_id x upper_bound {THREADS}
      %block = gpu.block_id x upper_bound 2
      %binding = hal.interface.binding.subspan
        layout(<bindings = [#hal.pipeline.binding<storage_buffer>]>) binding(0) alignment(64)
        offset(%zero) : {kind}
      %memory = memref.assume_alignment %binding, 64 : {kind}
      %d:3 = affine.delinearize_index %t into ({digits}) : index, index, index
      %row = affine.apply {places.format(row)}
      {before}
      {stores}
      {read.format(kind=kind)}
      return
    }}""")


def widths(parsed: Parsed) -> list[int]:
    stores = parsed.operations("vector.store")
    return sorted(ir.VectorType(each.operands[0].type).shape[0] for each in stores)


UP_TO_LAST = "%same = arith.cmpi ule, %row, %last : index"
JOINED = {
    "f16": ({}, [8]),
    "bf16": ({"element": "bf16"}, [8]),
    "f32": ({"element": "f32", "columns": (0, 8)}, [4]),
    "two stores of f16": ({"columns": (0, 8)}, [4]),
    "one is left": ({"columns": (0, 8, 16)}, [2, 4]),
    "two of six are left of the second exchange": ({"columns": range(0, 48, 8)}, [4, 8]),
    "rows of workgroups": ({"row": "8 * w + r + 16 * b"}, [8]),
    "columns of workgroups": ({"column": "2 * q + 32 * b"}, [8]),
    "under a condition": ({"before": UP_TO_LAST, "around": "%same"}, [8]),
    "neighbours are other lanes": (
        {"digits": "2, 2, 16", "row": "16 * w + q", "column": "2 * r", "columns": (0, 4)},
        [4],
    ),
}
ALONE = {
    "one store": {"columns": (0,)},
    "a warp fills a line": {
        "digits": "2, 1, 32",
        "row": "w + r",
        "columns": (0, 64),
        "shape": "64x128",
    },
    "no lane has neighbours": {"column": "4 * q"},
    "rows begin at no multiple of 16 bytes": {"shape": "64x65"},
    "every second row begins at a multiple of 8 bytes": {
        "row": "16 * w + 2 * r + 1",
        "shape": "64x66",
    },
    "columns begin at no multiple": {"column": "2 * q + 2"},
    "those of some workgroups begin at none": {"column": "2 * q + 2 * b"},
    "neighbours are in other rows": {"row": "8 * w + r + q"},
    "a condition may hold in some of them": {
        "before": "%same = arith.cmpi ule, %t, %last : index",
        "around": "%same",
    },
}
KEPT = {
    "two of them store to the same place": {"columns": (0, 1)},
    "a warp of the workgroup is not full": {"threads": 48},
    "what they store is computed under a condition": {
        "before": UP_TO_LAST,
        "around": "%same",
        "computed": "arith.negf",
    },
    "they are executed where a condition does not hold": {
        "before": UP_TO_LAST,
        "around": "%same {} else",
    },
    "something else accesses the same memory": {
        "read": "%x = memref.load %memory[%zero, %zero] : {kind}"
    },
    "their binding is there more than once": {
        "read": """%more = hal.interface.binding.subspan
            layout(<bindings = [#hal.pipeline.binding<storage_buffer>]>) binding(0) alignment(64)
            offset(%zero) : {kind}"""
    },
    "it is not known in which lanes their condition holds": {
        "before": "%i = arith.index_cast %t : index to i32 %bit = arith.trunci %i : i32 to i1",
        "around": "%bit",
    },
}


@pytest.mark.parametrize("case", JOINED)
def test_each_lane_stores_more_at_once(case: str):
    arguments, expected = JOINED[case]
    before, behind = kernel(**arguments), kernel(**arguments)
    run(behind, JoinStores(), target="sm_80")
    assert widths(behind) == expected
    for workgroup in range(2):
        assert memory_after(behind, workgroup) == memory_after(before, workgroup)


@pytest.mark.parametrize("case", ALONE)
def test_lanes_without_neighbours_keep_their_stores(case: str):
    parsed = kernel(**ALONE[case])
    text = str(parsed)
    assert run(parsed, JoinStores(), target="sm_80").messages == []
    assert str(parsed) == text


@pytest.mark.parametrize("reason", KEPT)
def test_stores_stay_where_lanes_may_see_the_difference(reason: str):
    parsed = kernel(**KEPT[reason])
    text = str(parsed)
    (said,) = run(parsed, JoinStores(), target="sm_80").messages
    assert said.endswith(reason)
    assert str(parsed) == text
