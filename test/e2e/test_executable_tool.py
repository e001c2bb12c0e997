# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bankwise-executable inside an unmodified iree-compile, which looks for it on the PATH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention, Matmul

from .conftest import BIN

PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
HOOK = "--iree-hal-preprocess-executables-with=bankwise-executable"
ATTENTION = Attention(1, 256, 64, "f16").source()
TWO_MATMULS = """
func.func @two(%a: tensor<256x128xf16>, %b: tensor<128x256xf16>, %c: tensor<128x512xf16>)
    -> (tensor<256x256xf32>, tensor<256x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %m = linalg.matmul ins(%a, %b : tensor<256x128xf16>, tensor<128x256xf16>)
      outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  %e2 = tensor.empty() : tensor<256x512xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<256x512xf32>) -> tensor<256x512xf32>
  %n = linalg.matmul ins(%a, %c : tensor<256x128xf16>, tensor<128x512xf16>)
      outs(%f2 : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %m, %n : tensor<256x256xf32>, tensor<256x512xf32>
}
"""


@dataclass(frozen=True)
class Compiled:
    """What a compile has written; `decisions` is its d.json, if there is one."""

    vmfb: bytes
    assembly: dict[str, bytes]
    messages: str
    decisions: Any


@dataclass(frozen=True)
class Compiler:
    """Compiles into a folder of its own each time, by the same paths, which the vmfb names.

    What several tests compile in the same way is compiled once; `done` has it.
    """

    directory: Path
    done: dict[object, Compiled] = field(default_factory=dict)

    def __call__(
        self, source: str, target: str, *flags: str, tool: str = "iree-compile", **variables: str
    ) -> Compiled:
        key = (source, target, flags, tool, *sorted(variables.items()))
        if key not in self.done:
            self.done[key] = self._compile(source, target, flags, tool, variables)
        return self.done[key]

    def _compile(
        self,
        source: str,
        target: str,
        flags: Sequence[str],
        tool: str,
        variables: Mapping[str, str],
    ) -> Compiled:
        place = self.directory / "compile"
        shutil.rmtree(place, ignore_errors=True)  # Of a compile that failed.
        place.mkdir()
        (place / "source.mlir").write_text(source)
        # With dumps of the IR too, locations would be those in the dumps.
        dumps = [f"--iree-hal-dump-executable-{k}-to=dumps" for k in ("intermediates", "binaries")]
        arguments = ["source.mlir", *target_flags(target), *flags, *dumps, "-o", "out.vmfb"]
        run = started(tool, *arguments, at=place, variables=variables)
        assert run.returncode == 0, run.stderr
        files = [*place.glob("dumps/*.rocmasm"), *place.glob("dumps/*.ptx")]
        found = {file.name: file.read_bytes() for file in files}
        decisions = place / "d.json"
        decided = json.loads(decisions.read_text()) if decisions.exists() else None
        result = Compiled((place / "out.vmfb").read_bytes(), found, run.stderr.decode(), decided)
        place.rename(self.directory / f"compile-{len(list(self.directory.iterdir()))}")
        return result


def started(
    tool: str,
    *arguments: str,
    at: Path,
    variables: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Runs a tool with the environment's programs on the PATH, and no other settings of ours."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("BANKWISE_")}
    path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        [str(BIN / tool), *arguments],
        input=stdin,
        capture_output=True,
        cwd=at,
        env={**inherited, **path, **(variables or {})},
        timeout=300,
    )


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(tmp_path_factory.mktemp("compiler"))


@pytest.fixture(scope="module")
def executable(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Returns an executable's text as the compiler hands it to tools."""
    directory = tmp_path_factory.mktemp("executable")
    tool = directory / "keep-executable"
    tool.write_text("#!/bin/sh\nexec tee kept.mlir\n")
    tool.chmod(0o755)
    (directory / "source.mlir").write_text(ATTENTION)
    hook = HOOK.replace("bankwise-executable", tool.name)
    flags = [*target_flags("gfx942"), hook, "--compile-to=executable-sources", "-o", os.devnull]
    path = {"PATH": f"{directory}{os.pathsep}{os.environ['PATH']}"}
    run = started("iree-compile", "source.mlir", *flags, at=directory, variables=path)
    assert run.returncode == 0, run.stderr
    return (directory / "kept.mlir").read_bytes()


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("source", "target"),
    [
        (ATTENTION, "gfx942"),
        (Attention(1, 256, 64, "f32").source(), "gfx942"),
        (Matmul(256, 256, 128, "f16").source(), "gfx942"),
        (TWO_MATMULS, "gfx942"),
        (ATTENTION, "sm_80"),
    ],
    ids=["attention-f16", "attention-f32", "matmul", "two-executables", "attention-sm_80"],
)
def test_the_module_is_that_of_bankwise_compile(
    compiler: Compiler, source: str, target: str
) -> None:
    stock = compiler(source, target)
    inside = compiler(source, target, HOOK, BANKWISE_DECISIONS="d.json")
    # `iree-compile` links executables, and `bankwise-compile` where it is told to.
    flags = "--bankwise-decisions=d.json", "--iree-hal-link-executables=true"
    ours = compiler(source, target, *flags, tool="bankwise-compile")
    assert inside.messages == ""
    (text,) = ours.assembly.values()
    assert text.count(b".amdhsa_kernel ") == {TWO_MATMULS: 2}.get(source, target != "sm_80")
    assert inside.assembly == ours.assembly != stock.assembly
    assert inside.vmfb == ours.vmfb
    assert inside.decisions["decisions"]
    assert inside.decisions == ours.decisions


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("source", "variables", "flags"),
    [
        (ATTENTION, {"BANKWISE_LEVEL": "layout"}, ["--bankwise-level=layout"]),
        (ATTENTION, {"BANKWISE_LEVEL": "fast"}, ["--bankwise-level=fast"]),
        (ATTENTION, {"BANKWISE_MITIGATION": "pad"}, ["--bankwise-mitigation=pad"]),
        (
            # Its keys are not parted, which the hook cannot do.
            Attention(32, 1024, 128, "f16").source(),
            {"BANKWISE_RETILE": "on", "BANKWISE_LEVEL": "fast"},
            ["--bankwise-retile=on", "--bankwise-level=fast"],
        ),
    ],
    ids=["layout", "fast", "pad", "retile"],
)
def test_settings_come_from_the_environment(
    compiler: Compiler, source: str, variables: dict[str, str], flags: list[str]
) -> None:
    target = "sm_80" if "BANKWISE_RETILE" in variables else "gfx942"
    usual = compiler(source, target, HOOK)
    inside = compiler(source, target, HOOK, **variables)
    ours = compiler(source, target, *flags, tool="bankwise-compile")
    assert inside.messages == ""
    assert inside.assembly == ours.assembly != usual.assembly
    assert inside.vmfb == ours.vmfb


CONFIGURATION = (
    "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, "
    "mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], "
    "reduction = [0, 0, 8], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>, "
    "translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] "
    "subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<"
    "prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, "
    "use_igemm_convolution = false>}>>"
)


@pytest.mark.nightly
def test_a_configuration_of_the_users_own_stands_where_it_is(compiler: Compiler) -> None:
    # bankwise-compile, which sees the program, leaves the tile of the other product too.
    first = "linalg.matmul ins(%a, %b"
    configured = f"linalg.matmul {{compilation_info = {CONFIGURATION}}} ins(%a, %b"
    assert first in TWO_MATMULS
    settings = {"BANKWISE_RETILE": "on", "BANKWISE_DECISIONS": "d.json"}
    larger = TWO_MATMULS.replace("256", "2048").replace("512", "4096")
    inside = compiler(larger.replace(first, configured), "sm_80", HOOK, **settings)
    decided = inside.decisions["decisions"]
    tiles = {d["function"]: d for d in decided if d["pass_name"] == "bankwise-retile"}
    mine, other = (tiles[name] for name in sorted(tiles))
    assert (mine["action"], other["action"]) == ("keep", "retile")
    assert "has a compilation_info of its own" in mine["reason"]


def test_the_stock_mitigation_changes_nothing(compiler: Compiler) -> None:
    inside = compiler(ATTENTION, "gfx942", HOOK, BANKWISE_MITIGATION="stock")
    assert inside == compiler(ATTENTION, "gfx942")


@pytest.mark.nightly
@pytest.mark.sampled
@pytest.mark.parametrize(
    "flag",
    [
        "--iree-llvmgpu-prefetch-num-stages=3",
        "--iree-codegen-llvmgpu-use-tile-and-fuse-matmul=false",
    ],
)
def test_flags_of_the_outer_compile_that_change_codegen_are_honoured(
    compiler: Compiler, flag: str
) -> None:
    source = Matmul(512, 512, 512, "f16").source()
    inside = compiler(source, "gfx942", HOOK, flag)
    ours = compiler(source, "gfx942", flag, tool="bankwise-compile")
    assert (inside.vmfb, inside.assembly, inside.messages) == (ours.vmfb, ours.assembly, "")
    given = compiler(source, "gfx942", HOOK, flag, BANKWISE_FLAGS=flag)
    assert given == inside
    # The flag is one that matters: without it the tool makes something else.
    unseen = compiler(source, "gfx942", HOOK, flag, BANKWISE_FLAGS="")
    assert unseen.vmfb != inside.vmfb


@pytest.mark.nightly
def test_flags_may_come_from_a_response_file(compiler: Compiler) -> None:
    flag = "--iree-llvmgpu-prefetch-num-stages=3"
    (compiler.directory / "flags").write_text(f"{flag}\n{HOOK}\n")
    source = Matmul(512, 512, 512, "f16").source()
    assert compiler(source, "gfx942", "@../flags") == compiler(source, "gfx942", HOOK, flag)


@pytest.mark.nightly
def test_remarks_reach_whoever_started_the_compile(compiler: Compiler, tmp_path: Path) -> None:
    inside = compiler(ATTENTION, "gfx942", HOOK, BANKWISE_REMARKS="1")
    ours = compiler(ATTENTION, "gfx942", "--bankwise-remarks", "--quiet", tool="bankwise-compile")
    assert "1 kernel: " not in inside.messages
    said = compiler(ATTENTION, "gfx942", HOOK, BANKWISE_SUMMARY="1").messages
    assert said.startswith("executable @attention_dispatch_0: 1 kernel: ")
    assert "source.mlir:4:10: remark: allocation of tensor<" in inside.messages
    assert inside.messages == ours.messages
    # A file too, behind what is in it and before what comes later.
    (tmp_path / "source.mlir").write_text(ATTENTION)
    flags = [*target_flags("gfx942"), HOOK, "-o", os.devnull]
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    with (tmp_path / "log").open("wb", buffering=0) as log:
        log.write(b"before\n")
        subprocess.run(
            [str(BIN / "iree-compile"), "source.mlir", *flags],
            stderr=log,
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "BANKWISE_REMARKS": "1"},
            check=True,
        )
        # Where files cannot be shared, this goes over what the tool has appended.
        shared = not PTRACE_SCOPE.exists() or PTRACE_SCOPE.read_text().strip() == "0"
        after = "after\n" if shared else ""
        log.write(after.encode())
    assert (tmp_path / "log").read_text() == f"before\n{inside.messages}{after}"


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"BANKWISE_LEVEL": "most"}, "BANKWISE_LEVEL: 'most' is not one of layout, exact, fast"),
        (
            {"BANKWISE_REMARKS": "loud"},
            "BANKWISE_REMARKS expects true or false, 1 or 0, got 'loud'",
        ),
        ({"BANKWISE_LEVELS": "fast"}, "unknown variable BANKWISE_LEVELS"),
        ({"BANKWISE_FLAGS": "--no-such-flag"}, "Unknown command line argument '--no-such-flag'"),
        ({"BANKWISE_FLAGS": "'"}, "BANKWISE_FLAGS: No closing quotation"),
        ({"BANKWISE_DECISIONS": "-"}, "BANKWISE_DECISIONS: '-' is no file"),
        (
            {"BANKWISE_DECISIONS": "source.mlir"},
            "BANKWISE_DECISIONS: cannot write 'source.mlir': the file is there and holds something",
        ),
        (
            {"BANKWISE_MITIGATION": "pad", "BANKWISE_LEVEL": "fast"},
            "BANKWISE_LEVEL=fast: the mitigation 'pad' has no levels; auto and swizzle have",
        ),
        (
            {"BANKWISE_LEVEL": "layout", "BANKWISE_RETILE": "on"},
            "BANKWISE_RETILE=on: the level 'layout' replaces no tiles; exact and fast do",
        ),
        ({"BANKWISE_RETILE": "search"}, "BANKWISE_RETILE=search is gone; use on"),
        ({"BANKWISE_DECISIONS": "no/such/d.json"}, "cannot write 'no/such/d.json'"),
    ],
    ids=lambda value: next(iter(value.values())) if isinstance(value, dict) else "",
)
def test_what_cannot_be_used_is_a_warning_and_stock_goes_on(
    compiler: Compiler, variables: dict[str, str], reason: str
) -> None:
    inside = compiler(ATTENTION, "gfx942", HOOK, **variables)
    assert inside.messages.count("\n") == 1, inside.messages
    start = "bankwise-executable: warning: executable @attention_dispatch_0 is compiled as"
    assert inside.messages.startswith(f"{start} iree-compile would compile it: {reason}")
    stock = compiler(ATTENTION, "gfx942")
    assert (inside.vmfb, inside.assembly) == (stock.vmfb, stock.assembly)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"arith.constant", b"arith.invariable", "<executable>:9:16: custom op"),
        (b"#iree_gpu.target<", b"#iree_gpu.aim<", "<executable>:2:"),
    ],
    ids=["op", "attribute"],
)
def test_an_executable_that_cannot_be_read_goes_through_unchanged(
    tmp_path: Path, executable: bytes, old: bytes, new: bytes, reason: str
) -> None:
    given = executable.replace(old, new, 1)
    assert given != executable
    run = started("bankwise-executable", at=tmp_path, variables={"BANKWISE_FLAGS": ""}, stdin=given)
    assert (run.returncode, run.stdout) == (0, given)
    assert run.stderr.count(b"\n") == 1
    assert b"compile it: " + reason.encode() in run.stderr


# A constant that is small enough to be put into an executable.
RESOURCE = """\
func.func @scaled(%a: tensor<64x4xf32>) -> tensor<64x4xf32> {
  %c = arith.constant dense_resource<scales> : tensor<4xf32>
  %e = tensor.empty() : tensor<64x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %c : tensor<64x4xf32>, tensor<4xf32>) outs(%e : tensor<64x4xf32>) {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %m = arith.mulf %x, %s : f32
    linalg.yield %m : f32
  } -> tensor<64x4xf32>
  return %r : tensor<64x4xf32>
}
{-#
  dialect_resources: {
    builtin: { scales: "0x040000000000803F000000400000404000008040" }
  }
#-}
"""
OUT_OF_EXECUTABLES = "--iree-flow-inline-constants-max-byte-length=0"


def test_a_resource_that_the_compiler_keeps_to_itself_is_named_with_the_way_out(
    compiler: Compiler, tmp_path: Path
) -> None:
    (tmp_path / "source.mlir").write_text(RESOURCE)
    arguments = ["source.mlir", *target_flags("gfx942"), HOOK, "-o", os.devnull]
    run = started("iree-compile", *arguments, at=tmp_path)
    # This is the compiler's own failure, which it has with any tool.
    assert b"resource does not exist" in run.stderr and run.returncode == 1
    first = run.stderr.decode().splitlines()[0]
    assert first.startswith("bankwise-executable: warning: executable @scaled_dispatch_0 holds a")
    assert OUT_OF_EXECUTABLES in first
    assert compiler(RESOURCE, "gfx942", HOOK, OUT_OF_EXECUTABLES).messages == ""


def test_a_phase_before_code_generation_shows_lowered_functions_and_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "source.mlir").write_text(ATTENTION)
    end = "--compile-to=executable-sources"
    arguments = ["source.mlir", *target_flags("gfx942"), HOOK, end, "-o", "out.mlir"]
    run = started("iree-compile", *arguments, at=tmp_path)
    assert run.returncode == 0
    assert f"is lowered already in what {end} writes" in run.stderr.decode()
    assert "#iree_codegen.no_pipeline" in (tmp_path / "out.mlir").read_text()


def test_the_flags_of_the_compile_are_not_guessed(tmp_path: Path, executable: bytes) -> None:
    run = started("bankwise-executable", at=tmp_path, stdin=executable)
    assert (run.returncode, run.stdout) == (0, executable)
    assert run.stderr.count(b"\n") == 1
    assert b"its flags cannot be seen; set BANKWISE_FLAGS" in run.stderr


def test_a_compiler_of_another_version_is_told(tmp_path: Path, executable: bytes) -> None:
    # A shell with the name of the compiler starts the tool, as a compiler elsewhere would.
    other = tmp_path / "iree-compile"
    other.write_bytes(Path("/bin/sh").read_bytes())
    other.chmod(0o755)
    command = [str(other), "-c", f"'{BIN}/bankwise-executable'; exit $?"]
    run = subprocess.run(
        command,
        input=executable,
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "BANKWISE_FLAGS": ""},
    )
    assert (run.returncode, run.stdout) == (0, executable)
    assert run.stderr.count(b"\n") == 1
    assert b"the compiler that is installed with Bankwise is " in run.stderr


def test_code_for_cpus_goes_through_without_a_word(tmp_path: Path, executable: bytes) -> None:
    given = executable.replace(b'target(<"rocm"', b'target(<"llvm-cpu"')
    assert given != executable
    run = started(
        "bankwise-executable", at=tmp_path, variables={"BANKWISE_FLAGS": "-x"}, stdin=given
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, given, b"")


def test_the_help_names_every_variable(tmp_path: Path) -> None:
    run = started("bankwise-executable", "--help", at=tmp_path)
    for name in ("MITIGATION", "LEVEL", "RETILE", "REMARKS", "DECISIONS", "FLAGS"):
        assert f"  BANKWISE_{name} " in run.stdout.decode()
