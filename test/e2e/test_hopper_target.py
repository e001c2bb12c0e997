# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles for sm_90 and sm_90a, which IREE does not know: all ways to ask for them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

import bankwise
from bankwise.bank_model.families import NVIDIA
from bankwise.report.measured.predictions import PREDICTIONS
from bankwise.report.observed_compile import Observers, observing_edits
from bankwise.sweep.swept_kernels import Attention, Matmul

from .conftest import Tool
from .test_executable_tool import HOOK, Compiler, compiler

__all__ = ["compiler"]

ATTENTION = Attention(1, 256, 64, "f16").source()
MATMUL = Matmul(256, 256, 128, "f16").source()
MAXIMUM = """
func.func @maximum(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
  %empty = tensor.empty() : tensor<1024xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
      affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<1024xf32>, tensor<1024xf32>) outs(%empty : tensor<1024xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %m = arith.maximumf %x, %y : f32
      linalg.yield %m : f32
  } -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
"""
PTX_OF_SM_90 = "--iree-cuda-target-features=+ptx84"


@cache
def ptx(source: str, target: str, mode: str = "auto", *flags: str) -> str:
    """Returns the PTX of a kernel, which the module carries as text."""
    module = bankwise.compile(source, (*NVIDIA.flags(target), *flags), mode).decode("latin-1")
    (code,) = re.findall(r"\.version [^\0]*", module)
    return code


def without_target(code: str) -> str:
    return re.sub(r"(?m)^\.target .*$", "", code)


@pytest.mark.nightly
@pytest.mark.parametrize("source", [ATTENTION, MATMUL], ids=["attention", "matmul"])
@pytest.mark.parametrize("mode", ["auto/layout", "stock", "auto/exact", "auto/fast"])
def test_the_code_is_that_for_sm_80_but_for_its_target(source: str, mode: str) -> None:
    old = ptx(source, "sm_80", mode, PTX_OF_SM_90)
    targets = {"sm_90": "sm_90", "h200": "sm_90a"}
    if mode in ("auto/exact", "auto/fast"):
        # It may multiply by `wgmma` in other tiles.
        del targets["h200"]
    for name, arch in targets.items():
        new = ptx(source, name, mode)
        assert re.findall(r"(?m)^\.(version .*|target .*)$", new) == [
            "version 8.4",
            f"target {arch}",
        ]
        assert without_target(new) == without_target(old)


@pytest.mark.sampled("source", "name", every=9)
@pytest.mark.parametrize("name", ["sm_90a", "sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("source", "mode"),
    [
        (Matmul(1024, 1024, 1024, "f16").source(), "auto/exact"),
        (Matmul(3000, 3000, 3000, "f16").source(), "auto/exact"),
        (Attention(8, 1024, 64, "f16").source(), "auto/fast"),
    ],
    ids=["matmul", "enlarged", "attention"],
)
def test_only_code_for_sm_90a_multiplies_by_wgmma(source: str, mode: str, name: str) -> None:
    code = ptx(source, name, mode)
    assert ("wgmma.mma_async" in code) is (name == "sm_90a")
    assert ("mma.sync" in code) is (name != "sm_90a")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "source",
    [
        Matmul(1024, 1024, 1024, "i8", transposed=True).source(),
        # Copies of 4 bytes take longer than what `wgmma` saves.
        Matmul(1002, 778, 506, "f16").source(),
    ],
    ids=["integers", "narrow"],
)
def test_other_products_stay_mma_sync(source: str) -> None:
    code = ptx(source, "sm_90a", "auto/exact")
    assert "wgmma" not in code and "mma.sync" in code


def test_wgmma_needs_a_chosen_tile() -> None:
    source = Matmul(1024, 1024, 1024, "f16").source()
    code = ptx(source, "sm_90a", "auto/exact/off")
    assert "wgmma" not in code and "mma.sync" in code


@pytest.mark.nightly
@pytest.mark.parametrize("head", [40, 80, 88, 96, 112, 160, 192])
def test_tiles_of_any_head_are_stored_without_conflicts(head: int) -> None:
    source = Attention(24, 2048, head, "f16").source()
    assert "wgmma.mma_async" in ptx(source, "sm_90a", "auto/fast", "--bankwise-verify")


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("source", "mode", "workgroups", "described", "read", "copied"),
    [
        (Attention(24, 2048, 88, "f16"), "auto/fast", 384, 7_077_888, 73_728, 8_257_536),
        (Attention(24, 2048, 64, "f16"), "auto/fast", 768, 3_932_160, 49_152, 3_145_728),
        (Matmul(2048, 2048, 2048, "f16"), "auto/exact", 128, 2_621_440, 0, 1_572_864),
    ],
    ids=["narrow", "wide", "matmul"],
)
def test_the_report_counts_what_ncu_counts(
    source: Attention | Matmul, mode: str, workgroups: int, described: int, read: int, copied: int
) -> None:
    """The cycles are those that ncu counts on an H200 in so many workgroups."""
    observers = Observers()
    edits = observing_edits(observers)
    bankwise.compile(source.source(), NVIDIA.flags("sm_90a"), mode, edits=edits)
    (report,) = observers.reports().values()
    cycles = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
    of_instructions = f"smsp__sass_{cycles.replace('__', '_')}"
    counters = [f"{cycles}_op_gmma", f"{of_instructions}_op_ldsm", f"{of_instructions}_op_ldgsts"]
    predicted = [PREDICTIONS[f"{name}.sum"].of(report) for name in counters]
    assert [(each or 0) * workgroups for each in predicted] == [described, read, copied]
    assert PREDICTIONS["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"].of(report) == 0
    said = [each for each in report.allocations if "wgmma read it by descriptors" in each.decision]
    assert sum(each.descriptor_cycles for each in said) * workgroups == described


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("target", ["sm_90a", "sm_90", "sm_80"])
def test_maxima_keep_nans(target: str) -> None:
    # IREE lowers a maximum for GPUs before sm_80 where it does not read the name of the target.
    assert "max.NaN.f32" in (code := ptx(MAXIMUM, target, "stock"))
    assert "max.f32" not in code


def test_other_flags_of_the_target_are_in_force() -> None:
    assert ".version 8.6\n" in ptx(MAXIMUM, "sm_90a", "auto", "--iree-cuda-target-features=+ptx86")
    # Only a process's command line takes this one, so that another process compiles.
    alone = ptx(MAXIMUM, "h100", "auto", "--iree-llvmgpu-enable-shared-memory-reuse=false")
    assert ".target sm_90a\n" in alone


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["h100", "sm_90"])
def test_tools_compile_and_report(tool: Tool, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.mlir").write_text(ATTENTION)
    cuda = NVIDIA.flags(name)
    compiled = tool(
        "bankwise-compile", "a.mlir", *cuda, "--quiet", "--bankwise-verify", "-o", "a.vmfb"
    )
    assert (compiled.returncode, compiled.stderr) == (0, "")
    arch = {"h100": "sm_90a"}.get(name, name)
    assert f".target {arch}\n".encode() in (tmp_path / "a.vmfb").read_bytes()
    reported = tool("bankwise-report", "a.mlir", *cuda, "--format=json")
    assert (reported.returncode, reported.stderr) == (0, "")
    assert f'"{arch}"' in json.dumps(json.loads(reported.stdout)["functions"])


@pytest.mark.nightly
@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("phase", ["preprocessing", "global-optimization", "flow", "hal"])
def test_a_compile_may_stop_and_go_on(tool: Tool, tmp_path: Path, phase: str) -> None:
    (tmp_path / "a.mlir").write_text(ATTENTION)
    cuda = NVIDIA.flags("sm_90a")
    first = tool(
        "bankwise-compile", "a.mlir", *cuda, f"--compile-to={phase}", "--quiet", "-o", "b.mlir"
    )
    assert (first.returncode, first.stderr) == (0, "")
    if phase != "hal":
        assert 'arch = "sm_90a"' in (tmp_path / "b.mlir").read_text()
    rest = tool("bankwise-compile", "b.mlir", *cuda, f"--compile-from={phase}", "-o", "b.vmfb")
    # A compile that begins behind the codegen has gained nothing.
    assert rest.returncode == 0 and rest.stderr.startswith("" if phase == "hal" else "1 kernel: ")
    (code,) = re.findall(rb"\.version [^\0]*", (tmp_path / "b.vmfb").read_bytes())
    assert code.decode() == ptx(ATTENTION, "sm_90a") and b".target sm_90a\n" in code


def test_a_program_that_stock_prepares_is_described_too(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(ATTENTION)
    cuda = NVIDIA.flags("sm_90a")
    result = tool("bankwise-compile", "a.mlir", *cuda, "--compile-mode=precompile", "-o", "b.mlir")
    assert (result.returncode, result.stderr) == (0, "")
    assert 'arch = "sm_90a"' in (tmp_path / "b.mlir").read_text()


def test_the_host_program_is_that_for_sm_80(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(ATTENTION)
    texts: list[str] = []
    for name in ("sm_80", "sm_90a"):
        flags = (*NVIDIA.flags(name), "--compile-to=executable-sources", "-o", "b.mlir")
        assert tool("bankwise-compile", "a.mlir", *flags).returncode == 0
        text = (tmp_path / "b.mlir").read_text()
        assert f'<arch = "{name}"' in text
        texts.append(re.sub(r"#iree_gpu\.target<.*?>>", "", text))
    assert texts[0] == texts[1]


@pytest.mark.sampled("name", "source", every=3)
@pytest.mark.parametrize("name", ["sm_90a", "sm_90"])
@pytest.mark.parametrize("source", [MAXIMUM, ATTENTION], ids=["maximum", "attention"])
def test_an_unmodified_compiler_gets_code_for_sm_90(
    compiler: Compiler, source: str, name: str
) -> None:
    # It knows both names, but not the GPU, whose description comes with the executable. With the
    # name of the variant its maxima would forget NaNs.
    inside = compiler(source, name, HOOK)
    ours = compiler(source, "sm_90", tool="bankwise-compile")
    assert inside.messages == ""
    assert inside.assembly == ours.assembly
    (code,) = inside.assembly.values()
    assert b".target sm_90\n" in code and b"max.NaN.f32" in code
