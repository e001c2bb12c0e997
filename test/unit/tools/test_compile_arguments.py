# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bankwise-compile: whose flag is whose."""

from pathlib import Path

import pytest

from bankwise.passes.mode import Mode, modes
from bankwise.tools.compile_arguments import flags_without_codegen, parse_arguments
from bankwise.tools.usage import UsageError


def test_flags_of_the_library_pass_through_untouched() -> None:
    settings = parse_arguments(["--iree-rocm-target=gfx942", "a.mlir", "-o", "a.vmfb", "--x"])
    assert settings.input == "a.mlir"
    assert settings.output == "a.vmfb"
    assert settings.process_flags == ("--iree-rocm-target=gfx942", "--x")


@pytest.mark.parametrize("form", [["-o", "x"], ["-o=x"], ["--o=x"], ["--o", "x"]])
def test_the_output_may_be_given_in_every_llvm_form(form: list[str]) -> None:
    assert parse_arguments(["a.mlir", *form]).output == "x"


def test_our_flags_are_read() -> None:
    settings = parse_arguments(
        ["-", "--bankwise-mitigation=pad", "--bankwise-remarks", "--bankwise-decisions=d.json",
         "-bankwise-dump-ir=ir", "--verify=false", "--compile-to=hal"]
    )  # fmt: skip
    assert settings.input == "-"
    assert (settings.mitigation, settings.remarks, settings.verify) == ("pad", True, False)
    assert (settings.decisions, settings.dump_ir, settings.compile_to) == ("d.json", "ir", "hal")
    assert settings.process_flags == ()


def test_a_separate_value_is_not_taken_for_the_input(tmp_path: Path) -> None:
    source = tmp_path / "a.mlir"
    source.write_text("")
    for words in (
        ["--iree-hal-target-device", "hip", str(source)],
        [str(source), "--iree-hal-target-device", "hip"],
        ["--mlir-disable-threading", str(source)],
        ["--mlir-disable-threading", str(source), "--iree-hal-target-device", "hip"],
    ):
        settings = parse_arguments(words)
        assert settings.input == str(source)
        assert [*settings.process_flags] == [word for word in words if word != str(source)]


def test_passes_of_ours_are_taken_out_of_print_lists() -> None:
    settings = parse_arguments(["a.mlir", "--mlir-print-ir-after=cse,bankwise-x", "-o=b"])
    assert settings.print_after == ("bankwise-x",)
    assert settings.process_flags == ("--mlir-print-ir-after=cse",)


def test_response_files_are_read(tmp_path: Path) -> None:
    response = tmp_path / "flags"
    response.write_text("--bankwise-mitigation=none '--a=b c'\n")
    settings = parse_arguments(["a.mlir", f"@{response}"])
    assert settings.mitigation == "none"
    assert settings.process_flags == ("--a=b c",)


def test_a_response_file_with_an_open_quote_is_named(tmp_path: Path) -> None:
    response = tmp_path / "flags"
    response.write_text("'--a=b\n")
    with pytest.raises(UsageError, match=f"cannot read '@{response}': No closing quotation"):
        parse_arguments([f"@{response}"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bankwise-mitigation=best"], "'best' is not one of auto, swizzle, pad, none, stock"),
        (["--bankwise-remark"], "did you mean '--bankwise-remarks'"),
        (["a.mlir", "-o"], "-o needs a value"),
        (["a.mlir", "b.mlir"], "several input files: 'a.mlir', 'b.mlir'"),
        (["--compile-mode=hal-executable"], "--compile-mode=hal-executable runs codegen in one"),
        (["--output-format=elf"], "'elf' is not one of vm-bytecode"),
        (["--verify=maybe"], "--verify expects true or false, 1 or 0, got 'maybe'"),
        (["--emit-mlir-bytecode-version=x"], "expects an integer, got 'x'"),
    ],
)
def test_wrong_flags_are_named(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_arguments(words)


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (
            ["mitigation=stock", "level=fast"],
            "--bankwise-level=fast: the mitigation 'stock' has no levels; auto and swizzle have",
        ),
        (["level=exact", "mitigation=pad"], "--bankwise-level=exact: the mitigation 'pad' has no"),
        (["mitigation=none", "retile=on"], "--bankwise-retile=on: the mitigation 'none' replaces"),
        (
            ["level=layout", "retile=on"],
            "--bankwise-retile=on: the level 'layout' replaces no tiles; exact and fast do",
        ),
        (["mitigation=pad", "write-tuning-spec=t"], "-spec: there is nothing to write: the mitig"),
        (["level=layout", "write-tuning-spec=t"], "-spec: there is nothing to write: the level"),
        (["retile=off", "write-tuning-spec=t"], "nothing to write: --bankwise-retile=off replaces"),
    ],
)
def test_what_nothing_would_come_of_is_refused(flags: list[str], error: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arguments(["a.mlir", *(f"--bankwise-{flag}" for flag in flags)])
    assert error in str(caught.value)


def test_every_mode_is_what_its_flags_ask_for() -> None:
    for name in modes():
        mode = Mode.parse(name)
        assert parse_arguments(["a.mlir", *mode.flags()]).mode == mode


@pytest.mark.parametrize("flag", ["mitigation=stock", "level=layout", "mitigation=pad"])
def test_tiles_that_stay_anyway_may_be_asked_to_stay(flag: str) -> None:
    settings = parse_arguments(["a.mlir", f"--bankwise-{flag}", "--bankwise-retile=off"])
    assert settings.retile == "off"


@pytest.mark.parametrize(
    ("flags", "ignored"),
    [
        (["--compile-to=flow"], []),
        (["--compile-to=flow", "--bankwise-level=fast"], ["--bankwise-level"]),
        (
            ["--compile-from=executable-targets", "--bankwise-remarks", "--bankwise-dump-ir=d"],
            ["--bankwise-dump-ir", "--bankwise-remarks"],
        ),
        (["--compile-mode=vm", "--bankwise-retile=on"], ["--bankwise-retile"]),
        (["--compile-to=executable-targets", "--bankwise-level=fast"], []),
    ],
)
def test_flags_of_ours_are_named_where_no_gpu_code_is_generated(
    flags: list[str], ignored: list[str]
) -> None:
    assert flags_without_codegen(parse_arguments(["a.mlir", *flags])) == ignored


def test_a_check_that_is_not_made_is_not_passed() -> None:
    settings = parse_arguments(["a.mlir", "--compile-to=hal", "--compile-from=hal"])
    assert flags_without_codegen(settings) == []
    settings = parse_arguments(["a.mlir", "--compile-to=executable-sources", "--bankwise-verify"])
    with pytest.raises(UsageError, match="ends before the codegen for GPUs, so that nothing is v"):
        flags_without_codegen(settings)


def test_a_name_on_which_the_compiler_crashes_is_refused() -> None:
    for flags in (["--iree-cuda-target=foo"], ["--iree-cuda-target", "rtx9990"]):
        with pytest.raises(UsageError, match=r"iree-cuda-target=\w+: no GPU of this name is known"):
            parse_arguments(["a.mlir", *flags])
    before = parse_arguments(["--iree-cuda-target=sm_80", "a.mlir"])
    assert before.process_flags == ("--iree-cuda-target=sm_80",)
    for name in ("a100", "turing", "rtx3090ti", "v100", "b200", "gb10", "sm_110", "SM_90A"):
        assert parse_arguments(["a.mlir", f"--iree-cuda-target={name}"]).process_flags
