# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of f32 whose lanes multiply tiles of their own."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.compile import compile
from bankwise.iree_plugin.pipeline_edit import PipelineEdit
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.tiles.tile_dynamic_matmuls import TileDynamicMatmuls
from bankwise.passes.tiles.tile_matmuls_by_lanes import TileMatmulsByLanes
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.kernels import Matmul

from .test_dynamic_sizes import matmul_source, numbers

# An emulated GPU has matrix instructions for f32, so that no level asks for the pass there.
EDITS = [PipelineEdit.replace(TileDynamicMatmuls.name, TileMatmulsByLanes(everywhere=True))]
RETILED = [TileMatmulsByLanes.name]


def retiled(log: DecisionLog) -> list[str]:
    return [each.pass_name for each in log if each.action is Action.RETILE]


@pytest.mark.parametrize("rows", [1, 70])
@pytest.mark.parametrize(
    ("arch", "maps", "shapes", "epilogue"),
    [
        ("gfx942", ("(m, k)", "(k, n)"), ("?x64xf32", "64x90xf32"), True),
        ("gfx950", ("(m, k)", "(n, k)"), ("?x37xf32", "90x37xf32"), False),
    ],
)
def test_lanes_take_any_number_of_rows(
    rows: int, arch: str, maps: tuple[str, str], shapes: tuple[str, str], epilogue: bool
) -> None:
    text = matmul_source([*shapes, "?x90xf32"], [*maps, "(m, n)"], "(m, n, k)", epilogue)
    sizes = [[int(n) for n in each.replace("?", str(rows)).split("x")[:2]] for each in shapes]
    inputs = [numbers(each, "f32") for each in sizes]
    a, b = (each.astype(np.float64) for each in inputs)
    expected = a @ (b.T if maps[1] == "(n, k)" else b)
    if epilogue:
        inputs.append(numbers((90,), "f32"))
        expected = np.maximum(expected + inputs[2], 0)
    log = DecisionLog()
    flags = target_flags(arch)
    done = run_emulated(text, flags, "auto/fast", inputs, edits=EDITS, decisions=log)
    assert np.abs(done.outputs[0] - expected).max() < 2e-5
    assert retiled(log) == RETILED
    assert done.counters[Counted.MFMA] == 0
    assert done.counters[Counted.CONFLICTS] == 0


@pytest.mark.parametrize("summed", [1, 45])
@pytest.mark.parametrize("first", ["m", "k"])
def test_how_much_lanes_sum_may_be_dynamic(summed: int, first: str) -> None:
    left, order = ("64x?", "(m, k)") if first == "m" else ("?x64", "(k, m)")
    shapes, maps = (f"{left}xf32", "?x80xf32", "64x80xf32"), (order, "(k, n)", "(m, n)")
    text, log = matmul_source(shapes, maps, "(m, n, k)", False), DecisionLog()
    a, b = numbers((64, summed), "f32"), numbers((summed, 80), "f32")
    given = [a if first == "m" else np.ascontiguousarray(a.T), b]
    flags = target_flags("gfx942")
    done = run_emulated(text, flags, "auto/fast", given, edits=EDITS, decisions=log)
    assert np.abs(done.outputs[0] - a.astype(np.float64) @ b).max() < 2e-5
    assert retiled(log) == RETILED


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sizes", [(1001, 777, 503), (1000, 1000, 1000), (40, 700, 50)])
def test_sizes_that_no_tile_divides_are_tiled_on_nvidia_gpus(
    sizes: tuple[int, int, int], transposed: bool
) -> None:
    log = DecisionLog()
    source = Matmul(*sizes, "f32", transposed).source()
    code = compile(source, target_flags("sm_80"), "auto/fast", decisions=log).decode("latin-1")
    assert retiled(log) == RETILED
    assert log.conflict_cycles_left() == 0
    assert "cp.async" in code
    assert "ld.shared.v4.b32" in code


def test_sizes_that_a_tile_divides_keep_their_bits() -> None:
    log = DecisionLog()
    source = Matmul(256, 256, 256, "f32").source()
    compile(source, target_flags("sm_80"), "auto/fast", decisions=log)
    assert RETILED[0] not in retiled(log)
