# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions and matmuls whose sizes only the program knows, run with sizes of all kinds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bankwise.bench.reference_attention import attention
from bankwise.emulator.counters import Counted
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.tiles.tile_dynamic_matmuls import TileDynamicMatmuls
from bankwise.passes.tiles.use_matrix_instructions import UseMatrixInstructions
from bankwise.runtime.dtypes import dtype_of
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags

TOLERANCE = {"f16": 3e-3, "bf16": 3e-2, "f32": 2e-6}


def run(
    text: str, arch: str, inputs: Sequence[np.ndarray], mode: str = "auto/fast"
) -> tuple[EmulatedRun, DecisionLog]:
    log = DecisionLog()
    return run_emulated(text, target_flags(arch), mode, inputs, decisions=log), log


def check_matrix_instructions(done: EmulatedRun, log: DecisionLog, name: str) -> None:
    assert [each.pass_name for each in log if each.action is Action.RETILE] == [name]
    assert done.counters[Counted.MFMA] > 0
    assert done.counters[Counted.CONFLICTS] == 0
    assert log.conflict_cycles_left() == 0


def attention_source(
    shapes: Sequence[str], maps: Sequence[str], rows: int, loops: str, element: str
) -> str:
    """Returns an attention of Q, K, V, perhaps a mask, and the output.

    Args:
        shapes: of them, with `?` for what the program knows.
        maps: the loops that index each of them.
        rows: the dimension of Q that has the rows.
    """
    kinds = [f"tensor<{each}>" for each in shapes]
    names = ["%q", "%k", "%v", "%mask"][: len(kinds) - 1]
    arguments = ", ".join(f"{name}: {kind}" for name, kind in zip(names, kinds, strict=False))
    names.insert(3, "%scale")
    types = [*kinds[:3], element, *kinds[3:-1]]
    affine = ", ".join(f"affine_map<{loops} -> {each}>" for each in (*maps[:3], "()", *maps[3:]))
    count = shapes[-1].count("?")
    dims = ", ".join(f"%d{number}" for number in range(count))
    given = [place for place, size in enumerate(shapes[-1].split("x")) if size == "?"]
    asked = "\n".join(
        f"%c{n} = arith.constant {rows if place == given[-1] else place} : index\n"
        f"%d{n} = tensor.dim %q, %c{n} : {kinds[0]}"
        for n, place in enumerate(given)
    )
    return f"""
      func.func @f({arguments}) -> {kinds[-1]} {{
        {asked}
        %scale = arith.constant 0.125 : {element}
        %e = tensor.empty({dims}) : {kinds[-1]}
        %r = iree_linalg_ext.attention <{{indexing_maps = [{affine}]}}>
            ins({", ".join(names)} : {", ".join(types)}) outs(%e : {kinds[-1]}) {{
          ^bb0(%x: f32):
            iree_linalg_ext.yield %x : f32
        }} -> {kinds[-1]}
        return %r : {kinds[-1]}
      }}"""


BATCHED = ("(b, m, d)", "(b, k, d)", "(b, k, n)", "(b, m, k)", "(b, m, n)")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("arch", "sizes", "dtype", "mask"),
    [
        ("gfx942", (77, 77, 64, 64), "f16", ""),
        ("gfx950", (50, 131, 72, 40), "bf16", "bf16"),
        ("gfx942", (1, 5, 64, 64), "f16", ""),
        ("gfx942", (33, 20, 75, 75), "f16", "i1"),
        ("gfx942", (40, 257, 64, 64), "f32", ""),
    ],
)
def test_an_attention_takes_any_number_of_rows_and_keys(
    arch: str, sizes: tuple[int, int, int, int], dtype: str, mask: str
) -> None:
    rows, keys, head, columns = sizes
    shapes = [f"?x?x{each}x{dtype}" for each in (head, head, columns)]
    masks, maps = ([f"?x?x?x{mask}"] if mask else []), [*BATCHED]
    if not mask:
        del maps[3]
    text = attention_source(
        [*shapes, *masks, f"?x?x{columns}x{dtype}"], maps, 1, "(b, m, n, d, k)", dtype
    )
    random = np.random.default_rng(3)
    given = [(2, rows, head), (2, keys, head), (2, keys, columns)]
    inputs = [random.standard_normal(each).astype(dtype_of(dtype)) for each in given]
    if mask == "i1":
        inputs.append(random.random((2, rows, keys)) < 0.7)
    elif mask:
        inputs.append(random.standard_normal((2, rows, keys)).astype(dtype_of(mask)))
    done, log = run(text, arch, inputs)
    q, k, v, *more = (each if each.dtype == bool else each.astype(np.float64) for each in inputs)
    expected = attention(q, k, v, 0.125, *more)
    assert np.abs(done.outputs[0].astype(np.float64) - expected).max() < TOLERANCE[dtype]
    check_matrix_instructions(done, log, UseMatrixInstructions.name)


def test_rows_of_a_group_and_of_a_sequence_are_rows() -> None:
    shapes = ("?x2x3x64xf16", "?x2x64xf16", "?x2x64xf16", "?x2x3x64xf16")
    maps = ("(m, b, g, d)", "(k, b, d)", "(k, b, n)", "(m, b, g, n)")
    text = attention_source(shapes, maps, 0, "(b, g, m, n, d, k)", "f16")
    random = np.random.default_rng(4)
    given = [(37, 2, 3, 64), (45, 2, 64), (45, 2, 64)]
    inputs = [random.standard_normal(each).astype(np.float16) for each in given]
    done, log = run(text, "gfx942", inputs)
    q, k, v = (each.astype(np.float64) for each in inputs)
    rows = q.transpose(1, 2, 0, 3).reshape(2, 3 * 37, 64)
    expected = attention(rows, k.transpose(1, 0, 2), v.transpose(1, 0, 2), 0.125)
    found = done.outputs[0].astype(np.float64).transpose(1, 2, 0, 3).reshape(2, 3 * 37, 64)
    assert np.abs(found - expected).max() < TOLERANCE["f16"]
    check_matrix_instructions(done, log, UseMatrixInstructions.name)


def test_rows_of_memory_may_have_a_length_that_only_the_program_knows() -> None:
    shapes = ("2x?x64xf16", "2x64x?xf16", "2x64x?xf16", "2x?x64xf16")
    maps = ("(b, m, d)", "(b, d, k)", "(b, n, k)", "(b, m, n)")
    text = attention_source(shapes, maps, 1, "(b, m, n, d, k)", "f16")
    random = np.random.default_rng(5)
    given = [(2, 37, 64), (2, 64, 45), (2, 64, 45)]
    inputs = [random.standard_normal(each).astype(np.float16) for each in given]
    done, log = run(text, "gfx942", inputs)
    q, k, v = (each.astype(np.float64) for each in inputs)
    expected = attention(q, k.transpose(0, 2, 1), v.transpose(0, 2, 1), 0.125)
    assert np.abs(done.outputs[0].astype(np.float64) - expected).max() < TOLERANCE["f16"]
    check_matrix_instructions(done, log, UseMatrixInstructions.name)


@pytest.mark.parametrize(("rows", "keys"), [(0, 40), (40, 0)])
def test_there_may_be_no_rows_and_no_keys(rows: int, keys: int) -> None:
    maps = [each for each in BATCHED if each != "(b, m, k)"]
    text = attention_source(["2x?x64xf16"] * 4, maps, 1, "(b, m, n, d, k)", "f16")
    inputs = [np.ones((2, each, 64), np.float16) for each in (rows, keys, keys)]
    done, _ = run(text, "gfx942", inputs)
    assert done.outputs[0].shape == (2, rows, 64)
    assert np.isnan(done.outputs[0]).all()


def matmul_source(shapes: Sequence[str], maps: Sequence[str], loops: str, epilogue: bool) -> str:
    """Returns C = A * B, and where asked for relu(C + bias) with a bias for each column.

    The last of the loops is summed; sizes of C that the program knows come first in A.
    """
    a, b, c = (f"tensor<{each}>" for each in shapes)
    element, total = (each.rsplit("x", 1)[1] for each in (shapes[0], shapes[2]))
    whole = total.startswith("i")
    known = shapes[2].split("x")[:-1]
    dims = [place for place, size in enumerate(known) if size == "?"]
    asked = "\n".join(
        f"%c{d} = arith.constant {d} : index\n%d{d} = tensor.dim %a, %c{d} : {a}" for d in dims
    )
    widen = f"arith.ext{'si' if whole else 'f'} %x : {element} to {total}"
    widen_y = f"arith.ext{'si' if whole else 'f'} %y : {element} to {total}"
    same = element == total
    kind, parallel = "i" if whole else "f", ", ".join(['"parallel"'] * (loops.count(",")))
    affine = ", ".join(f"affine_map<{loops} -> {each}>" for each in maps)
    body = "" if same else f"%xw = {widen}\n%yw = {widen_y}\n"
    x, y = ("%x", "%y") if same else ("%xw", "%yw")
    rank = len(known)
    outer = ", ".join(f"i{d}" for d in range(rank))
    bias = f"tensor<{known[-1]}x{total}>"
    added = f"""
        %s = linalg.generic {{indexing_maps = [affine_map<({outer}) -> ({outer})>,
              affine_map<({outer}) -> (i{rank - 1})>, affine_map<({outer}) -> ({outer})>],
              iterator_types = [{", ".join(['"parallel"'] * rank)}]}}
            ins(%r, %bias : {c}, {bias}) outs(%e : {c}) {{
          ^bb0(%p: {total}, %q: {total}, %o: {total}):
            %u = arith.add{kind} %p, %q : {total}
            %w = arith.maximumf %u, %zero : {total}
            linalg.yield %w : {total}
        }} -> {c}"""
    return f"""
      func.func @f(%a: {a}, %b: {b}{f", %bias: {bias}" if epilogue else ""}) -> {c} {{
        {asked}
        %zero = arith.constant {"0" if whole else "0.0"} : {total}
        %e = tensor.empty({", ".join(f"%d{d}" for d in dims)}) : {c}
        %z = linalg.fill ins(%zero : {total}) outs(%e : {c}) -> {c}
        %r = linalg.generic {{indexing_maps = [{affine}],
              iterator_types = [{parallel}, "reduction"]}}
            ins(%a, %b : {a}, {b}) outs(%z : {c}) {{
          ^bb0(%x: {element}, %y: {element}, %t: {total}):
            {body}%p = arith.mul{kind} {x}, {y} : {total}
            %u = arith.add{kind} %t, %p : {total}
            linalg.yield %u : {total}
        }} -> {c}{added if epilogue else ""}
        return {"%s" if epilogue else "%r"} : {c}
      }}"""


def numbers(shape: Sequence[int], dtype: str) -> np.ndarray:
    random = np.random.default_rng([len(shape), *shape])
    if dtype == "i8":
        return random.integers(-128, 128, shape).astype(np.int8)
    return random.standard_normal(shape).astype(dtype_of(dtype))


@pytest.mark.parametrize("rows", [1, 70])
@pytest.mark.parametrize(
    ("arch", "dtype", "total", "transposed", "summed", "epilogue"),
    [
        ("gfx942", "f16", "f32", False, 128, True),
        ("gfx950", "bf16", "f32", True, 100, False),
        ("gfx942", "f32", "f32", True, 64, True),
        ("gfx942", "i8", "i32", True, 96, False),
    ],
)
def test_a_matmul_takes_any_number_of_rows(
    rows: int, arch: str, dtype: str, total: str, transposed: bool, summed: int, epilogue: bool
) -> None:
    columns = 90
    b_shape = (columns, summed) if transposed else (summed, columns)
    shapes = [f"?x{summed}x{dtype}", f"{b_shape[0]}x{b_shape[1]}x{dtype}", f"?x{columns}x{total}"]
    maps = ["(m, k)", "(n, k)" if transposed else "(k, n)", "(m, n)"]
    inputs = [numbers((rows, summed), dtype), numbers(b_shape, dtype)]
    if epilogue:
        inputs.append(numbers((columns,), total))
    done, log = run(matmul_source(shapes, maps, "(m, n, k)", epilogue), arch, inputs)
    a, b, *bias = (each.astype(np.float64) for each in inputs)
    expected = a @ (b.T if transposed else b)
    if epilogue:
        expected = np.maximum(expected + bias[0], 0)
    found = done.outputs[0].astype(np.float64)
    assert np.abs(found - expected).max() <= (0 if dtype == "i8" else 1e-4)
    check_matrix_instructions(done, log, TileDynamicMatmuls.name)


def test_rows_of_a_matmul_may_be_those_of_several_loops() -> None:
    shapes, maps = ("?x?x64xf16", "64x64xf16", "?x?x64xf32"), ("(b, m, k)", "(k, n)", "(b, m, n)")
    a, b = numbers((3, 37, 64), "f16"), numbers((64, 64), "f16")
    done, log = run(matmul_source(shapes, maps, "(b, m, n, k)", False), "gfx942", [a, b])
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(done.outputs[0] - expected).max() < 1e-4
    check_matrix_instructions(done, log, TileDynamicMatmuls.name)


@pytest.mark.parametrize("length", [1, 37])
def test_rows_that_are_a_multiple_of_a_small_number_are_one_loop(length: int) -> None:
    """IREE makes two dimensions of the rows, one of 2 rows: those of 2 sequences."""
    text = """
      func.func @f(%a: tensor<2x?x64xf16>, %b: tensor<64x64xf16>) -> tensor<?x64xf32> {
        %c0 = arith.constant 0 : index
        %zero = arith.constant 0.0 : f32
        %x = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x?x64xf16> into tensor<?x64xf16>
        %rows = tensor.dim %x, %c0 : tensor<?x64xf16>
        %e = tensor.empty(%rows) : tensor<?x64xf32>
        %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
        %r = linalg.matmul ins(%x, %b : tensor<?x64xf16>, tensor<64x64xf16>)
            outs(%z : tensor<?x64xf32>) -> tensor<?x64xf32>
        return %r : tensor<?x64xf32>
      }"""
    a, b = numbers((2, length, 64), "f16"), numbers((64, 64), "f16")
    done, log = run(text, "gfx942", [a, b])
    expected = a.astype(np.float64).reshape(-1, 64) @ b.astype(np.float64)
    assert np.abs(done.outputs[0] - expected).max() < 1e-4
    check_matrix_instructions(done, log, TileDynamicMatmuls.name)


def test_how_much_a_matmul_sums_may_be_dynamic() -> None:
    shapes, maps = ("64x?xf16", "?x64xf16", "64x64xf32"), ("(m, k)", "(k, n)", "(m, n)")
    text = matmul_source(shapes, maps, "(m, n, k)", False)
    for summed in (0, 1, 77):
        a, b = numbers((64, summed), "f16"), numbers((summed, 64), "f16")
        done, log = run(text, "gfx942", [a, b])
        expected = a.astype(np.float64) @ b.astype(np.float64)
        assert np.abs(done.outputs[0] - expected).max() < 1e-4
        if summed:
            check_matrix_instructions(done, log, TileDynamicMatmuls.name)


def test_sums_keep_their_order_at_exact() -> None:
    shapes, maps = ("?x64xf16", "64x64xf16", "?x64xf32"), ("(m, k)", "(k, n)", "(m, n)")
    text = matmul_source(shapes, maps, "(m, n, k)", False)
    inputs = [numbers((5, 64), "f16"), numbers((64, 64), "f16")]
    (exact, log), (stock, _) = (
        run(text, "gfx942", inputs, mode) for mode in ("auto/exact", "stock")
    )
    assert [each.action for each in log if each.pass_name == TileDynamicMatmuls.name] == [
        Action.KEEP
    ]
    assert exact.outputs[0].tobytes() == stock.outputs[0].tobytes()
