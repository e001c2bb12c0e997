# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bankwise-run."""

import pytest

from bankwise.runtime.module_run import RunSettings
from bankwise.tools.run_arguments import parse_arguments
from bankwise.tools.usage import UsageError


def module_settings(argv: list[str]) -> RunSettings:
    settings = parse_arguments(argv)
    assert isinstance(settings, RunSettings)
    return settings


def test_compile_flags_pass_through():
    settings = module_settings(
        ["a.mlir", "--iree-rocm-target=gfx950", "--input=1", "--input=2", "--counters"]
    )
    assert settings.compile_flags == ("--iree-rocm-target=gfx950",)
    assert settings.inputs == ("1", "2")
    assert settings.is_source


def test_all_flags_of_the_compile_tool_are_taken():
    settings = module_settings(
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


def test_flags_are_read_from_files_where_they_stand(tmp_path):
    """Later flags win; a file may be the output of iree-run-module's --help."""
    (tmp_path / "inner.txt").write_text('--function="f"\n')
    (tmp_path / "flags.txt").write_text(
        f"# a comment\n\n--device=emulated-gfx950\n--input=2xi32=1 2\n"
        f"--flagfile={tmp_path}/inner.txt\n--output_max_element_count=3\n"
    )
    flags = ["a.mlir", "--flagfile", f"{tmp_path}/flags.txt", "--output_max_element_count=5"]
    settings = module_settings(flags)
    assert settings.device == "emulated-gfx950"
    assert settings.inputs == ("2xi32=1 2",)
    assert settings.function == "f"
    assert settings.max_elements == 5
    (tmp_path / "inner.txt").write_text(f"--flagfile={tmp_path}/flags.txt\n")
    with pytest.raises(UsageError, match="the file reads itself"):
        parse_arguments(flags)


def test_a_real_device_may_be_a_uri():
    settings = module_settings(["a.vmfb", "--device=hip://0", "--device_allocator=caching"])
    assert settings.device == "hip://0"
    assert settings.allocators == ("caching",)
    assert module_settings(["--list_devices"]).list_devices == ""
    assert module_settings(["--list_devices=hip"]).list_devices == "hip"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no module"),
        (["--modle=a.mlir"], "unknown flag '--modle=a.mlir'; did you mean '--module'"),
        (["a.mlir", "--module=b.mlir"], "two modules"),
        (["a.mlir", "--device=mps"], "--device: 'mps' is not one of auto, hip,"),
        (["a.mlir", "--device=emulated-gfx942://0"], "has no devices to choose from"),
        (["a.mlir", "--device=emulated-gfx942", "--device_allocator=debug"], "has one allocator"),
        (["a.mlir", "--flagfile=missing"], "--flagfile=missing: cannot read it: No such file"),
        (["a.mlir", "--compile-to=hal"], "--compile-to has no meaning for a run"),
        (["a.mlir", "-o", "x"], "-o has no meaning for a run"),
        (["a.vmfb", "--bankwise-remarks"], "--bankwise-remarks: 'a.vmfb' is compiled already"),
        (["a.vmfb", "--iree-rocm-target=gfx950"], "is compiled already"),
        (["a.mlir", "--workgroups=0"], "expects a number from 1"),
        (["a.mlir", "--workgroups=x"], "invalid int value"),
        (["a.mlir", "--workgroups=1", "--expected_output=1"], "no complete output"),
        (["a.vmfb", "--device=cuda", "--counters"], "'cuda' is not emulated"),
        (["a.vmfb", "--device=cuda", "--timing"], "'cuda' is not emulated"),
        (["a.vmfb", "--device=hip", "--annotate"], "'hip' is not emulated"),
    ],
)
def test_bad_command_lines_are_explained(arguments, message):
    with pytest.raises(UsageError, match=message):
        parse_arguments(arguments)
