# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""iree_plugin/stepped_compile: a source is asked once, and a kernel is copied once."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from iree.compiler import ir
from iree.compiler.api import Session, Source

from bankwise.iree_plugin.codegen_replay import CodegenReplay
from bankwise.iree_plugin.compile_settings import CompileSettings
from bankwise.iree_plugin.embedding import Pipeline, SteppedInvocation
from bankwise.iree_plugin.forked_kernels import processors
from bankwise.iree_plugin.function_copy import FunctionCopy
from bankwise.iree_plugin.python_compile import compile
from bankwise.iree_plugin.stepped_compile import SteppedCompile
from bankwise.sweep.cases import target_flags

_LOOP = "affine_map<(d0) -> (d0)>"


def _truncated(number: int, size: int) -> str:
    return f"""
func.func @f{number}(%a: tensor<{size}xf32>) -> tensor<{size}xf16> {{
  %e = tensor.empty() : tensor<{size}xf16>
  %0 = linalg.generic {{indexing_maps = [{_LOOP}, {_LOOP}], iterator_types = ["parallel"]}}
      ins(%a : tensor<{size}xf32>) outs(%e : tensor<{size}xf16>) {{
  ^bb0(%x: f32, %y: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  }} -> tensor<{size}xf16>
  return %0 : tensor<{size}xf16>
}}
"""


RETILED = _truncated(0, 4_194_304) + _truncated(1, 8_388_608)
"""Both functions get another tile than IREE's, unless the user has configured them."""


def test_a_source_is_read_once_more_for_the_users_configuration(monkeypatch: pytest.MonkeyPatch):
    read: list[object] = []
    parse = SteppedInvocation.parse

    def counted(self: SteppedInvocation, *arguments: object, **named: object) -> bool:
        read.append(self)
        return parse(self, *arguments, **named)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(SteppedInvocation, "parse", counted)
    compile(RETILED, target_flags("sm_80"), "auto/exact")
    assert len(read) == 2


def test_a_kernel_is_copied_once(monkeypatch: pytest.MonkeyPatch):
    copied: list[object] = []
    of = FunctionCopy.of

    def counted(function: ir.Operation) -> FunctionCopy:
        copied.append(function)
        return of(function)

    monkeypatch.setattr(FunctionCopy, "of", counted)
    compile(_truncated(0, 4_194_304), target_flags("sm_80"), "auto/layout")
    assert len(copied) == 1


@pytest.mark.parametrize(
    ("settings", "each"),
    [
        (CompileSettings(), False),
        (CompileSettings(given=frozenset({"verify"})), True),
        (CompileSettings(verify=False, given=frozenset({"verify"})), False),
        (CompileSettings(mitigation="stock"), True),
    ],
)
def test_what_follows_codegen_is_verified_behind_each_pass_if_asked(
    settings: CompileSettings, each: bool
) -> None:
    assert settings.verifies_each_pass == each


@pytest.mark.skipif(processors() < 2, reason="the compiler has one thread in any case")
@pytest.mark.parametrize("kernels", [1, 2])
def test_a_program_of_one_kernel_is_compiled_in_one_thread(
    kernels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source.mlir"
    source.write_text("".join(_truncated(number, 64 << number) for number in range(kernels)))
    threads: dict[str, int] = {}
    execute = SteppedInvocation.execute

    def counted(self: SteppedInvocation, start: str, end: str, *more: Pipeline) -> None:
        execute(self, start, end, *more)
        threads[end] = self.export().context.get_num_threads()

    monkeypatch.setattr(SteppedInvocation, "execute", counted)
    monkeypatch.setattr(CodegenReplay, "_beside", lambda *_: nullcontext())
    monkeypatch.setattr(CodegenReplay, "_forked", lambda *_: nullcontext())
    session = Session()
    session.set_flags(*target_flags("sm_80"))
    settings = CompileSettings(input=str(source))
    with SteppedCompile(session, settings, forks=True) as compilation:
        compilation.run(Source.open_file(session, str(source)))
    assert threads["executable-configurations"] == 1
    assert (threads["end"] == 1) == (kernels == 1)
