# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bankwise-run."""

import pytest

from bankwise.tools.run_arguments import parse_arguments
from bankwise.tools.usage import UsageError


def test_compile_flags_pass_through():
    settings = parse_arguments(
        ["a.mlir", "--iree-rocm-target=gfx950", "--input=1", "--input=2", "--counters"]
    )
    assert settings.compile_flags == ("--iree-rocm-target=gfx950",)
    assert settings.inputs == ("1", "2")
    assert settings.is_source


def test_all_flags_of_the_compile_tool_are_taken():
    settings = parse_arguments(
        [
            *("--iree-rocm-target", "gfx950", "--module", "a.mlir", "--device", "emulated-gfx950"),
            *("--iree-codegen-llvmgpu-use-igemm=false", "--iree-llvmgpu-use-direct-load"),
            *("--bankwise-remarks", "--bankwise-mitigation=pad", "--mlir-disable-threading"),
        ]
    )
    assert settings.module == settings.compile.input == "a.mlir"
    assert settings.compile.remarks
    assert settings.compile.mitigation == "pad"
    assert settings.compile_flags == (
        "--iree-rocm-target=gfx950",
        "--iree-codegen-llvmgpu-use-igemm=false",
        "--iree-llvmgpu-use-direct-load",
        "--mlir-disable-threading",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no module"),
        (["a.mlir", "--module=b.mlir"], "two modules"),
        (["a.mlir", "--device=mps"], "invalid choice: 'mps'"),
        (["a.mlir", "--compile-to=hal"], "--compile-to has no meaning for a run"),
        (["a.mlir", "-o", "x"], "-o has no meaning for a run"),
        (["a.vmfb", "--bankwise-remarks"], "--bankwise-remarks: 'a.vmfb' is compiled already"),
        (["a.vmfb", "--iree-rocm-target=gfx950"], "is compiled already"),
        (["a.mlir", "--workgroups=0"], "expects a number from 1"),
        (["a.mlir", "--workgroups=x"], "invalid int value"),
        (["a.mlir", "--workgroups=1", "--expected_output=1"], "no complete output"),
        (["a.vmfb", "--device=cuda", "--counters"], "'cuda' is not emulated"),
        (["a.vmfb", "--device=hip", "--annotate"], "'hip' is not emulated"),
    ],
)
def test_bad_command_lines_are_explained(arguments, message):
    with pytest.raises(UsageError, match=message):
        parse_arguments(arguments)
