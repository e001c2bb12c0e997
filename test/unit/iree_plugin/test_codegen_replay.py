# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a command line decides which recording applies."""

from bankwise.iree_plugin.codegen_replay import codegen_flags


def test_targets_and_dumps_do_not_change_a_pipeline() -> None:
    flags = [
        "--iree-hal-target-device=hip",
        "--iree-rocm-target=gfx942",
        "-iree-hal-dump-executable-files-to=x",
        "--mlir-print-ir-after-all",
    ]
    assert codegen_flags(flags) == ()


def test_codegen_flags_may() -> None:
    flags = ["--iree-llvmgpu-b", "--iree-hal-target-device=hip", "--iree-codegen-a=1"]
    assert codegen_flags(flags) == ("--iree-codegen-a=1", "--iree-llvmgpu-b")


def test_a_value_of_its_own_belongs_to_its_flag() -> None:
    flags = ["--iree-hal-target-device", "hip", "--iree-codegen-a", "1", "--iree-rocm-target=x"]
    assert codegen_flags(flags) == ("--iree-codegen-a=1",)
