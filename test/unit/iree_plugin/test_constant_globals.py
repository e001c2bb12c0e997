# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""iree_plugin/constant_globals: constant expressions become what IREE makes of them."""

from __future__ import annotations

import pytest
from iree.compiler import ir
from iree.compiler.api import Session, Source

from bankwise.dialect_utils.operations import children, symbol_of
from bankwise.iree_plugin import constant_globals
from bankwise.iree_plugin.compile_settings import CompileSettings
from bankwise.iree_plugin.stepped_compile import SteppedCompile
from bankwise.sweep.cases import target_flags

_BOTH = "affine_map<(i, j) -> (i, j)>"
_PARALLEL = 'iterator_types = ["parallel", "parallel"]'


def _program(of_index: str) -> str:
    """Returns a program that adds something to its argument which each index decides."""
    return f"""
func.func @main(%x: tensor<48x64xf32>) -> tensor<48x64xf32> {{
  %e = tensor.empty() : tensor<48x64xf32>
  %c7 = arith.constant 7 : i64
  %one = arith.constant 0.5 : f32
  %n = tensor.empty() : tensor<48x64xi64>
  %i = linalg.generic {{indexing_maps = [{_BOTH}], {_PARALLEL}}} outs(%n : tensor<48x64xi64>) {{
  ^bb0(%o: i64):
    %r = linalg.index 0 : index
    %s = linalg.index 1 : index
    %a = arith.index_cast %r : index to i64
    %b = arith.index_cast %s : index to i64
    %m = arith.muli %b, %c7 : i64
    %d = arith.subi %a, %m : i64
    linalg.yield %d : i64
  }} -> tensor<48x64xi64>
  %t = linalg.generic {{indexing_maps = [{_BOTH}, {_BOTH}], {_PARALLEL}}}
      ins(%i : tensor<48x64xi64>) outs(%e : tensor<48x64xf32>) {{
  ^bb0(%a: i64, %o: f32):
    {of_index}
    linalg.yield %r : f32
  }} -> tensor<48x64xf32>
  %y = linalg.generic {{indexing_maps = [{_BOTH}, {_BOTH}, {_BOTH}], {_PARALLEL}}}
      ins(%x, %t : tensor<48x64xf32>, tensor<48x64xf32>) outs(%e : tensor<48x64xf32>) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }} -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}}
"""


_MASK = """
    %p = arith.cmpi slt, %a, %c7 : i64
    %f = arith.sitofp %a : i64 to f32
    %r = arith.select %p, %f, %one : f32"""
_SINE = """
    %f = arith.sitofp %a : i64 to f32
    %g = math.sin %f : f32
    %r = arith.subf %g, %one : f32"""
_SPLAT = """
    %z = arith.subi %a, %a : i64
    %f = arith.sitofp %z : i64 to f32
    %r = arith.addf %f, %one : f32"""


def _dispatches(source: str, mitigation: str) -> str:
    """Returns a program behind the phase that forms its dispatches."""
    settings = CompileSettings(mitigation=mitigation, compile_to="dispatch-creation")
    session = Session()
    session.set_flags(*target_flags("sm_80"))
    with SteppedCompile(session, settings, console=False) as compilation:
        invocation = compilation.run(Source.wrap_buffer(session, source.encode() + b"\0"))
        return str(invocation.export())


@pytest.mark.parametrize(
    ("of_index", "by_iree"),
    [(_MASK, False), pytest.param(_SINE, True, marks=pytest.mark.nightly), (_SPLAT, False)],
)
def test_programs_are_those_of_iree(
    of_index: str, by_iree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []
    evaluate = constant_globals._let_iree_evaluate

    def counted(*arguments: object) -> None:
        given.append(arguments)
        evaluate(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(constant_globals, "_let_iree_evaluate", counted)
    ours = _dispatches(_program(of_index), "auto")
    assert bool(given) == by_iree
    assert "util.initializer" not in ours
    assert ours == _dispatches(_program(of_index), "stock")


def test_what_cannot_be_evaluated_alone_is_left_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(constant_globals, "_module_of", fail)
    ours = _dispatches(_program(_SINE), "auto")
    assert "util.initializer" not in ours


_IN_NO_ROW = """
util.global private @g : tensor<4xi64>
util.func private @other() {{ util.return }}
util.initializer {{
  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %e = tensor.empty() : tensor<4xi64>
  {other}
  util.global.store %c, @g : tensor<4xi64>
  util.return
}}
"""


@pytest.mark.parametrize(
    ("other", "eligible"),
    [
        ("%t = linalg.copy ins(%c : tensor<4xi64>) outs(%e : tensor<4xi64>) -> tensor<4xi64>", 1),
        ("util.call @other() : () -> ()", 0),
        (
            "%p = util.global.address @g : !util.ptr<tensor<4xi64>> "
            "%t = util.global.load.indirect %p : !util.ptr<tensor<4xi64>> -> tensor<4xi64>",
            0,
        ),
        ("%t = arith.constant true scf.if %t { scf.yield }", 0),
        ("cf.br ^end ^end:", 0),
    ],
)
def test_initializers_that_iree_leaves_alone_stay(
    other: str, eligible: int, context: ir.Context
) -> None:
    module = ir.Module.parse(_IN_NO_ROW.format(other=other), context)
    initializers = children(module.operation, "util.initializer")
    globals_ = {symbol_of(each): each for each in children(module.operation, "util.global")}
    assert len(constant_globals._eligible(initializers, globals_)) == eligible


# NumPy computes no concatenation, so that both globals are IREE's to evaluate.
_NAMED_AND_SCALAR = """
util.global private @"rows of layer 0" : tensor<4xi64>
util.initializer {
  %half = arith.constant dense<[1, 2]> : tensor<2xi64>
  %both = tensor.concat dim(0) %half, %half : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  util.global.store %both, @"rows of layer 0" : tensor<4xi64>
  util.return
}
func.func @main(%x: tensor<4xi64>) -> tensor<4xi64> {
  %half = arith.constant dense<[3, 4]> : tensor<2xi64>
  %c2 = arith.constant 2 : index
  %both = tensor.concat dim(0) %half, %half : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %scalar = tensor.extract %both[%c2] : tensor<4xi64>
  %named = util.global.load @"rows of layer 0" : tensor<4xi64>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%named : tensor<4xi64>) outs(%x : tensor<4xi64>) {
  ^bb0(%a: i64, %b: i64):
    %s = arith.addi %a, %b : i64
    %t = arith.muli %s, %scalar : i64
    linalg.yield %t : i64
  } -> tensor<4xi64>
  return %y : tensor<4xi64>
}
"""


def test_scalars_and_globals_of_any_name_are_those_of_iree() -> None:
    ours = _dispatches(_NAMED_AND_SCALAR, "auto")
    assert "util.initializer" not in ours
    assert ours == _dispatches(_NAMED_AND_SCALAR, "stock")


@pytest.mark.parametrize(
    ("settings", "evaluates"),
    [
        (CompileSettings(), True),
        (CompileSettings(level="layout"), True),
        (CompileSettings(mitigation="stock"), False),
        (CompileSettings(compile_to="global-optimization"), False),
        (CompileSettings(compile_from="global-optimization"), False),
        (CompileSettings(dump_phases_to="somewhere"), False),
        (CompileSettings(process_flags=("--iree-opt-const-eval=false",)), False),
        (CompileSettings(process_flags=("--iree-consteval-jit-debug",)), False),
        (CompileSettings(process_flags=("--mlir-timing",)), False),
    ],
)
def test_who_looks_at_constants_gets_those_of_iree(
    settings: CompileSettings, evaluates: bool
) -> None:
    assert settings.evaluates_constants == evaluates
