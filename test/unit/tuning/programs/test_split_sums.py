# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tuning/programs/split_sums: equal products are decided once, and by few of all tiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from bankwise.dialect_utils.diagnostics import DiagnosticSink
from bankwise.passes.base import PassContext
from bankwise.tuning.matmuls.dynamic_matmuls import ScalarLoops
from bankwise.tuning.programs import split_sums
from bankwise.tuning.programs.split_sums import SplitSums

from ...functions import Parsed, gpu_target, parse

INSTRUCTION = "subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>],"


def product(number: int, summed: int, init: str = "%f") -> str:
    a, b = f"tensor<64x{summed}xf32>", f"tensor<{summed}x64xf32>"
    return f"""
  %r{number} = linalg.matmul ins(%a{summed}, %b{summed} : {a}, {b})
    outs({init} : tensor<64x64xf32>) -> tensor<64x64xf32>
"""


def module_of(body: str, element: str = "f32", arch: str = "sm_80") -> Parsed:
    arguments = ", ".join(
        f"%a{k}: tensor<64x{k}xf32>, %b{k}: tensor<{k}x64xf32>" for k in (8192, 16384)
    )
    target = gpu_target(arch).replace("subgroup = none,", INSTRUCTION)
    return parse(
        f"""
func.func @f({arguments}, %from: tensor<64x64xf32>) attributes {{{target}}} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  {body}
  return
}}""".replace("8192xf32", f"8192x{element}").replace("8192x64xf32", f"8192x64x{element}")
    )


def large(text: str) -> str:
    """Returns a program of 4096x8192x4096."""
    return (
        text.replace("64x8192x", "4096x8192x").replace("x64x", "x4096x").replace("<64x", "<4096x")
    )


def test_equal_products_are_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, int]] = []

    def microseconds(
        tilings: list[object], summed: int, count: int, *_: object, **__: object
    ) -> float:
        asked.append((tilings[0].tiled.extents[summed], count, len(tilings)))  # pyright: ignore[reportAttributeAccessIssue]
        return 1.0

    monkeypatch.setattr(split_sums, "_microseconds", microseconds)
    module = module_of(product(0, 8192) + product(1, 16384) + product(2, 8192))
    SplitSums().run(module.function, PassContext())
    assert {each for each, *_ in asked} == {8192, 16384}
    assert len(asked) == len({*asked})


def test_each_of_equal_products_is_split_or_has_its_remark() -> None:
    said: list[str] = []
    sink = DiagnosticSink(lambda each: said.append(each.message), remarks=True)
    adding = product(0, 8192, "%from") + product(1, 8192, "%from")
    module = module_of(adding + product(2, 8192) + product(3, 8192))
    SplitSums(unmeasured=True).run(module.function, PassContext(sink))
    refused = "a workgroup has whole sums: it adds to a matrix from memory"
    assert said[:2] == [refused] * 2
    assert said[2] == said[3] != refused
    assert len(module.operations("tensor.expand_shape")) == 4


@pytest.mark.parametrize("size", [large, str])
@pytest.mark.parametrize(
    ("element", "arch"), [("f32", "sm_80"), ("f16", "sm_80"), ("f16", "sm_90a")]
)
def test_no_tile_takes_less_than_its_bound(
    element: str, arch: str, size: Callable[[str], str]
) -> None:
    """Multiprocessors that wait for nothing come near the bound, and so do short kernels."""
    module = parse(size(str(module_of(product(0, 8192), element, arch))))
    function = module.function
    circumstances = SplitSums().circumstances(function)
    assert circumstances is not None
    (operation,) = split_sums._products(function)
    loops = ScalarLoops.of(function, operation)
    matmul = split_sums._by_matrices(function, operation, loops, circumstances, None)
    assert (matmul is None) == (element == "f32")
    tilings = split_sums._tilings(matmul, operation, loops, circumstances)
    assert len(tilings) > 100
    for count in (1, 8, 64):

        def time(least: float, tiled: object, count: int = count) -> float:
            one = [split_sums._Tiling(least, tiled)]  # pyright: ignore[reportArgumentType]
            return split_sums._microseconds(one, loops.tiled[2], count, circumstances)

        times = [time(-math.inf, each.tiled) for each in tilings[::7]]
        assert all(each.least <= of for each, of in zip(tilings[::7], times, strict=True))
        assert split_sums._least_of_all(matmul, loops, circumstances) <= min(times)
        assert min(times) == split_sums._microseconds(
            tilings[::7], loops.tiled[2], count, circumstances
        )


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_of_a_product_that_keeps_all_busy_few_tiles_are_predicted(
    element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(split_sums, "_tilings", lambda *given: asked.append(given) or [])
    module = parse(large(str(module_of(product(0, 8192), element))))
    SplitSums().run(module.function, PassContext())
    assert not asked
    small = module_of(product(0, 8192), element)
    SplitSums().run(small.function, PassContext())
    assert len(asked) == 1


def test_a_time_that_is_short_enough_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever tile has it: no number of parts saves enough of it."""
    module = module_of(product(0, 8192), "f16")
    function, context = module.function, PassContext()
    (operation,) = split_sums._products(function)
    circumstances = SplitSums().circumstances(function)
    assert circumstances is not None
    asked: list[int] = []
    predicted = split_sums._microseconds

    def microseconds(
        tilings: object, summed: int, count: int, *more: Any, **enough: float
    ) -> float:
        asked.append(count)
        return predicted(tilings, summed, count, *more, **enough) / 100  # pyright: ignore[reportArgumentType]

    split = SplitSums(unmeasured=True)
    assert split._plan(function, operation, circumstances, context)
    monkeypatch.setattr(split_sums, "_microseconds", microseconds)
    assert split._plan(function, operation, circumstances, context) is None
    assert asked == [1]
