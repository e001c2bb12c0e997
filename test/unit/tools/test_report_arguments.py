# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bankwise-report: what is read, and what is compiled."""

from __future__ import annotations

import pytest

from bankwise.tools.report_arguments import parse_report_arguments
from bankwise.tools.usage import UsageError


def test_files_are_read_unless_a_compiler_flag_asks_for_a_compile() -> None:
    read = parse_report_arguments(["a.mlir", "-", "--target=gfx942", "--bank-map"])
    assert read.inputs == ("a.mlir", "-")
    assert (read.target, read.bank_map, read.compile) == ("gfx942", True, None)
    assert not read.check_proofs
    assert parse_report_arguments(["a.mlir", "--check-proofs"]).check_proofs
    for flag in ("--iree-rocm-target=gfx942", "--bankwise-mitigation=none", "--compile"):
        compiled = parse_report_arguments(["a.mlir", flag])
        assert compiled.inputs == ("a.mlir",)
        assert compiled.compile is not None
    assert parse_report_arguments(["a.mlir", "--compile=false"]).compile is None


def test_a_compile_keeps_the_compilers_flags() -> None:
    words = ["a.mlir", "--format", "html", "--iree-hal-target-device", "hip", "-o=x", "--x=1"]
    settings = parse_report_arguments(words).compile
    assert settings is not None
    assert settings.process_flags == ("--iree-hal-target-device", "hip", "--x=1")
    assert settings.mitigation == "auto"


@pytest.mark.parametrize("words", [["-o", "f"], ["-o=f"], ["--o=f"], ["--output=f"]])
def test_the_output_has_llvms_forms(words: list[str]) -> None:
    assert parse_report_arguments(["a.mlir", *words]).output == "f"


def test_numbers_add_up() -> None:
    settings = parse_report_arguments(["a.mlir", "--access=2", "--access", "5", "--allocation=1"])
    assert settings.accesses == {2, 5}
    assert settings.allocations == {1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no input file"),
        (["--compile"], "no input file"),
        (["a.mlir", "--format=pdf"], "'pdf' is not one of text, json, markdown, html"),
        (["a.mlir", "--format"], "--format needs a value"),
        (["a.mlir", "--access=0"], "--access expects a number"),
        (["a.mlir", "--access=x"], "--access expects a number"),
        (["a.mlir", "--bank-map=maybe"], "expects true or false, 1 or 0"),
        (["a.mlir", "--bank-maps"], "unknown flag '--bank-maps'"),
        (["a.mlir", "--bankwise-maps"], "unknown flag '--bankwise-maps'"),
        (["a.mlir", "--compile", "--target=gfx942"], "--target is for IR that is only read"),
        (["a.mlir", "--compile", "--split-input-file"], "only read, not for a compile"),
        (["a.mlir", "--bankwise-remarks"], "--bankwise-remarks has no meaning"),
        (["a.mlir", "--compile", "--compile-to=hal"], "--compile-to has no meaning"),
        (["a.mlir", "b.mlir", "--compile"], "several input files"),
        (["a.mlir", "--compile", "--compile-from=hal"], "code of the GPU is made before this"),
        (["a.mlir", "--iree-execution-model=inline-dynamic"], "no phase of codegen"),
        (["a.mlir", "--iree-execution-model", "host-only"], "--iree-execution-model=host-only has"),
    ],
)
def test_wrong_flags_are_named(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_report_arguments(words)
