# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A new GPU is rows: with them, and without any other change, all rooms know the chip."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

import bankwise
from bankwise.bank_model import targets
from bankwise.bank_model.matrix_instructions import mfma_shapes
from bankwise.bank_model.matrix_operands import matrix_instructions
from bankwise.bank_model.targets import UnknownTargetError, target
from bankwise.dialect_utils.gpu_target import chip_of
from bankwise.passes.base import PassContext
from bankwise.passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from bankwise.report.conflict_report import report_function
from bankwise.sweep.cases import target_flags
from bankwise.tuning.costs import processors
from bankwise.tuning.retile import Retile

from .processors import known_processor

ROOT = Path(__file__).parents[2]
NAME = "new1"
LDS = "#gpu.address_space<workgroup>"


@pytest.fixture(params=["gfx950", "sm_80"])
def like(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Adds a row for a chip that is like another one."""
    row = target(request.param)._replace(arch=NAME)
    monkeypatch.setattr(targets, "_TARGETS", {**targets._TARGETS, NAME: row})
    rates = {**processors._PROCESSORS, NAME: known_processor(request.param)}
    monkeypatch.setattr(processors, "_PROCESSORS", rates)
    return request.param


def kernel(wave: int) -> ir.Module:
    """Returns a module whose one function accesses a column of a tile by all lanes of a wave."""
    context = Session().context
    with context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        return ir.Module.parse(f"""
          func.func @f() attributes {{
              translation_info = #iree_codegen.translation_info<
                pipeline = #iree_codegen.no_pipeline
                workgroup_size = [{wave}, 1, 1] subgroup_size = {wave}>}} {{
            %x = gpu.thread_id x
            %c0 = arith.constant 0 : index
            %m = memref.alloc() : memref<64x32xf32, {LDS}>
            %v = memref.load %m[%x, %c0] : memref<64x32xf32, {LDS}>
            memref.store %v, %m[%x, %c0] : memref<64x32xf32, {LDS}>
            return
          }}""")


def function_of(module: ir.Module) -> ir.Operation:
    return module.body.operations[0].operation


@pytest.mark.usefixtures("like")
def test_without_a_row_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {name: row for name, row in targets._TARGETS.items() if name != NAME}
    monkeypatch.setattr(targets, "_TARGETS", rows)
    with pytest.raises(UnknownTargetError):
        target(NAME)
    context = PassContext(test_target=NAME)
    module = kernel(64)
    PadUnhintedAllocs().run(function_of(module), context)
    (decision,) = context.log
    assert decision.conflict_cycles_before is None


def test_a_tile_is_solved_for_it(like: str) -> None:
    found, known = (
        bankwise.solve(arch, "64x64xf16", write="rows:128", read="columns") for arch in (NAME, like)
    )
    assert target(NAME) in bankwise.targets()
    assert found.best.layout == known.best.layout


def test_its_instructions_and_flags_are_those_of_its_row(like: str) -> None:
    assert matrix_instructions(target(NAME)) == matrix_instructions(target(like))
    assert mfma_shapes(NAME) == mfma_shapes(like)
    device, arch = target_flags(NAME)
    assert device == target_flags(like)[0]
    assert arch == target_flags(like)[1].replace(like, NAME)


@pytest.mark.usefixtures("like")
def test_passes_and_the_report_count_its_conflicts() -> None:
    module = kernel(target(NAME).wave_size)
    function = function_of(module)
    assert chip_of(function, NAME) is target(NAME)
    (allocation,) = report_function(function, NAME).allocations
    assert allocation.standing is not None and allocation.standing.conflict_cycles > 0
    context = PassContext(test_target=NAME)
    PadUnhintedAllocs().run(function, context)
    (decision,) = context.log
    assert decision.conflict_cycles_before == allocation.standing.conflict_cycles
    assert decision.conflict_cycles_after == 0


def test_tiles_are_predicted_by_the_rates_of_its_row(like: str) -> None:
    module, context = kernel(64), PassContext(test_target=NAME)
    circumstances = Retile().circumstances(function_of(module), context)
    assert circumstances is not None
    assert circumstances.processor is known_processor(like)
    assert circumstances.overlap == target(like).async_copies


_NAMES_OF_CHIPS = re.compile(r"^(gfx|sm_)(\d|$)")
_TABLES = ("bank_model/targets.py", "emulator/chips.py", "tuning/costs/processors.py")
_NOT_IN_THE_WHEEL = ("bench", "examples", "test", "docs", "typings")


def test_no_other_file_of_the_package_names_a_chip() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for folder in ROOT.iterdir()
        if (folder / "__init__.py").exists() and folder.name not in _NOT_IN_THE_WHEEL
        for path in folder.rglob("*.py")
        if str(path.relative_to(ROOT)) not in _TABLES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _NAMES_OF_CHIPS.search(node.value)
    }
    assert not found


def test_no_bench_asks_for_the_prefix_of_a_chip() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "bench").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "startswith"
        and any(re.search(r"'(gfx|sm_)", ast.unparse(each)) for each in node.args)
    }
    assert not found
