# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-opt`: its command line, its files, and how it runs our passes."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.diagnostics import PassFailure
from bankwise.iree_plugin.native_passes import (
    NativePassError,
    check_native_pass,
    is_native_pass,
    nest_for_module,
)
from bankwise.iree_plugin.opt_driver import OptSettings, optimize
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.decisions import Action, Decision
from bankwise.passes.pipeline_text import NativeText, OurPass, Piece
from bankwise.test.tool_server import ToolServer
from bankwise.tools.opt import main

FUNCTION = "func.func @f(%x: i32) {\n  %y = arith.addi %x, %x : i32\n  return\n}\n"


@dataclass(frozen=True)
class Report(FunctionPass):
    """Says something about every op with a result, or fails there."""

    name: ClassVar[str] = "bankwise-report-for-test"
    summary: ClassVar[str] = "reports"
    fail: bool = False
    spoil: bool = False

    def run(self, function: ir.Operation, context: PassContext) -> None:
        for op in function.regions[0].blocks[0]:
            if self.spoil and op.operation.name == "func.return":
                op.operation.erase()
                return
            if not op.operation.results:
                continue
            if self.fail:
                raise PassFailure(op.location, "no way")
            context.sink.warning(op.location, "a warning")
            context.sink.remark(op.location, "a remark")
            context.log.add(Decision(self.name, "f", "memref<4xf16>", "", Action.KEEP, "test"))


def report(**options: bool) -> OurPass:
    return OurPass(Report(**options), ("func.func",))


def run(tmp_path: Path, text: str, *pieces: Piece, **settings: object) -> tuple[bool, str | None]:
    """Runs the driver on `text`; the result and what it wrote, if anything."""
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(text)
    base = OptSettings(
        input=str(source), output=str(output), anchor="builtin.module", pieces=pieces
    )
    passed = optimize(replace(base, **settings))  # pyright: ignore[reportArgumentType]
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"in.mlir", "out.mlir", "decisions.json"}
    return passed, output.read_text() if output.exists() else None


def test_pieces_run_in_order(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    passed, text = run(tmp_path, FUNCTION, report(), NativeText("canonicalize"), report())
    assert passed
    assert text is not None
    assert "arith" not in text
    # The second report finds no op with a result any more.
    assert capfd.readouterr().err.count("warning: ") == 1


def test_diagnostics_show_the_source(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, FUNCTION, report(), remarks=True)[0]
    place = f"{tmp_path}/in.mlir:2:8"
    source = "  %y = arith.addi %x, %x : i32\n       ^\n"
    assert capfd.readouterr().err == (
        f"{place}: warning: a warning\n{source}{place}: remark: a remark\n{source}"
    )


def test_remarks_only_when_asked_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, FUNCTION, report())[0]
    assert "remark: " not in capfd.readouterr().err


def test_failing_pass_leaves_no_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, FUNCTION, report(fail=True)) == (False, None)
    assert f"{tmp_path}/in.mlir:2:8: error: no way" in capfd.readouterr().err


def test_invalid_ir_of_a_pass_is_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, FUNCTION, report(spoil=True)) == (False, None)
    error = capfd.readouterr().err
    assert "in.mlir:2:8: error: block with no terminator" in error
    assert "note: see current operation: " in error
    assert "Traceback" not in error


def test_failure_keeps_the_old_output(tmp_path: Path) -> None:
    (tmp_path / "out.mlir").write_text("old")
    assert run(tmp_path, "func.func @f() {", NativeText("cse")) == (False, "old")


def test_expected_diagnostics_of_our_passes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    comments = "  // expected-warning @+2 {{a warning}}\n  // expected-remark @below {{a remark}}\n"
    text = FUNCTION.replace("  %y", comments + "  %y")
    assert run(tmp_path, text, report(), verify_diagnostics=True, remarks=True)[0]
    assert capfd.readouterr().err == ""
    # Without remarks the second comment finds nothing.
    assert not run(tmp_path, text, report(), verify_diagnostics=True)[0]
    assert 'expected remark "a remark" was not produced' in capfd.readouterr().err


@pytest.mark.parametrize("message", ["no way", "other"])
def test_expected_failure(tmp_path: Path, capfd: pytest.CaptureFixture[str], message: str) -> None:
    text = FUNCTION.replace("i32\n", f"i32 // expected-error {{{{{message}}}}}\n")
    passed, _ = run(tmp_path, text, report(fail=True), verify_diagnostics=True)
    assert passed == (message == "no way")
    assert ("unexpected error: no way" in capfd.readouterr().err) == (not passed)


def test_expected_diagnostics_of_the_compiler_and_notes(tmp_path: Path) -> None:
    text = (
        "// expected-note @+1 {{prior use here}}\n"
        "func.func @f(%x: i32) -> i64 {\n"
        "  return %x : i64 // expected-error {{expects different type than prior uses}}\n"
        "}\n"
    )
    assert run(tmp_path, text, verify_diagnostics=True)[0]
    assert not run(tmp_path, text.replace("note", "remark"), verify_diagnostics=True)[0]


def test_parts_are_checked_apart(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bad = "func.func @g() { // expected-error @+2 {{undeclared}}\n\n  return %x : i32\n}\n"
    options = {"split_marker": "// -----", "verify_diagnostics": True}
    passed, text = run(tmp_path, f"{FUNCTION}// -----\n{bad}// -----\n{FUNCTION}", **options)
    assert passed
    assert text is not None
    assert text.count("@f") == 2
    assert "@g" not in text
    # One line too far: the numbers in the report count from the top of the file.
    bad = bad.replace("@+2", "@+3")
    assert not run(tmp_path, f"{FUNCTION}// -----\n{bad}", **options)[0]
    error = capfd.readouterr().err
    assert "in.mlir:8:10: error: unexpected error: use of undeclared SSA value name" in error
    assert 'in.mlir:6:21: error: expected error "undeclared" was not produced' in error


def test_anchor_must_fit_the_root(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, FUNCTION, NativeText("cse"), anchor="func.func") == (False, None)
    error = capfd.readouterr().err
    assert "can't run 'func.func' pass manager on 'builtin.module' op" in error
    assert run(tmp_path, FUNCTION, NativeText("cse"), anchor="any")[0]


def test_our_pass_on_a_module_is_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    piece = OurPass(Report(), ())
    assert run(tmp_path, FUNCTION, piece, anchor="any") == (False, None)
    error = capfd.readouterr().err
    assert "trying to schedule pass 'bankwise-report-for-test' on an unsupported" in error


@pytest.mark.parametrize("allowed", [True, False])
def test_unregistered_dialects(tmp_path: Path, allowed: bool) -> None:
    text = '"foo.bar"() : () -> ()\n'
    assert run(tmp_path, text, allow_unregistered_dialects=allowed)[0] == allowed


def test_bytecode_is_read(tmp_path: Path) -> None:
    path = tmp_path / "decisions.json"
    with Session().context as context, ir.Location.unknown(context), path.open("wb") as file:
        ir.Module.parse(FUNCTION).operation.write_bytecode(file)
    options = {"split_marker": "// -----", "input": str(path)}
    passed, text = run(tmp_path, "", report(), **options)
    assert passed
    assert text is not None
    assert "arith.addi" in text


RESOURCE = """\
func.func @f() -> tensor<4xi32> {
  %0 = arith.constant dense_resource<blob> : tensor<4xi32>
  return %0 : tensor<4xi32>
}
{-# dialect_resources: { builtin: {
  blob: "0x0010000001000000020000000300000004000000"
} } #-}
"""
"""Its resource is aligned to 4096 bytes."""


def test_bytecode_with_aligned_resources_is_read(tmp_path: Path) -> None:
    assert run(tmp_path, RESOURCE, emit_bytecode=True, output=str(tmp_path / "decisions.json"))[0]
    bytecode = tmp_path / "decisions.json"
    for _ in range(8):  # By chance, memory is aligned.
        passed, text = run(tmp_path, "", NativeText("cse"), input=str(bytecode))
        assert passed
        assert text is not None
        assert "01000000020000000300000004000000" in text


def test_a_failing_pass_writes_no_bytecode(tmp_path: Path) -> None:
    assert run(tmp_path, FUNCTION, report(fail=True), emit_bytecode=True) == (False, None)


def test_decisions_are_written_only_on_success(tmp_path: Path) -> None:
    path = tmp_path / "decisions.json"
    assert not run(tmp_path, FUNCTION, report(), report(fail=True), decisions=str(path))[0]
    assert not path.exists()
    assert run(tmp_path, FUNCTION, report(), decisions=str(path))[0]
    assert json.loads(path.read_text())["decisions"][0]["reason"] == "test"


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "decisions.json").write_text("")
    (tmp_path / "out.mlir").symlink_to(tmp_path / "decisions.json")
    assert run(tmp_path, FUNCTION)[0]
    assert (tmp_path / "out.mlir").is_symlink()
    assert "func.func @f" in (tmp_path / "decisions.json").read_text()


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("cse", True),
        ("iree-codegen-gpu-vector-alloc", True),
        ("iree-hal-assign-target-devices", True),
        ("iree-hal-transformation-pipeline", True),
        ("mlir-timing", False),
        ("a(b", False),
        ("", False),
    ],
)
def test_native_names(name: str, known: bool) -> None:
    assert is_native_pass(name) == known


@pytest.mark.parametrize(
    ("text", "anchor", "reason"),
    [
        ("foo", "any", "'foo' does not refer to a registered pass or pass pipeline"),
        ("cse{a=1}", "any", "no such option a"),
        ("canonicalize{max-iterations=x}", "any", "'x' value invalid"),
        ("iree-hal-assign-target-devices", "func.func", "restricted to 'builtin.module'"),
    ],
)
def test_native_checks(
    text: str, anchor: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NativePassError, match=reason) as caught:
        check_native_pass(text, anchor)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_shorthand_of_a_function_pass_is_nested() -> None:
    assert nest_for_module("cse") == "cse"
    assert nest_for_module("affine-scalrep") == "func.func(affine-scalrep)"
    with pytest.raises(NativePassError):
        nest_for_module("foo")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.mlir", "b.mlir"], "too many positional arguments"),
        (["--bankwise-pad-unhint"], "Unknown command line argument '--bankwise-pad-unhint'"),
        (["--bankwise-pad-unhinted-allocs=x=1"], "has no option 'x'"),
        (["--canonicalize=x=1"], "--canonicalize=x=1: no such option x"),
        (["--cse", "--pass-pipeline=any(cse)"], "can't be used with individual pass options"),
        (["-o"], "for the -o option: requires a value!"),
        (["--verify-each=2"], "'2' is invalid value for boolean argument"),
        (["--verify-diagnostics=x"], "expected 'all' or 'only-expected'"),
        (["--emit-bytecode=x"], "'x' is invalid value for boolean argument"),
        (["--emit-bytecode-version=x"], "Invalid argument 'x', only integer is supported."),
        (["--emit-bytecode-version"], "for the --emit-bytecode-version option: requires a value!"),
        (["--emit-bytecode", "--split-input-file"], "can't be used with --split-input-file"),
        (["--split-input-file=//", "--emit-bytecode"], "can't be used with --split-input-file"),
        (["--mlir-print-ir-after=bankwise-x"], "Cannot find option named 'bankwise-x'!"),
    ],
)
def test_usage_errors(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("bankwise-opt: error: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_list_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-passes"]) == 0
    listed = capsys.readouterr().out
    assert "--bankwise-pad-unhinted-allocs " in listed
    assert "--padding-bits=<" in listed


def test_every_registered_dialect_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--show-dialects", "gone.mlir"]) == 0
    head, _, listed = capsys.readouterr().out.partition(": ")
    names = listed.rstrip("\n").split(",")
    assert head == "Available Dialects"
    assert names == sorted({*names})
    # The context that passes run in names what it knows when it is asked for something else.
    context = Session().context
    with pytest.raises(ir.MLIRError) as raised, context, ir.Location.unknown(context):
        ir.Module.parse("no_such_dialect.op")
    known = re.search(r"Available dialects: (.*?) ;", str(raised.value), re.DOTALL)
    assert known
    assert known[1].split(", ") == names


Tool = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def tool(server: ToolServer) -> Tool:
    def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [*server.command("bankwise-opt"), *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    return run


def test_empty_input_is_an_empty_module(tool: Tool) -> None:
    done = tool()
    assert (done.returncode, done.stdout, done.stderr) == (0, "module {\n}\n\n", "")


@pytest.mark.parametrize("flags", [(), ("--mlir-print-op-on-diagnostic=true",)])
def test_no_op_is_printed_where_diagnostics_are_compared(
    tool: Tool, flags: tuple[str, ...]
) -> None:
    text = "module { func.func @f() { return } } // expected-error {{unsupported operation}}\n"
    native = "--pass-pipeline=any(iree-codegen-gpu-vector-alloc)"
    done = tool("--verify-diagnostics", native, *flags, text=text)
    assert (done.returncode, done.stderr) == (0, "")
    done = tool(native, *flags, text=text)
    assert "note: see current operation: " in done.stderr


def test_bytecode_goes_through_pipes(server: ToolServer) -> None:
    command = server.command("bankwise-opt")
    text = FUNCTION.encode()
    for flags in (["--emit-bytecode"], ["--emit-bytecode", "-o", "/dev/stdout"]):
        done = subprocess.run([*command, *flags], input=text, capture_output=True, check=True)
        assert done.stderr == b""
        assert done.stdout.startswith(b"ML\xefR")
    back = subprocess.run(command, input=done.stdout, capture_output=True, check=True)
    assert b"arith.addi" in back.stdout
    # A redundant newline, which text ends in, would be read as a damaged section.
    assert not done.stdout.endswith(b"\n")


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("flags", [(), ("-o", "-"), ("-o", "/dev/tty")])
def test_a_terminal_gets_no_bytecode(tmp_path: Path, flags: tuple[str, ...]) -> None:
    source = tmp_path / "f.mlir"
    source.write_text(FUNCTION)
    command = [sys.executable, "-m", "bankwise.tools.opt", str(source), *flags]
    for more, code in (("--emit-bytecode", 1), ("--cse", 0)):
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            [*command, more],
            stdout=theirs,
            stderr=subprocess.PIPE,
            preexec_fn=lambda theirs=theirs: take_terminal(theirs),
        )
        os.close(theirs)
        shown = read_all(ours)
        _, error = child.communicate()
        assert child.returncode == code, error
        assert (b"ML\xefR" in shown, b"func.func" in shown) == (False, code == 0)
        assert (b"bytecode is not written to a terminal: name a file" in error) == (code == 1)


def take_terminal(descriptor: int) -> None:
    """Makes a terminal the one that `/dev/tty` is in this process."""
    os.setsid()
    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)


def read_all(descriptor: int) -> bytes:
    data = b""
    try:
        while part := os.read(descriptor, 4096):
            data += part
    except OSError:  # Linux says so that nobody has the other end open.
        pass
    finally:
        os.close(descriptor)
    return data


def test_malformed_stdin_is_located(tool: Tool) -> None:
    done = tool("--cse", text="func.func @f() {\n  foo\n}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("<stdin>:2:3: error: custom op 'foo' is unknown")


def test_unknown_flag_is_refused_by_name(tool: Tool) -> None:
    done = tool("--no-such-flag-at-all")
    assert (done.returncode, done.stdout) == (1, "")
    assert "bankwise-opt: Unknown command line argument '--no-such-flag-at-all'" in done.stderr


def test_version_and_help(tool: Tool) -> None:
    version = tool("--version")
    assert version.returncode == 0
    assert version.stdout.startswith("bankwise-opt ")
    assert "IREE compiler version 3.13" in version.stdout
    shown = tool("--help")
    assert shown.returncode == 0
    assert "--bankwise-pad-unhinted-allocs" in shown.stdout
    assert "--iree-rocm-target=" in shown.stdout
