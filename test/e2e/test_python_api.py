# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bankwise.compile as a library: results, decisions, edits and errors; nothing ends the process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from iree.compiler import ir

import bankwise
from bankwise.iree_plugin import mitigation
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.mode import MITIGATIONS
from bankwise.passes.pipeline_edit import Position
from bankwise.passes.steps import STOCK_PAD_PASS, Place, Step
from bankwise.runtime.module_run import RunSettings
from bankwise.sweep.swept_kernels import Attention
from bankwise.tools import compile_arguments, report_arguments, run_arguments, sweep_arguments

GFX942 = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]
ATTENTION = Attention(1, 256, 64, "f16").source()


def test_text_and_path_give_a_vmfb(tmp_path: Path) -> None:
    path = tmp_path / "a.mlir"
    path.write_text(ATTENTION)
    decisions = DecisionLog()
    vmfb = bankwise.compile(path, GFX942, decisions=decisions)
    assert len(vmfb) > 1000
    assert Action.HINT in {decision.action for decision in decisions}
    assert len(bankwise.compile("func.func @f() {\n  return\n}\n", GFX942)) > 500


def test_compiling_twice_gives_the_same_bytes() -> None:
    assert bankwise.compile(ATTENTION, GFX942) == bankwise.compile(ATTENTION, GFX942)


def test_a_process_flag_is_compiled_in_a_process_of_its_own() -> None:
    # Not a session flag: only iree-compile's own command line knows it.
    flags = [*GFX942, "--iree-llvmgpu-enable-shared-memory-reuse=false"]
    assert len(bankwise.compile(ATTENTION, flags)) > 1000


def test_malformed_ir_is_reported_with_its_place() -> None:
    with pytest.raises(bankwise.CompileError, match=r"<text>:2:3: error: "):
        bankwise.compile("func.func @f() {\n  oops\n}\n", GFX942)


def test_a_missing_file_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        bankwise.compile("none.mlir", GFX942)


@pytest.mark.parametrize(
    "flags",
    [
        ["-o", "x"], ["-o=x"], ["--compile-to=flow"], ["--output-format=vm-asm"],
        ["--bankwise-level=fast"], ["--bankwise-remarks"], ["--help"], ["--iree-list-plugins"],
        ["other.mlir"], ["--iree-rocm-target=gfx942", "other.mlir"],
    ],
    ids=lambda flags: flags[-1],
)  # fmt: skip
def test_flags_that_cannot_be_honoured_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"^flags holds '{flags[-1] if len(flags) == 1 else ''}"):
        bankwise.compile(ATTENTION, [*GFX942, *flags])
    (tmp_path / "flags.txt").write_text("-o x")
    with pytest.raises(ValueError, match="flags holds '-o'"):
        bankwise.decisions(ATTENTION, [*GFX942, "@flags.txt"])
    assert [path.name for path in tmp_path.iterdir()] == ["flags.txt"]


def test_a_mode_that_nothing_comes_of_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="level is 'fast': the mitigation 'stock' has no levels"):
        bankwise.compile(ATTENTION, GFX942, "stock/fast")


@pytest.mark.parametrize("mode", ["auto/fast/search", "swizzle/layout/search", "pad/best/search"])
@pytest.mark.parametrize("function", [bankwise.compile, bankwise.decisions])
def test_a_search_of_tiles_is_a_value_error(function: Callable[..., object], mode: str) -> None:
    with pytest.raises(ValueError, match=r"^--bankwise-retile=search is gone; use on$"):
        function(ATTENTION, GFX942, mode)


def test_settings_of_the_hook_are_not_read_and_a_warning_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BANKWISE_LEVEL", "fast")
    with pytest.warns(UserWarning, match="BANKWISE_LEVEL: read by bankwise-executable alone"):
        bankwise.compile("func.func @f() {\n  return\n}\n", GFX942)


def test_an_unknown_mitigation_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="mitigation is 'best'; it can be 'auto', 'swizzle'"):
        bankwise.compile(ATTENTION, GFX942, "best")


@pytest.mark.parametrize(
    ("flags", "edits", "message"),
    [
        ("--iree-hal-target-device=hip", (), "flags is the single text '--iree-hal-target-dev"),
        ([7], (), "flags holds 7, which is no text"),
        (GFX942, ["x"], "edits holds 'x', which is no PipelineEdit"),
        (GFX942, bankwise.PipelineEdit.after("cse"), "edits is a single PipelineEdit; give a list"),
    ],
)
def test_arguments_of_another_type_are_named(flags: Any, edits: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        bankwise.compile(ATTENTION, flags, edits=edits)


def test_a_source_or_a_mitigation_of_another_type_is_named() -> None:
    source: Any
    for source in (None, b"func.func @f() { return }\n"):
        with pytest.raises(TypeError, match=r"source is .*; give a path, or a text of MLIR"):
            bankwise.compile(source, GFX942)
    with pytest.raises(FileNotFoundError, match="source is an empty text; give a path"):
        bankwise.decisions("", GFX942)
    mode: Any = None
    with pytest.raises(
        TypeError, match="the mitigation is None; give a text, such as 'auto/exact'"
    ):
        bankwise.compile(ATTENTION, GFX942, mode)


def test_text_without_a_line_break_is_told_from_a_path() -> None:
    with pytest.raises(FileNotFoundError, match="is recognized by a line break: end it with one"):
        bankwise.compile("func.func @f() { return }", GFX942)
    with pytest.raises(OSError, match=r"File name too long \(MLIR text is recognized"):
        bankwise.compile(ATTENTION.replace("\n", " "), GFX942)


def test_an_unknown_flag_is_reported() -> None:
    with pytest.raises(bankwise.CompileError, match=r"^(?!.*--help)Unknown .*--no-such-flag"):
        bankwise.compile(ATTENTION, [*GFX942, "--no-such-flag"])


@dataclass(frozen=True)
class CountReads(FunctionPass):
    """Reports the number of reads as a warning."""

    name = "count-reads"
    summary = "counts transfer reads"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        reads = str(function).count("vector.transfer_read")
        context.sink.warning(function.location, f"{reads} reads")


def test_a_pass_of_somebody_else_sees_the_ir_after_its_anchor() -> None:
    edits = [
        bankwise.PipelineEdit.after("iree-codegen-gpu-vector-alloc", CountReads()),
        # Without an end, the compile fails, and its diagnostics can be seen.
        bankwise.PipelineEdit.replace("iree-llvmgpu-vector-distribute"),
    ]
    with pytest.raises(bankwise.CompileError, match="warning: 6 reads"):
        bankwise.compile(ATTENTION, GFX942, edits=edits)


def test_an_edit_that_does_not_fit_is_an_error() -> None:
    edit = bankwise.PipelineEdit.after("cse", CountReads)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="holds the class CountReads; make a pass of it: Count"):
        bankwise.compile(ATTENTION, GFX942, edits=[edit])
    edit = bankwise.PipelineEdit.after("cse", CountReads())
    with pytest.raises(ValueError, match="anchor 'cse' occurs"):
        bankwise.compile(ATTENTION, GFX942, edits=[edit])
    edit = bankwise.PipelineEdit.after("iree-codegen-gpu-vector-aloc", CountReads())
    with pytest.raises(ValueError, match=r"is no pass; did you mean '.*gpu-vector-alloc'\?"):
        bankwise.compile(ATTENTION, GFX942, edits=[edit])


@dataclass(frozen=True)
class Mistaken(FunctionPass):
    """Has a bug."""

    name = "mistaken"
    summary = "raises"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        raise KeyError("no such thing")


def test_a_mistake_in_a_pass_is_an_error_with_its_place() -> None:
    edit = bankwise.PipelineEdit.after("iree-codegen-gpu-vector-alloc", Mistaken())
    message = r"error: mistaken raised KeyError at test_python_api\.py:\d+: 'no such thing'"
    with pytest.raises(bankwise.CompileError, match=message):
        bankwise.compile(ATTENTION, GFX942, edits=[edit])


def test_a_new_mode_is_two_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(Position.REPLACE, STOCK_PAD_PASS)
    step = Step(place, Mistaken, mitigations=frozenset({"fake"}))
    table = (*mitigation.steps(), step)
    monkeypatch.setattr(mitigation, "steps", lambda: table)
    monkeypatch.setitem(MITIGATIONS, "fake", "fails")
    with pytest.raises(bankwise.CompileError, match="mistaken raised KeyError"):
        bankwise.compile(ATTENTION, GFX942, "fake")
    # All command lines know it.
    assert "    =fake                           fails" in compile_arguments.help_text()
    assert "stock, fake" in report_arguments.help_text()
    flag = "--bankwise-mitigation=fake"
    assert compile_arguments.parse_arguments([flag]).mitigation == "fake"
    run_settings = run_arguments.parse_arguments(["a.mlir", flag])
    assert isinstance(run_settings, RunSettings)
    assert run_settings.compile.mitigation == "fake"
    assert sweep_arguments.parse_arguments(["--mitigations=fake"]).modes == ("fake",)


def test_decisions_are_those_of_the_compile() -> None:
    log = DecisionLog()
    bankwise.compile(ATTENTION, GFX942, "auto/layout", decisions=log)
    found = bankwise.decisions(ATTENTION, GFX942, "auto/layout")
    assert found.to_json() == log.to_json()
    assert {decision.action for decision in found.standing} == {Action.HINT}
    html = found._repr_html_()
    assert html.count("<tr>") == len(found.standing) + 1
    assert "tensor&lt;" in html
    assert str(found).count("\n") == len(found.standing) - 1


def test_decisions_report_what_does_not_compile() -> None:
    with pytest.raises(bankwise.CompileError, match=r"<text>:2:3: error: "):
        bankwise.decisions("func.func @f() {\n  oops\n}\n", GFX942)
    with pytest.raises(ValueError, match="mitigation is 'best'"):
        bankwise.decisions(ATTENTION, GFX942, "best")
    # Only the command line of a process of its own takes it.
    with pytest.raises(bankwise.CompileError):
        bankwise.decisions(ATTENTION, [*GFX942, "--iree-llvmgpu-enable-shared-memory-reuse=false"])
