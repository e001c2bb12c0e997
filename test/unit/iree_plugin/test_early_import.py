# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The import of the compiler's package beside a compile, in a process of its own."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bankwise.iree_plugin.early_import import load_passes, loading_paused
from bankwise.passes.mode import Mode
from bankwise.passes.pipeline_edit import PassClass

_PROGRAM = """
import gc, importlib.abc, sys, threading
from bankwise.iree_plugin.early_import import import_beside_compiler

import_beside_compiler()
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()

searched = []


class Recorder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        searched.append(name)


sys.meta_path.insert(0, Recorder())
from iree.compiler import ir

with ir.Context() as context:
    module = ir.Module.parse(
        "func.func @f() { %a = ub.poison : vector<4xf32> "
        "%b = iree_vector_ext.to_simt %a : vector<4xf32> -> vector<4xf32> "
        "%c = nvgpu.device_async_create_group return }"
    )
    function = module.body.operations[0]
    names = [op.operation.name for op in function.regions[0].blocks[0].operations]
dialects = (".ub", "_vector_ext", ".nvgpu")
print("ub.poison" in names, [name for name in searched if name.endswith(dialects)])
print(gc.isenabled(), gc.get_freeze_count() > 0)
import numpy
print(numpy.arange(3).sum(), numpy.ndarray.sort.__doc__)
"""

_COMPILES = """
import sys
from bankwise import compile
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention, Matmul

# Both have copies, and allocations on the stack that a `linalg.generic` uses.
compile(Attention(1, 1024, 128, "f16").source(), target_flags("gfx942"))
compile(Matmul(1000, 1000, 1000, "f32").source(), target_flags("gfx950"))
large = ("linalg", "llvm", "nvvm", "rocdl")
print([name for name in large if f"iree.compiler.dialects.{name}" in sys.modules])
# Its lanes exchange what they store.
compile(Matmul(512, 512, 512, "f16").source(), target_flags("sm_80"), "auto/exact")
print("numpy.ma" in sys.modules)
"""


def test_no_module_is_searched_for_operations_without_one() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("True []\nTrue True\n3 None\n", "")


def test_compiles_import_no_large_dialect_nor_masked_arrays() -> None:
    run = subprocess.run([sys.executable, "-c", _COMPILES], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("[]\nFalse\n", "")


_DEFERRED = """
import sys
from bankwise.iree_plugin.early_import import load_passes

load_passes()
from iree.compiler import dialects, ir
from iree.compiler.dialects import arith


def kind(module):
    return type(module.body.operations[0].regions[0].blocks[0].operations[0])


with ir.Context():
    module = ir.Module.parse("func.func @f() { %c = arith.constant 1 : i32 return }")
    print(kind(module) is ir.OpView, "iree.compiler.dialects._arith_ops_gen" in sys.modules)
    constant = arith.ConstantOp
    print(kind(module) is constant, dialects.arith is arith)
"""


def test_a_dialects_module_is_loaded_when_a_name_in_it_is_asked_for() -> None:
    run = subprocess.run([sys.executable, "-c", _DEFERRED], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("True False\nTrue True\n", "")


def test_no_pass_is_loaded_while_the_program_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[PassClass] = []
    monkeypatch.setattr(PassClass, "loaded", lambda kind: loaded.append(kind))
    thread = threading.Thread(target=load_passes, args=(Mode(),))
    with loading_paused():
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
        assert not loaded
    thread.join()
    assert loaded


_LATER = """
import sys, time
from bankwise.iree_plugin.early_import import (
    begin_loading,
    import_beside_compiler,
    wait_for_imports,
)
from bankwise.passes.mode import Mode

import_beside_compiler(Mode())
time.sleep(0.1)
print("iree.compiler.ir" in sys.modules)
begin_loading()
wait_for_imports()
print(*(name in sys.modules for name in ("iree.compiler.ir", "numpy", "numpy._typing")))
from iree import compiler
from iree.compiler import rewrite
print("iree.compiler.tools" in sys.modules)
from iree.compiler import *
print(compile_str is compiler.compile_str)
print(hasattr(compiler, "nothing"), rewrite is compiler.rewrite)
"""


def test_nothing_is_loaded_before_the_compiler_works() -> None:
    run = subprocess.run([sys.executable, "-c", _LATER], capture_output=True, text=True)
    assert run.stderr == ""
    # The body of the compiler's package is for whoever asks for a name in it.
    assert run.stdout.splitlines() == [
        *("False", "True True False"),
        *("False", "True", "False True"),
    ]


_TOOLS = """
import sys
from bankwise.iree_plugin.early_import import import_beside_compiler
from bankwise.passes.mode import Mode

import_beside_compiler(Mode())
from bankwise.iree_plugin.embedding import compiler_tool

print(compiler_tool("iree-compile").is_file(), "iree.compiler._mlir_libs" in sys.modules)
"""


def test_the_compilers_programs_are_found_without_the_bindings() -> None:
    run = subprocess.run([sys.executable, "-c", _TOOLS], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("True False\n", "")


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the lines and names of what a file imports of the compiler."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            # `from iree.compiler import ir` and `from iree.compiler.ir import Module` name modules.
            last = node.module == "iree.compiler"
            names = [f".{each.name}" for each in node.names] if last else [""]
            yield from ((node.lineno, f"{node.module}{name}") for name in names)


_FIRST = "iree.compiler.ir"
_WITHOUT_BINDINGS = ("iree.compiler.api", "iree.compiler.version")


@pytest.mark.parametrize("room", ["dialect_utils", "iree_plugin", "passes", "tuning"])
def test_modules_enter_the_bindings_by_the_same_one(room: str) -> None:
    """By another they might be in a thread's way, and its `ir` would have no names."""
    files = [*(Path(__file__).parents[3] / room).rglob("*.py")]
    assert files
    for path in files:
        found = [each for each in _imports(path) if each[1].startswith("iree.compiler.")]
        others = [each for each in found if not each[1].startswith((_FIRST, *_WITHOUT_BINDINGS))]
        first = min((line for line, name in found if name == _FIRST), default=sys.maxsize)
        assert all(line > first for line, _ in others), path


_AHEAD = """
import sys
from pathlib import Path
from bankwise.iree_plugin.early_library import load_library_ahead, wait_for_library

load_library_ahead()
wait_for_library()
print("libIREECompiler.so" in Path("/proc/self/maps").read_text())
from bankwise.iree_plugin.early_import import import_beside_compiler
from bankwise.passes.mode import Mode

import_beside_compiler(Mode())
print("traceback" in sys.modules, "logging" in sys.modules)
from iree.compiler.api import Session
print(Session().get_flags() != [])
import logging
try:
    print(nothing)
except NameError:
    logging.exception("said")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it is done on Linux alone")
def test_the_library_is_loaded_ahead() -> None:
    run = subprocess.run([sys.executable, "-c", _AHEAD], capture_output=True, text=True)
    assert run.stdout == "True\nFalse False\nTrue\n"
    assert run.stderr.splitlines()[-1] == "NameError: name 'nothing' is not defined"


_SOURCE = """
func.func @f(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %z: tensor<64x64xf32>)
    -> tensor<64x64xf32> {
  %p = linalg.matmul ins(%x, %y : tensor<64x64xf16>, tensor<64x64xf16>)
    outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}
"""
_TOOL = """
import sys
from bankwise.tools.commands import _work

code = _work("compile", "bankwise-compile")
print(code, [name for name in ("ast", "inspect", "numpy", "tokenize") if name in sys.modules])
"""


def test_no_compile_loads_what_shows_source_code(tmp_path: Path) -> None:
    (tmp_path / "f.mlir").write_text(_SOURCE)
    flags = ("f.mlir", "--iree-hal-target-device=hip", "--iree-rocm-target=gfx942", "-o", "f.vmfb")
    run = subprocess.run(
        [sys.executable, "-c", _TOOL, *flags], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.stdout == "0 ['numpy']\n"


_WITHOUT_NUMPY = """
import sys, time
from bankwise.iree_plugin.early_import import (
    NUMPY,
    begin_loading,
    import_beside_compiler,
    program_changed,
    wait_for_imports,
)
from bankwise.iree_plugin.later_import import imported_later
from bankwise.passes.mode import Mode


def loads(name):
    return f"numpy.{name}" in sys.modules


import_beside_compiler(Mode(level="fast"))
begin_loading()
while NUMPY in sys.modules or "bankwise.tuning.programs.program_steps" not in sys.modules:
    time.sleep(0.01)
from iree.compiler import ir
from bankwise.iree_plugin.program_passes import change_program
with imported_later(NUMPY):
    from bankwise.passes.base import PassContext


class Runner:
    def run_python_pass(self, function, step):
        print(step.name)
        step.run(function, pass_context)


with ir.Context() as context:
    module = ir.Module.parse(sys.argv[1])
    pass_context = PassContext(test_target="sm_80")
    change_program(module.operation, Mode(level="fast"), Runner())
    print(loads("_core"), len(pass_context.log.decisions))
program_changed()
wait_for_imports()
print(loads("_core"))
with ir.Context() as context:
    print(ir.Attribute.parse("dense<[1, 2]> : tensor<2xi32>")[1])
"""

_PROGRAMS = {
    "matmul": """
func.func @matmul(%a: tensor<2048x2048xf16>, %b: tensor<2048x2048xf16>, %c: tensor<2048x2048xf32>)
    -> tensor<2048x2048xf32> {
  %out = linalg.matmul ins(%a, %b : tensor<2048x2048xf16>, tensor<2048x2048xf16>)
      outs(%c : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %out : tensor<2048x2048xf32>
}
""",
    "convolution": """
func.func @convolution(%x: tensor<1x64x56x56xf32>, %w: tensor<128x64x3x3xf32>,
    %c: tensor<1x128x54x54xf32>) -> tensor<1x128x54x54xf32> {
  %out = linalg.generic {
      indexing_maps = [
          affine_map<(n, f, h, w, c, y, x) -> (n, c, h + y, w + x)>,
          affine_map<(n, f, h, w, c, y, x) -> (f, c, y, x)>,
          affine_map<(n, f, h, w, c, y, x) -> (n, f, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction",
          "reduction"]}
      ins(%x, %w : tensor<1x64x56x56xf32>, tensor<128x64x3x3xf32>)
      outs(%c : tensor<1x128x54x54xf32>) {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
  } -> tensor<1x128x54x54xf32>
  return %out : tensor<1x128x54x54xf32>
}
""",
    "sum": """
func.func @sum(%x: tensor<1000x1000xf32>, %c: tensor<1000xf32>) -> tensor<1000xf32> {
  %out = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<1000x1000xf32>) outs(%c : tensor<1000xf32>) {
    ^bb0(%a: f32, %s: f32):
      %t = arith.addf %s, %a : f32
      linalg.yield %t : f32
  } -> tensor<1000xf32>
  return %out : tensor<1000xf32>
}
""",
}


@pytest.mark.parametrize(
    ("name", "step"),
    [("matmul", "split-sums"), ("convolution", "split-sums"), ("sum", "split-rows")],
)
def test_a_program_stays_without_numpy(name: str, step: str) -> None:
    command = [sys.executable, "-c", _WITHOUT_NUMPY, _PROGRAMS[name]]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.stdout, run.stderr) == (f"bankwise-{step}\nFalse 0\nTrue\n2\n", "")
