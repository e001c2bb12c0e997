# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A new GPU is rows: with them, and without any other change, all rooms know the chip."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

import bankwise
from bankwise.bank_model import features, lds_tables
from bankwise.bank_model.features import features_of
from bankwise.bank_model.lds_tables import UnknownTargetError, lds_of
from bankwise.bank_model.matrix_instructions import mfma_shapes
from bankwise.bank_model.matrix_operands import matrix_instructions
from bankwise.dialect_utils.gpu_target import gpu_features_of
from bankwise.passes.base import PassContext
from bankwise.passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from bankwise.report.conflict_report import report_function
from bankwise.sweep.cases import target_flags
from bankwise.tuning.costs import processors
from bankwise.tuning.retile import Retile

from .processors import known_processor

ROOT = Path(__file__).parents[2]
LDS = "#gpu.address_space<workgroup>"


class New(NamedTuple):
    """A chip that is like another one."""

    name: str
    like: str


@pytest.fixture(params=[New("gfx9999", "gfx950"), New("sm_999", "sm_80")], ids=lambda new: new.name)
def new(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> New:
    """Adds the rows of a chip."""
    name, like = request.param
    row = lds_of(like)._replace(arch=name)
    monkeypatch.setattr(lds_tables, "_LDS", {**lds_tables._LDS, name: row})
    has = features_of(like)._replace(arch=name)
    monkeypatch.setattr(features, "_FEATURES", {**features._FEATURES, name: has})
    rates = {**processors._PROCESSORS, name: known_processor(like)}
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


def test_without_a_row_nothing_is_known(new: New, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {name: row for name, row in lds_tables._LDS.items() if name != new.name}
    monkeypatch.setattr(lds_tables, "_LDS", rows)
    with pytest.raises(UnknownTargetError):
        lds_of(new.name)
    context = PassContext(test_target=new.name)
    module = kernel(64)
    PadUnhintedAllocs().run(function_of(module), context)
    (decision,) = context.log
    assert decision.conflict_cycles_before is None


def test_a_tile_is_solved_for_it(new: New) -> None:
    found, known = (
        bankwise.solve(arch, "64x64xf16", write="rows:128", read="columns")
        for arch in (new.name, new.like)
    )
    assert lds_of(new.name) in bankwise.targets()
    assert found.best.layout == known.best.layout


def test_its_instructions_and_flags_are_those_of_its_row(new: New) -> None:
    assert matrix_instructions(new.name) == matrix_instructions(new.like)
    assert mfma_shapes(new.name) == mfma_shapes(new.like)
    device, arch = target_flags(new.name)
    assert device == target_flags(new.like)[0]
    assert arch == target_flags(new.like)[1].replace(new.like, new.name)


def test_passes_and_the_report_count_its_conflicts(new: New) -> None:
    module = kernel(lds_of(new.name).wave_size)
    function = function_of(module)
    assert gpu_features_of(function, new.name) is features_of(new.name)
    (allocation,) = report_function(function, new.name).allocations
    assert allocation.standing is not None and allocation.standing.conflict_cycles > 0
    context = PassContext(test_target=new.name)
    PadUnhintedAllocs().run(function, context)
    (decision,) = context.log
    assert decision.conflict_cycles_before == allocation.standing.conflict_cycles
    assert decision.conflict_cycles_after == 0


def test_tiles_are_predicted_by_the_rates_of_its_row(new: New) -> None:
    module, context = kernel(64), PassContext(test_target=new.name)
    circumstances = Retile().circumstances(function_of(module), context)
    assert circumstances is not None
    assert circumstances.processor is known_processor(new.like)
    assert circumstances.overlap == features_of(new.like).async_copies


_NAMES_OF_CHIPS = re.compile(r"^(gfx|sm_)(\d|$)")
_TABLES = (
    *(f"bank_model/{name}.py" for name in ("families", "features", "lds_tables", "targets")),
    *("emulator/chips.py", "emulator/residency.py", "tuning/costs/processors.py"),
)
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
