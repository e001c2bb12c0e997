# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bankwise-compile as a program: outputs, flags that need a process, bad input."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from bankwise.bench import program_families
from bankwise.sweep.swept_kernels import Attention

from .conftest import Tool

Result = subprocess.CompletedProcess[str]

SOURCES = Path(program_families.__file__).parent / "sources"
GFX942 = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
NO_CODE = "--compile-to=executable-targets"
ATTENTION = Attention(1, 256, 64, "f16").source()
CPU = "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "attention.mlir"
    path.write_text(ATTENTION)
    return path


def assert_fails_with_one_line(result: Result, *parts: str) -> None:
    stderr = result.stderr
    assert result.returncode == 1, stderr
    errors = [line for line in stderr.splitlines() if "error:" in line]
    assert len(errors) == 1, stderr
    assert "Traceback" not in stderr
    for part in parts:
        assert part in errors[0]


def test_decisions_remarks_and_dumps_are_written(tool: Tool, source: Path, tmp_path: Path) -> None:
    result = tool(
        "bankwise-compile", source, *GFX942, "-o", "out.vmfb", "--bankwise-remarks",
        "--bankwise-decisions=d.json", "--bankwise-dump-ir=ir",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out.vmfb").stat().st_size > 1000
    document = json.loads((tmp_path / "d.json").read_text())
    assert document["version"] == 1
    hinted = [d for d in document["decisions"] if d["action"] == "hint"]
    assert hinted
    assert all(d["conflict_cycles_after"] < d["conflict_cycles_before"] for d in hinted)
    assert f"{source}:4:10: remark: allocation of tensor<" in result.stderr
    dumped = sorted(path.name for path in (tmp_path / "ir").iterdir())
    first = (
        *("check-products", "sum-all-warps", "round-up-keys", "keep-equal-order"),
        "gather-reversed",
        *("tile-convolutions-by-lanes", "tile-matmuls-by-lanes", "share-rows", "retile"),
        *("order-fragments", "exclude-absent-keys", "count-stock-layouts"),
    )
    for number, (name, path) in enumerate(zip(first, dumped, strict=False), start=1):
        assert path.startswith(f"{number:02d}-") and path.endswith(f"-bankwise-{name}.mlir")
    assert any(path.endswith("-bankwise-align-lds-accesses.mlir") for path in dumped)
    assert {p.name for p in tmp_path.iterdir()} == {"attention.mlir", "out.vmfb", "d.json", "ir"}


def test_parts_of_a_split_input_do_not_overwrite_each_others_dumps(
    tool: Tool, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "two.mlir").write_text(f"{ATTENTION}// -----\n{ATTENTION}")
    flags = (*GFX942, NO_CODE, "-o=/dev/null", "--split-input-file", "--bankwise-dump-ir=ir")
    result = tool("bankwise-compile", "two.mlir", *flags)
    assert result.returncode == 0, result.stderr
    dumped = sorted((tmp_path / "ir").iterdir())
    numbers, names = zip(*(path.name.split("-", 1) for path in dumped), strict=True)
    assert numbers == tuple(f"{n:02d}" for n in range(1, len(dumped) + 1))
    half = len(dumped) // 2
    assert names[:half] == names[half:]


def test_a_flag_and_its_value_may_be_two_words(tool: Tool, source: Path, tmp_path: Path) -> None:
    result = tool("bankwise-compile", source, "--iree-hal-target-device", "hip",
                  "--iree-rocm-target", "gfx942", "-o", "a", NO_CODE,
                  "--bankwise-decisions=d", "--quiet")  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
    assert '"action": "hint"' in (tmp_path / "d").read_text()


def test_the_vmfb_goes_to_stdout_by_default(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "cpu.mlir").write_text(CPU)
    result = tool("bankwise-compile", "cpu.mlir", "--iree-hal-target-device=local",
                  "--iree-hal-local-target-device-backends=vmvx")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "IREE" in result.stdout or len(result.stdout) > 500


def test_input_may_come_from_stdin(tool: Tool, tmp_path: Path) -> None:
    result = tool("bankwise-compile", "-", *GFX942, "-o", "out.vmfb", stdin=ATTENTION)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out.vmfb").exists()


@pytest.mark.parametrize("program", ["bankwise-compile", "bankwise-report"])
def test_a_pipe_with_a_name_is_read_once(tool: Tool, tmp_path: Path, program: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "source").write_text(CPU)
    # Whoever opens it again waits for somebody who writes.
    with subprocess.Popen(["sh", "-c", "cat source > pipe"], cwd=tmp_path) as writer:
        result = tool(program, "pipe", *GFX942, "-o=out")
        writer.kill()
    assert (result.returncode, writer.returncode) == (0, 0), result.stderr


@pytest.mark.nightly
def test_every_pass_prints_its_ir_when_asked(tool: Tool, source: Path) -> None:
    result = tool("bankwise-compile", source, *GFX942, NO_CODE, "-o", "/dev/null",
                  "--mlir-print-ir-after-all", "--mlir-disable-threading")  # fmt: skip
    assert result.returncode == 0
    for name in ("iree-codegen-gpu-vector-alloc", "bankwise-hint-vector-allocs",
                 "bankwise-resolve-swizzle-hints", "iree-convert-to-rocdl"):  # fmt: skip
        assert f"{name}" in result.stderr, name


def test_one_pass_of_ours_prints_its_ir_when_asked(tool: Tool, source: Path) -> None:
    result = tool("bankwise-compile", source, *GFX942, NO_CODE, "-o", "/dev/null",
                  "--mlir-print-ir-after=bankwise-hint-vector-allocs")  # fmt: skip
    assert result.returncode == 0
    assert result.stderr.count("IR Dump After") == 1
    assert "iree_codegen.swizzle_hint" in result.stderr


@pytest.mark.parametrize("phase", ["flow", "executable-configurations", "executable-targets"])
def test_a_compile_may_stop_at_a_phase(tool: Tool, source: Path, phase: str) -> None:
    result = tool("bankwise-compile", source, *GFX942, f"--compile-to={phase}")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(("module", "#"))


def test_a_compile_may_go_on_from_a_phase(tool: Tool, source: Path, tmp_path: Path) -> None:
    configured = tool("bankwise-compile", source, *GFX942, "-o=c.mlir",
                      "--compile-to=executable-configurations")  # fmt: skip
    assert configured.returncode == 0
    rest = tool("bankwise-compile", "c.mlir", *GFX942, NO_CODE, "-o=rest.mlir",
                "--compile-from=executable-configurations",
                "--bankwise-decisions=d.json")  # fmt: skip
    assert rest.returncode == 0, rest.stderr
    assert "hint" in (tmp_path / "d.json").read_text()


def test_executables_are_dumped(tool: Tool, source: Path, tmp_path: Path) -> None:
    result = tool("bankwise-compile", source, *GFX942, "-o=/dev/null",
                  "--iree-hal-dump-executable-files-to=dump")  # fmt: skip
    assert result.returncode == 0
    assert list((tmp_path / "dump").glob("*.rocmasm"))


def test_flags_that_change_the_pipeline_are_recorded_on_the_fly(
    tool: Tool, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    flags = (*GFX942, "--iree-llvmgpu-enable-shared-memory-reuse")
    ours = tool("bankwise-compile", source, *flags, "-o=a.vmfb", "--bankwise-mitigation=stock")
    assert ours.returncode == 0, ours.stderr
    assert len(list((tmp_path / "cache").rglob("pipeline-*"))) == 1
    stock = tool("iree-compile", source, *flags, "-o=b.vmfb")
    assert stock.returncode == 0
    assert (tmp_path / "a.vmfb").read_bytes() == (tmp_path / "b.vmfb").read_bytes()


def test_an_allocation_without_conflicts_needs_no_swizzle_in_swizzle_mode(
    tool: Tool, tmp_path: Path
) -> None:
    # The sums of three waves are read by some lanes, and a mask keeps the others from the LDS.
    source = SOURCES / "layernorm_f32.mlir"
    result = tool("bankwise-compile", source, *GFX942, NO_CODE, "-o=out.mlir",
                  "--bankwise-mitigation=swizzle", "--bankwise-decisions=d.json")  # fmt: skip
    assert result.returncode == 0
    decisions = json.loads((tmp_path / "d.json").read_text())["decisions"]
    conflicting = [d for d in decisions if d["stands"] and d["conflict_cycles_after"] != 0]
    assert len(conflicting) == result.stderr.count("warning:") == 0
    assert {d["reason"] for d in decisions if d["stands"] and d["allocation"] == "memref<1x3xf32>"}


def test_malformed_ir_is_located(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text("func.func @f() {\n  oops\n}\n")
    result = tool("bankwise-compile", "bad.mlir", *GFX942, "-o=out.vmfb")
    assert_fails_with_one_line(result, "bad.mlir:2:")
    assert not (tmp_path / "out.vmfb").exists()


def test_a_failed_compile_keeps_the_old_output(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text("oops")
    (tmp_path / "out.vmfb").write_text("old")
    assert tool("bankwise-compile", "bad.mlir", *GFX942, "-o=out.vmfb").returncode == 1
    assert (tmp_path / "out.vmfb").read_text() == "old"
    assert {p.name for p in tmp_path.iterdir()} == {"bad.mlir", "out.vmfb"}


def test_a_missing_input_is_named(tool: Tool) -> None:
    result = tool("bankwise-compile", "none.mlir", *GFX942, "-o=out.vmfb")
    assert_fails_with_one_line(result, "cannot open input 'none.mlir': No such file")


@pytest.mark.parametrize("flag", ["-o", "--bankwise-decisions"])
def test_an_unwritable_output_is_named(tool: Tool, source: Path, flag: str) -> None:
    result = tool("bankwise-compile", source, *GFX942, f"{flag}=no/such/dir/out")
    assert_fails_with_one_line(result, "cannot write 'no/such/dir/out': there is no directory '")
    assert result.stdout == ""


def test_an_unknown_phase_is_named(tool: Tool, source: Path) -> None:
    result = tool("bankwise-compile", source, *GFX942, "--compile-to=codegen")
    assert_fails_with_one_line(result, "--compile-to: 'codegen' is not a phase")


def test_an_unknown_flag_is_named(tool: Tool, source: Path) -> None:
    result = tool("bankwise-compile", source, "--iree-no-such-flag=1")
    assert result.returncode == 1
    assert "Unknown command line argument '--iree-no-such-flag=1'" in result.stderr


def test_an_unknown_target_is_named(tool: Tool, source: Path, tmp_path: Path) -> None:
    result = tool("bankwise-compile", source, "--iree-hal-target-device=hip",
                  "--iree-rocm-target=gfx000", "-o=out.vmfb")  # fmt: skip
    assert result.returncode == 1
    assert "gfx000" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out.vmfb").exists()


def test_a_gpu_that_the_compiler_does_not_know_is_one_sentence(tool: Tool, source: Path) -> None:
    cuda = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_100")
    result = tool("bankwise-compile", source, *cuda, "-o", "out.vmfb")
    line = f"{source}:4:10: error: IREE 3"
    said = "does not know the GPU sm_100; compile for sm_90, whose"
    assert_fails_with_one_line(result, line, said)
    assert len(result.stderr.splitlines()) == 1
    result = tool("bankwise-report", source, cuda[0], "--iree-cuda-target=b200")
    assert_fails_with_one_line(result, line, said)
    assert len(result.stderr.splitlines()) == 1
    source.write_text("oops\n")
    result = tool("bankwise-compile", source, *cuda, "-o", "out.vmfb")
    assert_fails_with_one_line(result, f"{source}:1:1: error: custom op 'oops' is unknown")


def test_a_folder_for_temporary_files_that_is_not_there_is_one_line(
    tool: Tool, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    for name in ("bankwise-compile", "bankwise-report"):
        result = tool(name, source, *GFX942)
        assert_fails_with_one_line(result, "error: TMPDIR is '/nonexistent', no folder that can")
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "// Only a comment.\n", "module {}\n"])
def test_an_empty_module_is_an_error(tool: Tool, tmp_path: Path, text: str) -> None:
    (tmp_path / "empty.mlir").write_text(text)
    result = tool("bankwise-compile", "empty.mlir", *GFX942, "-o=a.vmfb")
    assert_fails_with_one_line(result, "empty.mlir:", "the module is empty")
    assert not (tmp_path / "a.vmfb").exists()


def test_no_input_is_an_error(tool: Tool) -> None:
    assert_fails_with_one_line(tool("bankwise-compile", *GFX942), "no input file")


def test_version_and_help(tool: Tool) -> None:
    version = tool("bankwise-compile", "--version")
    assert version.returncode == 0
    assert version.stdout.startswith("bankwise-compile ")
    assert "IREE compiler version" in version.stdout
    helped = tool("bankwise-compile", "--help")
    assert helped.returncode == 0
    assert "--bankwise-mitigation" in helped.stdout
    assert "--iree-hal-target-device" in helped.stdout


def test_split_input_compiles_each_part(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "two.mlir").write_text(f"{CPU}// -----\n{CPU}")
    result = tool("bankwise-compile", "two.mlir", "--split-input-file", "--compile-to=flow",
                  "--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("util.func public @f") == 2


def test_hints_survive_prefetching(tool: Tool, source: Path, tmp_path: Path) -> None:
    configured = tool("bankwise-compile", source, *GFX942, "-o=c.mlir",
                      "--compile-to=executable-configurations")  # fmt: skip
    assert configured.returncode == 0
    text = (tmp_path / "c.mlir").read_text()
    options = "gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, "
    prefetching = text.replace("{iree_codegen.denormal", f"{{{options}iree_codegen.denormal", 1)
    assert prefetching != text
    (tmp_path / "c.mlir").write_text(prefetching)
    result = tool("bankwise-compile", "c.mlir", *GFX942, NO_CODE, "-o=a", "--bankwise-dump-ir=ir",
                  "--compile-from=executable-configurations", "--bankwise-decisions=d",
                  "--bankwise-level=layout", "--quiet")  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
    actions = [d["action"] for d in json.loads((tmp_path / "d").read_text())["decisions"]]
    assert actions.count("resolve") == actions.count("hint") == 3
    assert "drop" not in actions
    dumped = {path.name.split("-bankwise-")[1]: path for path in (tmp_path / "ir").iterdir()}
    absorbed = dumped["absorb-swizzle-hints.mlir"].read_text()
    assert absorbed.count("iree_codegen.swizzle = ") == 3
    assert "iree_codegen.swizzle_hint" not in absorbed
    assert "iree_codegen.swizzle_hint" in dumped["reinsert-swizzle-hints.mlir"].read_text()
    assert "iree_codegen.swizzle" not in dumped["resolve-swizzle-hints.mlir"].read_text()


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (
            ["-o", "attention.mlir"],
            "'attention.mlir': -o names an input; name another file",
        ),
        (
            ["-o", "o", "--bankwise-decisions=./o"],
            "'./o': --bankwise-decisions names the file of -o, too",
        ),
        (["--bankwise-decisions=-"], "'-': --bankwise-decisions names the file of -o"),
        (
            ["-o", "o", "--bankwise-decisions=d", "--bankwise-write-tuning-spec=d"],
            "'d': --bankwise-write-tuning-spec names the file of --bankwise-decisions, too",
        ),
    ],
)
def test_no_output_goes_over_the_input_or_another_output(
    tool: Tool, source: Path, tmp_path: Path, flags: list[str], error: str
) -> None:
    assert_fails_with_one_line(tool("bankwise-compile", source.name, *GFX942, *flags), error)
    assert source.read_text() == ATTENTION
    assert list(tmp_path.iterdir()) == [source]


def test_flags_that_nothing_comes_of_are_a_warning(
    tool: Tool, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANKWISE_LEVEL", "fast")
    monkeypatch.setenv("BANKWISE_RETILE", "")
    result = tool("bankwise-compile", source, "--compile-to=input", "--bankwise-level=fast")
    assert result.returncode == 0
    assert result.stderr.splitlines() == [
        "bankwise-compile: warning: BANKWISE_LEVEL: read by bankwise-executable alone; give flags, "
        "see --help",
        "bankwise-compile: warning: --bankwise-level: without effect, because --compile-to=input "
        "ends before the codegen for GPUs",
    ]


@pytest.mark.parametrize("phase", ["executable-targets", "end"])
def test_conflicts_are_found_up_to_whatever_phase_code_is_compiled(
    tool: Tool, source: Path, phase: str
) -> None:
    result = tool("bankwise-compile", source, *GFX942, "--bankwise-verify", f"--compile-to={phase}",
                  "--bankwise-mitigation=none", "-o", "/dev/null")  # fmt: skip
    assert_fails_with_one_line(result, "conflict cycles")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("arch", "dtype", "used", "unused"),
    [
        ("sm_121", "f16", ("cp.async", "ldmatrix", "mma.sync", "ex2.approx"), ()),
        # IREE 3.13 gives it matrix instructions for f16 that it does not have.
        ("sm_75", "f32", ("ex2.approx",), ("cp.async", "mma.sync", "cvt.rn.bf16x2")),
    ],
)
def test_code_has_the_instructions_of_its_gpu_alone(
    tool: Tool,
    source: Path,
    tmp_path: Path,
    arch: str,
    dtype: str,
    used: tuple[str, ...],
    unused: tuple[str, ...],
) -> None:
    source.write_text(Attention(1, 256, 64, dtype).source())
    result = tool(
        "bankwise-compile", source, "--iree-hal-target-device=cuda", f"--iree-cuda-target={arch}",
        "--bankwise-level=fast", "--bankwise-verify", "-o", "/dev/null",
        "--iree-hal-dump-executable-binaries-to=d",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    (ptx,) = (path.read_text() for path in (tmp_path / "d").glob("*.ptx"))
    assert f".target {arch}\n" in ptx
    assert all(name in ptx for name in used)
    assert not any(name in ptx for name in unused)
