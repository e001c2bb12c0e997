# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One sentence for a GPU that nobody describes to the compiler."""

from __future__ import annotations

import pytest

from bankwise.iree_plugin.described_target import (
    missing_target,
    unknown_amd_target,
    unknown_cuda_target,
)


@pytest.mark.parametrize(
    ("flags", "arch"),
    [
        (["--iree-cuda-target=sm_100"], "sm_100"),
        (["-iree-cuda-target", "sm_103a"], "sm_103a"),
        (["--iree-cuda-target=sm_100", "--iree-cuda-target=sm_80"], ""),
        (["--iree-cuda-target=sm_120", "--iree-rocm-target=sm_100"], ""),
        (["--iree-cuda-target=sm_89a"], "sm_89a"),
        (["--iree-cuda-target=sm_90f"], "sm_90f"),
        (["--iree-cuda-target=sm_90"], ""),
        (["--iree-cuda-target=sm_90a"], ""),
        (["--iree-cuda-target=a100"], ""),
        (["--iree-cuda-target=b200"], "sm_100"),
        (["--iree-cuda-target=sm_110"], "sm_110"),
        ([], ""),
    ],
)
def test_the_last_flag_counts(flags: list[str], arch: str) -> None:
    assert unknown_cuda_target(flags) == arch


@pytest.mark.parametrize(
    ("arch", "instead"),
    [("sm_100", "sm_90"), ("sm_90f", "sm_90"), ("sm_89a", "sm_89"), ("sm_73", "sm_70")],
)
def test_the_sentence_names_the_place_and_a_gpu_whose_code_runs(arch: str, instead: str) -> None:
    said = missing_target(arch, "a.mlir:6:10: error: missing GPU target in #hal\nmore", "3.13")
    assert said == (
        f"a.mlir:6:10: error: IREE 3.13 does not know the GPU {arch}; compile for {instead}, "
        f"whose code runs on it: --iree-cuda-target={instead}"
    )
    older = missing_target("sm_53", "error: missing GPU target", "3.13")
    assert older == "error: IREE 3.13 does not know the GPU sm_53"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--iree-hal-target-device=hip"], "hip"),
        (["-iree-hal-target-backends", "rocm"], "hip"),
        (["--iree-hal-target-device=hip", "--iree-rocm-target=gfx9422"], "gfx9422"),
        (["--iree-rocm-target=gfx1102"], "gfx1102"),
        (["--iree-hal-target-device=hip", "--iree-rocm-target=mi300x"], ""),
        (["--iree-hal-target-device=cuda"], ""),
    ],
)
def test_an_amd_gpu_may_be_unknown(flags: list[str], said: str) -> None:
    assert unknown_amd_target(flags) == said


_ALIAS = 'a.mlir:0:0: error: device alias "hip" does not provide any executable targets'


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ("ROCM target not set; did you forget to pass '--iree-rocm-target'?", ""),
        ("Unknown ROCM target 'gfx9422'", "; did you mean 'gfx942'?"),
        ("Unknown ROCM target 'mine'", ""),
    ],
)
def test_one_line_for_an_amd_gpu(fault: str, hint: str) -> None:
    for place in ("", "loc(unknown): "):
        said = missing_target("hip", f"error: {place}{fault}\n{_ALIAS}", "3.13")
        assert said == f"error: {fault}{hint}"
    assert missing_target("hip", "a.mlir:6:10: error: missing GPU target", "3.13") == ""


def test_other_errors_stay_as_they_are() -> None:
    assert missing_target("sm_100", "a.mlir:1:1: error: expected ']'", "3.13") == ""
