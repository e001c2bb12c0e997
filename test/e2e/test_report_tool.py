# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bankwise-report straight from a compile."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bankwise.bank_model.families import NVIDIA
from bankwise.passes.decisions import Action
from bankwise.sweep.swept_kernels import Attention, Matmul

from .conftest import Tool

GFX942 = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
PLAIN_BYTES = (64 * 128 + 16 * 128 + 64 * 16 + 16 * 64) * 4


@pytest.fixture
def attention(tmp_path: Path) -> Path:
    path = tmp_path / "attention.mlir"
    path.write_text(Attention(1, 1024, 128, "f32").source())
    return path


def convolution(images: int, side: int, channels: int, filters: int, window: int) -> str:
    """Returns a convolution of NHWC images in f16."""
    out = side - window + 1
    image = f"tensor<{images}x{side}x{side}x{channels}xf16>"
    weights = f"tensor<{window}x{window}x{channels}x{filters}xf16>"
    result = f"tensor<{images}x{out}x{out}x{filters}xf32>"
    return f"""
func.func @conv(%image: {image}, %weights: {weights}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {result}
  %none = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
  %r = linalg.conv_2d_nhwc_hwcf ins(%image, %weights : {image}, {weights})
      outs(%none : {result}) -> {result}
  return %r : {result}
}}
"""


def totals(tool: Tool, path: Path, *flags: str) -> dict[str, dict[str, int]]:
    result = tool("bankwise-report", path, "--format=json", *flags)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["totals"]


def test_what_the_compile_did_is_what_is_chosen(tool: Tool, attention: Path) -> None:
    # With renamed indices V has no conflict in the plain layout.
    for level, before in (("layout", 274176), ("exact", 265984)):
        found = totals(tool, attention, *GFX942, f"--bankwise-level={level}")
        assert found["before"] == {"conflict_cycles": before, "lds_bytes": PLAIN_BYTES}
    assert found["chosen"] == {"conflict_cycles": 0, "lds_bytes": PLAIN_BYTES}
    assert found["chosen"] == found["standing"]
    assert found["complete"] is True


@pytest.mark.sampled
@pytest.mark.parametrize(("mitigation", "cycles"), [("stock", 16640), ("none", 274176)])
def test_other_mitigations_are_only_observed(
    tool: Tool, attention: Path, mitigation: str, cycles: int
) -> None:
    flag = f"--bankwise-mitigation={mitigation}"
    assert totals(tool, attention, *GFX942, flag)["chosen"]["conflict_cycles"] == cycles
    failed = tool("bankwise-report", attention, *GFX942, flag, "--fail-on-conflicts", "-o=r.txt")
    assert failed.returncode == 1
    assert f"conflicts: {cycles:,} conflict cycles in the code as it stands" in failed.stderr
    assert (attention.parent / "r.txt").read_text().startswith("Bank conflicts of attention.mlir")


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("tiled", [True, False])
def test_the_padded_column_is_what_stock_does(tool: Tool, tmp_path: Path, tiled: bool) -> None:
    """IREE pads no tiles of data-tiled matmuls; the emulator counts 0 and 512 in stock's code."""
    path = tmp_path / "matmul.mlir"
    path.write_text(Matmul(64, 48, 256, "bf16", transposed=True).source())
    flags = (*GFX942, f"--iree-dispatch-creation-data-tiling={str(tiled).lower()}")
    padded = totals(tool, path, *flags)["padded"]
    assert padded == totals(tool, path, *flags, "--bankwise-mitigation=stock")["chosen"]
    assert padded["conflict_cycles"] == (0 if tiled else 512)


@pytest.mark.sampled
@pytest.mark.parametrize("kernel", [Attention(1, 256, 64, "f16"), Matmul(256, 256, 256, "f16")])
def test_operands_read_by_ldmatrix_are_seen_with_their_layouts(
    tool: Tool, tmp_path: Path, kernel: Attention | Matmul
) -> None:
    path = tmp_path / "kernel.mlir"
    path.write_text(kernel.source())
    flags = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80")
    result = tool("bankwise-report", path, *flags, "--fail-on-conflicts")
    assert (result.returncode, result.stderr) == (0, "")
    decided = re.findall(r"\d+ loads\s+become\s+\d+\s+ldmatrix", result.stdout)
    assert len(decided) == len(re.findall(r"^\d+\. ", result.stdout, re.MULTILINE)) > 1
    assert result.stdout.count("conflict cycles of a workgroup") == 1
    assert ", 0 chosen" in result.stdout


def test_no_conflicts_do_not_fail(tool: Tool, attention: Path) -> None:
    result = tool("bankwise-report", attention, *GFX942, "--fail-on-conflicts")
    assert (result.returncode, result.stderr) == (0, "")
    assert "no bank conflicts are left, so that no layout has fewer" in " ".join(
        result.stdout.split()
    )


def test_html_of_a_compile_is_small(tool: Tool, attention: Path) -> None:
    result = tool("bankwise-report", attention, *GFX942, "--format=html", "-o=r.html")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    page = (attention.parent / "r.html").read_text()
    # Some 0.35 MB of it are pictures that wait to be chosen.
    assert len(page) < 650_000
    # Eight accesses: some have the same map before and after, two have the maps of earlier ones.
    assert page.count('"bank map of access') == 9
    assert page.count("The bank maps are those of") == 2
    assert '<strong class="good">0</strong>' in page
    assert "attention.mlir:" in page
    assert "iree_linalg_ext.attention" in page
    assert "gfx942" in page
    assert "--iree-rocm-target=gfx942" in page


def test_every_dispatch_is_listed(tool: Tool, tmp_path: Path) -> None:
    matmul = Matmul(512, 512, 512, "f16").source()
    cpu = "func.func @g(%a: tensor<64xf32>) -> tensor<64xf32> {\n" \
          "  %b = math.exp %a : tensor<64xf32>\n  return %b : tensor<64xf32>\n}\n"  # fmt: skip
    (tmp_path / "two.mlir").write_text(matmul + cpu)
    result = tool("bankwise-report", "two.mlir", *GFX942)
    assert result.returncode == 0, result.stderr
    assert "@matmul_dispatch_0_matmul_512x512x512_f16xf16xf32: gfx942, 256 lanes" in result.stdout
    assert "swizzled with xor_shuffle" in result.stdout
    assert "@g_dispatch_0_elementwise_64_f32: no workgroup allocations" in result.stdout
    stock = tool("bankwise-report", "two.mlir", *GFX942, "--bankwise-mitigation=stock")
    assert "stock's padding" in stock.stdout
    local = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
    host = tool("bankwise-report", "two.mlir", *local, "--fail-on-conflicts")
    assert host.returncode == 0, host.stderr
    assert "warning: --fail-on-conflicts: the program has no GPU code" in host.stderr
    assert host.stdout.count("not a GPU dispatch (backend llvm-cpu)") == 2


EXTERNAL = """
module attributes {hal.device.targets = [#hal.device.target<"hip", [
    #hal.executable.target<"rocm", "rocm-hsaco-fb", {target_arch = "gfx942"}>]> : !hal.device]} {
  func.func @f(%a: tensor<64xf32>) -> tensor<64xf32> {
    %c1 = arith.constant 1 : index
    %0 = hal.dispatch.extern "theirs"[%c1](%a) : (tensor<64xf32>) -> tensor<64xf32>
      count(%device: !hal.device, %w: index) -> (index, index, index) {
        %c = arith.constant 1 : index
        hal.return %c, %c, %c : index, index, index
      }
      layout(#hal.pipeline.layout<constants = 0, bindings = [
        #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>)
      objects({#hal.executable.target<"rocm", "rocm-hsaco-fb", {target_arch = "gfx942"}> ordinal(0)
        = [#hal.executable.object<{path = "theirs.hsaco"}>]})
    return %0 : tensor<64xf32>
  }
}
"""


def test_gpu_code_that_is_not_read_is_no_pass(tool: Tool, tmp_path: Path) -> None:
    exp = "func.func @g(%a: tensor<64xf32>) -> tensor<64xf32> {\n" \
          "  %b = math.exp %a : tensor<64xf32>\n  return %b : tensor<64xf32>\n}\n"  # fmt: skip
    sources = {
        "exp.mlir": exp,
        "private.mlir": exp.replace("@g", "private @g"),
        "host.mlir": "func.func @h() {\n  return\n}\n",
        "external.mlir": EXTERNAL,
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)

    def verdict(name: str, *flags: str) -> tuple[int, str]:
        result = tool("bankwise-report", name, *flags, "--fail-on-conflicts", "-o=r.txt")
        assert len(result.stderr.splitlines()) == 1
        return result.returncode, result.stderr

    code, error = verdict("exp.mlir", "--iree-hal-target-device=vulkan")
    assert (code, "backend vulkan-spirv, and only the code of rocm" in error) == (1, True)
    code, error = verdict("external.mlir", *GFX942)
    assert (code, "(@theirs): its code is an object file" in error) == (1, True)
    code, error = verdict("private.mlir", *GFX942)
    assert (code, "error: the module is empty" in error) == (1, True)
    code, error = verdict("host.mlir", *GFX942)
    assert (code, "warning: --fail-on-conflicts: the program has no GPU code" in error) == (0, True)


def test_bad_compiles_are_located_and_leave_no_output(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text("func.func @f() {\n  oops\n}\n")
    result = tool("bankwise-report", "bad.mlir", *GFX942, "-o=r.txt")
    assert result.returncode == 1
    assert "bad.mlir:2:3: error: custom op 'oops' is unknown" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "r.txt").exists()
    (tmp_path / "r.txt").write_text("old")
    for flags in (GFX942, ()):
        assert tool("bankwise-report", "bad.mlir", *flags, "-o=r.txt").returncode == 1
        assert (tmp_path / "r.txt").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"bad.mlir", "r.txt"}
    missing = tool("bankwise-report", "none.mlir", *GFX942)
    assert missing.returncode == 1
    assert missing.stderr == (
        "bankwise-report: error: cannot open input 'none.mlir': No such file or directory\n"
    )


@pytest.mark.sampled("source", every=3)
@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
@pytest.mark.parametrize(
    "source",
    [
        convolution(2, 34, 64, 128, 3),
        convolution(1, 58, 64, 96, 3),
        convolution(2, 28, 320, 64, 1),
        Matmul(512, 640, 768, "f16").source(),
    ],
    ids=["conv3", "conv3_96", "conv1", "matmul"],
)
def test_copies_count_as_their_decisions_say(
    tool: Tool, tmp_path: Path, source: str, target: str
) -> None:
    """Copies that a loop of `wgmma` issues without a branch may read nothing, and may conflict."""
    path = tmp_path / "kernel.mlir"
    path.write_text(source)
    flags = *NVIDIA.flags(target), "--bankwise-level=exact"
    made = tool("bankwise-compile", path, *flags, "--bankwise-decisions=d.json", "-o", "k.vmfb")
    assert made.returncode == 0, made.stderr
    decisions = json.loads((tmp_path / "d.json").read_text())["decisions"]
    cycles = [
        each["conflict_cycles_after"]
        for each in decisions
        if each["action"] == Action.OVERLAP.value
    ]
    assert cycles
    found = totals(tool, path, *flags)
    assert sum(cycles) == found["chosen"]["conflict_cycles"]
    assert found["complete"] is True
    if "34x34" in source:
        assert (target, sum(cycles)) in (("sm_90a", 160), ("sm_80", 0))
