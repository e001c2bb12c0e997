# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions and matmuls whose sizes only the program knows, run with sizes of all kinds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bankwise import compile as compile_mlir
from bankwise.bench.program_families.attention import Attention, plain_sizes
from bankwise.bench.program_families.matmuls import Contraction
from bankwise.passes.decisions import Action
from bankwise.sweep.cases import target_flags
from bankwise.tuning.attention.use_matrix_instructions import UseMatrixInstructions
from bankwise.tuning.matmuls.tile_dynamic_matmuls import TileDynamicMatmuls
from bankwise.tuning.programs.specialize_sizes import SpecializeSizes

from .program_runs import run_again, run_program

ATTENTIONS, MATMULS = UseMatrixInstructions.name, TileDynamicMatmuls.name


def batched(rows: int, keys: int, head: int, columns: int, dtype: str, mask: str = "") -> Attention:
    """Returns an attention that is told its batch, its rows and its keys, with a type of mask."""
    sizes = {"b": 2, "m": rows, "n": columns, "k1": head, "k2": keys}
    dims = "b m k2" if mask else ""
    return Attention("", dtype, sizes, mask=dims, mask_dtype=mask or dtype, dynamic="b m k2")


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("arch", "attention"),
    [
        ("gfx942", batched(77, 77, 64, 64, "f16")),
        ("gfx950", batched(50, 131, 72, 40, "bf16", "bf16")),
        # Rows are those of a group and of a sequence.
        (
            "gfx942",
            Attention(
                *("", "f16", {"b": 2, "g": 3, "m": 37, "n": 64, "k1": 64, "k2": 45}),
                *("m b g k1", "k2 b k1", "k2 b n", "m b g n"),
                dynamic="m k2",
            ),
        ),
        ("gfx942", batched(33, 20, 75, 75, "f16", "i1")),
        ("gfx942", batched(40, 257, 64, 64, "f32")),
        ("gfx942", batched(1, 5, 64, 64, "f16")),
        # Rows of memory have a length that only the program knows.
        (
            "gfx942",
            replace(batched(37, 45, 64, 64, "f16"), key="b k1 k2", value="b n k2", dynamic="m k2"),
        ),
    ],
)
def test_an_attention_takes_any_number_of_rows_and_keys(arch: str, attention: Attention) -> None:
    run_program(attention.program(), arch).assert_tiled(ATTENTIONS)


SHARED = [
    Attention("", "f16", plain_sizes(1, 2, 32, 77), dynamic="k2"),
    Attention("", "f32", plain_sizes(1, 1, 16, 600), dynamic="k2"),
    Attention("", "bf16", plain_sizes(2, 3, 16, 5), key="b k1 k2", value="b n k2", dynamic="k2"),
    Attention("", "f16", plain_sizes(2, 3, 16, 130), dynamic="b m k2"),
]


@pytest.mark.sampled("attention", "mode", every=4)
@pytest.mark.parametrize("mode", ["auto/layout", "auto/exact", "none", "pad"])
@pytest.mark.parametrize("attention", SHARED, ids=lambda each: f"{each.dtype}_{each.sizes['k2']}")
def test_lanes_share_any_number_of_keys(attention: Attention, mode: str) -> None:
    """In stock each lane makes a softmax of its own keys."""
    program = attention.program()
    assert run_again(program, mode=mode).error <= program.tolerance


@pytest.mark.parametrize("rows", [32, 33])
def test_short_sequences_have_a_kernel_of_their_own(rows: int) -> None:
    attention = replace(batched(rows, 45, 64, 64, "f16"), dynamic="m k2").program()
    ran = run_again(attention, changing=[SpecializeSizes(bound=32)])
    assert ran.error <= attention.tolerance
    assert ran.actions_of(ATTENTIONS) == [Action.RETILE] * 2
    (record,) = ran.run.records
    assert record.kernel.name.endswith("_0") == (rows > 32)


@pytest.mark.parametrize(("rows", "keys"), [(0, 40), (40, 0)])
def test_there_may_be_no_rows_and_no_keys(rows: int, keys: int) -> None:
    program = replace(batched(rows, keys, 64, 64, "f16"), dynamic="m k2").program()
    inputs = [np.ones((2, each, 64), np.float16) for each in (rows, keys, keys)]
    (output,) = run_again(program, inputs=inputs).run.outputs
    assert output.shape == (2, rows, 64)
    assert np.isnan(output).all()


@pytest.mark.sampled("rows", "dtype", every=4)
@pytest.mark.parametrize("rows", [1, 70])
@pytest.mark.parametrize(
    ("arch", "dtype", "transposed", "summed", "epilogue"),
    [
        ("gfx942", "f16", False, 128, True),
        ("gfx950", "bf16", True, 100, False),
        ("gfx942", "f32", True, 64, True),
        ("gfx942", "i8", True, 96, False),
    ],
)
def test_a_matmul_takes_any_number_of_rows(
    rows: int, arch: str, dtype: str, transposed: bool, summed: int, epilogue: bool
) -> None:
    matmul = Contraction(
        *("", dtype, {"m": rows, "n": 90, "k": summed}),
        right="n k" if transposed else "k n",
        epilogue=("bias", "relu") if epilogue else (),
        dynamic="m",
    )
    run_again(matmul.program(), arch).assert_tiled(MATMULS)


def test_a_program_s_matmul_is_planned_where_descriptors_may_give_operands() -> None:
    matmul = Contraction("", "f16", {"m": 70, "n": 128, "k": 64}, dynamic="m").program()
    assert b"mma.sync" in compile_mlir(matmul.source, target_flags("sm_90a"), "auto/fast")


@pytest.mark.parametrize("rows", [0, 1, 32, 33, 70])
def test_few_rows_have_a_kernel_of_their_own(rows: int) -> None:
    matmul = Contraction("", "f16", {"m": rows, "n": 90, "k": 64}, dynamic="m").program()
    ran = run_again(matmul, changing=[SpecializeSizes(bound=32)])
    assert ran.error <= matmul.tolerance
    assert ran.actions_of(MATMULS) == [Action.RETILE] * 2
    assert [each.kernel.name.endswith("_0") for each in ran.run.records] == [rows > 32][:rows]


def test_rows_of_a_matmul_may_be_those_of_several_loops() -> None:
    sizes = {"s": 3, "m": 37, "n": 64, "k": 64}
    matmul = Contraction("", "f16", sizes, "s m k", output="s m n", dynamic="s m")
    run_program(matmul.program()).assert_tiled(MATMULS)


@pytest.mark.parametrize("length", [1, 37])
def test_rows_that_are_a_multiple_of_a_small_number_are_one_loop(length: int) -> None:
    """IREE makes two dimensions of the rows, one of 2 rows: those of 2 sequences."""
    source = """
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
    matmul = Contraction("", "f16", {"m": 2 * length, "n": 64, "k": 64}).program()
    a, b = matmul.draw_inputs()
    program = replace(
        matmul, source=source, reference=lambda a, b: matmul.reference(a.reshape(-1, 64), b)
    )
    run_again(program, inputs=[a.reshape(2, length, 64), b]).assert_tiled(MATMULS)


@pytest.mark.parametrize("summed", [0, 1, 77])
def test_how_much_a_matmul_sums_may_be_dynamic(summed: int) -> None:
    matmul = Contraction("", "f16", {"m": 64, "n": 64, "k": summed}, dynamic="k").program()
    ran = run_again(matmul)
    if summed:
        ran.assert_tiled(MATMULS)
    else:
        assert ran.error == 0


def test_sums_keep_their_order_at_exact() -> None:
    matmul = Contraction("", "f16", {"m": 5, "n": 64, "k": 64}, dynamic="m").program()
    exact, stock = (run_program(matmul, mode=mode) for mode in ("auto/exact", "stock"))
    assert exact.actions_of(MATMULS) == [Action.KEEP]
    assert exact.bits == stock.bits
