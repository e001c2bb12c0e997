# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bankwise-run as a program: whole modules, on the emulator and on a GPU where one answers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from iree.runtime import ParameterIndex

from bankwise.runtime.dtypes import dtype_of
from bankwise.runtime.runtime_device import device_answers
from bankwise.sweep.swept_kernels import Attention, Matmul

from .conftest import Tool
from .exact_results import Kernel, exact_result, inputs_of


@pytest.fixture
def attention(tmp_path: Path) -> Kernel:
    """Returns a small attention as a file, with its inputs and its output."""
    kernel = Attention(1, 128, 64, "f16")
    (tmp_path / "a.mlir").write_text(kernel.source())
    for name, value in zip("qkv", inputs_of(kernel), strict=True):
        np.save(tmp_path / f"{name}.npy", value)
    np.save(tmp_path / "o.npy", exact_result(kernel).astype(np.float16))
    return kernel


QKV = ("--input=@q.npy", "--input=@k.npy", "--input=@v.npy")


def test_runs_counts_and_compares(tool: Tool, attention: Kernel, tmp_path: Path):
    result = tool(
        *("bankwise-run", "--module=a.mlir", "--device=emulated-gfx950", *QKV, "--counters"),
        *("--counters-json=c.json", "--output=@out.npy", "--expected_output=@o.npy"),
        "--expected_f16_threshold=0.002",
    )
    assert result.returncode == 0, result.stderr
    assert "device: emulated-gfx950" in result.stderr
    assert "[SUCCESS]" in result.stdout
    assert "SQ_LDS_BANK_CONFLICT" in result.stdout
    document = json.loads((tmp_path / "c.json").read_text())
    (dispatch,) = document["dispatches"]
    assert dispatch["counters"]["SQ_LDS_BANK_CONFLICT"] == 0
    assert dispatch["emulated_workgroups"] == 2
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npy"), np.load(tmp_path / "o.npy"), atol=2e-3
    )


def test_a_flag_that_only_a_process_takes_reaches_the_compiler(tool: Tool, tmp_path: Path):
    """Without direct loads of the operands this matmul's tiles go through registers."""
    (tmp_path / "m.mlir").write_text(Matmul(64, 64, 64, "f16").source())
    common = ("bankwise-run", "m.mlir", "--device=emulated-gfx950", "--annotate", "--workgroups=1")
    inputs = ("--input=64x64xf16=1", "--input=64x64xf16=1")
    plain = tool(*common, *inputs, "--iree-llvmgpu-use-direct-load=false")
    direct = tool(*common, *inputs, "--iree-llvmgpu-use-direct-load=true")
    assert plain.returncode == direct.returncode == 0, direct.stderr
    assert "offen lds" not in plain.stdout
    assert "offen lds" in direct.stdout


BF16 = """
util.global private @scale = #flow.parameter.named<"model"::"scale"> : tensor<4xbf16>
func.func @main(%a: tensor<4xbf16>) -> tensor<4xbf16> {
  %s = util.global.load @scale : tensor<4xbf16>
  %r = arith.mulf %a, %s : tensor<4xbf16>
  return %r : tensor<4xbf16>
}
"""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("device", ["emulated-gfx942", "local-task", "local-sync://"])
def test_files_without_a_type_and_parameters_reach_every_device(
    tool: Tool, tmp_path: Path, device: str
):
    """NumPy saves bf16 as raw bytes: the function says what they are."""
    (tmp_path / "m.mlir").write_text(BF16)
    np.save(tmp_path / "a.npy", np.array([1, 2, 3, 4], dtype_of("bf16")))
    index = ParameterIndex()
    index.add_buffer("scale", np.array([2, 2, 0.5, 1], dtype_of("bf16")).tobytes())
    index.create_archive_file(str(tmp_path / "p.irpa"))
    (tmp_path / "flags.txt").write_text("--input=@a.npy\n--output=@o.npy\n")
    result = tool(
        *("bankwise-run", "m.mlir", f"--device={device}", "--parameters=model=p.irpa"),
        *("--flagfile=flags.txt", "--expected_output=4xbf16=2 4 1.5 4", "--equality_mode=exact"),
    )
    assert result.returncode == 0, result.stderr
    assert "[SUCCESS]" in result.stdout
    assert np.load(tmp_path / "o.npy").dtype == np.uint16


def test_parameters_are_asked_for_on_every_device(tool: Tool, tmp_path: Path):
    (tmp_path / "m.mlir").write_text(BF16)
    for device, message in (
        ("emulated-gfx942", "the module needs the parameter 'model::scale'; give its file"),
        ("local-task", "the module needs parameters; give their files with --parameters=FILE"),
    ):
        result = tool("bankwise-run", "m.mlir", f"--device={device}", "--input=4xbf16=1")
        assert result.returncode == 1
        assert message in result.stderr.splitlines()[-1]


SCALE = """
func.func @main(%s: tensor<f32>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %b = linalg.broadcast ins(%s : tensor<f32>) outs(%e : tensor<4xf32>) dimensions = [0]
  %r = arith.mulf %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}
"""


@pytest.mark.sampled
@pytest.mark.parametrize("device", ["emulated-gfx942", "local-task"])
def test_tensors_of_rank_0_keep_their_rank(tool: Tool, tmp_path: Path, device: str):
    (tmp_path / "m.mlir").write_text(SCALE)
    inputs = ("--input=f32=3", "--input=4xf32=1 2 3 4")
    result = tool(
        *("bankwise-run", "m.mlir", f"--device={device}", *inputs),
        "--expected_output=4xf32=3 6 9 12",
    )
    assert result.returncode == 0, result.stderr
    wrong = tool("bankwise-run", "m.mlir", f"--device={device}", inputs[0])
    assert wrong.returncode == 1
    assert "func @main(%input0: tensor<f32>" in wrong.stderr.splitlines()[-1]


def test_devices_are_listed(tool: Tool):
    result = tool("bankwise-run", "--list_devices")
    assert result.returncode == 0
    assert {"local-task://", "emulated-gfx942"} <= set(result.stdout.split())


def test_a_wrong_result_fails(tool: Tool, attention: Kernel):
    result = tool(
        *("bankwise-run", "a.mlir", "--device=emulated-gfx942", *QKV),
        "--expected_output=1x128x64xf16=7",
    )
    assert result.returncode == 1
    assert "[FAILED] result[0]: differs in" in result.stderr


def test_annotated_assembly_names_the_conflicts(tool: Tool, attention: Kernel):
    result = tool(
        *("bankwise-run", "a.mlir", "--device=emulated-gfx942", *QKV, "--annotate"),
        *("--bankwise-mitigation=none", "--workgroups=1"),
    )
    assert result.returncode == 0, result.stderr
    assert "ds_read" in result.stdout
    assert "incomplete" in result.stdout


def test_two_compiles_are_compared_in_one_table(tool: Tool, tmp_path: Path):
    (tmp_path / "m.mlir").write_text(Matmul(256, 128, 64, "f32").source())
    common = ("bankwise-run", "m.mlir", "--device=emulated-gfx942", "--output=")
    inputs = ("--input=256x64xf32=1", "--input=64x128xf32=1")
    result = tool(*common, *inputs, "--compare=stock", "--counters-json=ours.json")
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("outputs: the same bits as with stock\n")
    rows = {
        cells[0]: cells[1:]
        for line in result.stdout.splitlines()
        if len(cells := [cell.strip() for cell in line.strip("│").split("│")]) == 4
    }
    tool(*common, *inputs, "--bankwise-mitigation=stock", "--counters-json=stock.json")
    found = [
        json.loads((tmp_path / f"{name}.json").read_text())["dispatches"][0]["counters"]
        for name in ("stock", "ours")
    ]
    for name in ("SQ_LDS_BANK_CONFLICT", "SQ_INSTS_LDS", "LDS_CYCLES"):
        assert rows[name][:2] == [f"{each[name]:,}" for each in found]
    sample = tool(*common, *inputs, "--compare=stock", "--workgroups=1").stdout
    assert "\n(a sample of workgroups was emulated; its counters are scaled to the" in sample
    assert "\noutputs: not compared, because those of a sample are incomplete\n" in sample
    scaled = rows["SQ_INSTS_MFMA"]
    assert re.search(rf"SQ_INSTS_MFMA +│ +{scaled[0]} │ +{scaled[1]} │", sample)
    wrong = tool(*common, *inputs, "--compare=stock", "--bankwise-mitigation=stock")
    assert wrong.returncode == 1 and "the module is compiled so itself" in wrong.stderr


def test_times_are_predicted(tool: Tool, attention: Kernel, tmp_path: Path):
    flags = ("--timing", "--timeline=t.json", "--counters-json=c.json", "--annotate", "--output=")
    result = tool("bankwise-run", "--module=a.mlir", "--device=emulated-gfx950", *QKV, *flags)
    assert result.returncode == 0, result.stderr
    assert ": predicted " in result.stdout
    assert " us on one MI355X, from " in result.stdout
    assert "predicted cycles most of them" in result.stdout
    (dispatch,) = json.loads((tmp_path / "c.json").read_text())["dispatches"]
    time = dispatch["timing"]["microseconds"]
    assert 0 < time["low"] < time["expected"] < time["high"]
    assert sum(dispatch["timing"]["spent"].values()) == pytest.approx(1, abs=1e-3)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}
    assert all(event["dur"] >= 4 for event in events if event["ph"] == "X")


@pytest.mark.nightly
def test_a_timeline_is_a_picture_where_its_file_ends_so(
    tool: Tool, attention: Kernel, tmp_path: Path
):
    flags = ("--timeline=t.SVG", "--output=", "--workgroups=1")
    result = tool("bankwise-run", "--module=a.mlir", "--device=emulated-gfx942", *QKV, *flags)
    assert result.returncode == 0, result.stderr
    picture = (tmp_path / "t.SVG").read_text()
    assert picture.startswith("<svg ")
    assert "one workgroup, predicted for MI300X" in picture
    assert "prefers-color-scheme: dark" in picture


def test_auto_says_which_device(tool: Tool, attention: Kernel):
    result = tool("bankwise-run", "a.mlir", *QKV, "--workgroups=1")
    reason = device_answers("hip")
    wanted = "device: emulated-gfx942 (no hip device answers" if reason else "device: hip"
    assert wanted in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.mlir", "--device=emulated-gfx942"], "cannot open input 'missing.mlir'"),
        (
            ["a.mlir", "--device=emulated-gfx942", *QKV[:2], "--input=1x128x32xf16=1"],
            "input2 is 1x128x32xf16, the function takes 1x128x64xf16",
        ),
        (["a.vmfb", "--device=emulated-gfx942"], "'a.vmfb': No such file or directory"),
        (["a.mlir", "--device=emulated-gfx942", "--input=@nil.npy"], "cannot read 'nil.npy'"),
        (["a.mlir", "--device=hip", *QKV], "name the chip"),
        (["a.vmfb", "--device=cuda"], "a.vmfb"),
        (
            ["a.mlir", "--device=emulated-gfx942", "--iree-rocm-target=gfx950"],
            "--iree-rocm-target=gfx950 contradicts",
        ),
        *(
            (["a.mlir", "--device=emulated-gfx942", *QKV, flag], f"{flag}: the emulator runs code")
            for flag in ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80")
        ),
        *(
            pytest.param(
                ["a.mlir", "--device=emulated-gfx942", *more], message, marks=pytest.mark.nightly
            )
            for more, message in (
                (QKV[:2], "takes 3 inputs, 2 are given"),
                (["--function=g"], "exports attention"),
                (
                    [*QKV, "--output=-", "--output=-"],
                    "2 --output flags are given, the function has one result",
                ),
            )
        ),
    ],
)
def test_bad_input_is_one_line(tool: Tool, attention: Kernel, arguments: list[str], message: str):
    result = tool("bankwise-run", *arguments)
    assert result.returncode == 1
    lines = [x for x in result.stderr.splitlines() if not x.startswith("device:")]
    assert len(lines) == 1, result.stderr
    assert message in lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output=@no/o.npy"], "cannot write 'no/o.npy': there is no directory '"),
        (["--output=-", "--output=@d.npy"], "cannot write 'd.npy': Is a directory"),
        (["--output=o.npy"], "--output=o.npy: expects @file.npy, @file.bin, +file.npy"),
        (["--counters-json=no/c.json"], "cannot write 'no/c.json': there is no directory '"),
    ],
)
def test_outputs_are_looked_at_before_the_run(
    tool: Tool, attention: Kernel, tmp_path: Path, arguments: list[str], message: str
):
    (tmp_path / "d.npy").mkdir()
    result = tool("bankwise-run", "a.mlir", "--device=emulated-gfx942", *QKV, *arguments)
    assert result.returncode == 1
    # Not even the device has been chosen.
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"bankwise-run: error: {message}")


def test_the_emulator_says_that_a_module_is_for_cuda(tool: Tool, tmp_path: Path):
    """No compile: the name of the format is what a module for CUDA has."""
    (tmp_path / "m.vmfb").write_bytes(b"PK\3\4 IREE cuda-nvptx-fb .target sm_80")
    result = tool("bankwise-run", "--module=m.vmfb", "--device=emulated-gfx942")
    assert result.returncode == 1
    assert "'m.vmfb': it is compiled for CUDA, and the emulator runs code for AMD" in result.stderr


def test_a_module_for_the_cpu_runs_too(tool: Tool, tmp_path: Path):
    (tmp_path / "m.mlir").write_text(Matmul(8, 8, 8, "f32").source())
    result = tool(
        *("bankwise-run", "m.mlir", "--device=local-task"),
        *("--input=8x8xf32=1", "--input=8x8xf32=2", "--expected_output=8x8xf32=16"),
    )
    assert result.returncode == 0, result.stderr
    assert "[SUCCESS]" in result.stdout


@pytest.mark.parametrize(
    ("driver", "flags"),
    [
        pytest.param("hip", ["--iree-rocm-target=gfx942"], marks=pytest.mark.rocm),
        pytest.param("cuda", ["--iree-cuda-target=sm_80"], marks=pytest.mark.cuda),
    ],
)
def test_on_a_real_gpu(
    tool: Tool, attention: Kernel, tmp_path: Path, driver: str, flags: list[str]
):
    reason = device_answers(driver)
    if reason:
        pytest.skip(f"no {driver} device answers: {reason}")
    outputs: list[bytes] = []
    for mitigation in ("none", "pad", "auto"):
        result = tool(
            *("bankwise-run", "a.mlir", f"--device={driver}", *flags, *QKV),
            *(f"--bankwise-mitigation={mitigation}", "--output=@out.bin"),
            *("--expected_output=@o.npy", "--expected_f16_threshold=0.002"),
        )
        assert result.returncode == 0, result.stderr
        outputs.append((tmp_path / "out.bin").read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]
