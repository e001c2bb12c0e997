# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Telling a user's configuration of kernels from IREE's."""

from __future__ import annotations

from pathlib import Path

import pytest
from iree.compiler import ir

from bankwise.iree_plugin.invocations import (
    configuring_attribute,
    configuring_flag,
    may_configure,
    may_multiply_unsigned,
)


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ((), ""),
        (("--iree-hal-target-device=cuda",), ""),
        (("--iree-codegen-tuning-spec-path=a.mlir",), "--iree-codegen-tuning-spec-path is given"),
        (("-iree-codegen-tuning-spec-path", "a.mlir"), "--iree-codegen-tuning-spec-path is given"),
        (
            ("--iree-codegen-enable-default-tuning-specs",),
            "--iree-codegen-enable-default-tuning-specs is given",
        ),
        (("--iree-codegen-enable-default-tuning-specs=false",), ""),
    ],
)
def test_flags(flags: tuple[str, ...], found: str) -> None:
    assert configuring_flag(flags) == found


@pytest.mark.parametrize(
    ("attributes", "found"),
    [
        ("", ""),
        ("{other = 1}", ""),
        ("{compilation_info = 1}", "the program has a compilation_info of its own"),
        ("{lowering_config = 1}", "the program has a lowering_config of its own"),
        ("{translation_info = 1}", "the program has a translation_info of its own"),
    ],
)
def test_attributes_at_any_depth(attributes: str, found: str) -> None:
    text = f'"a.a"() ({{ "b.b"() {attributes} : () -> () }}) : () -> ()'
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        assert configuring_attribute(module.operation) == found


@pytest.mark.parametrize(
    ("text", "may"),
    [
        (b"func.func private @f()", False),
        (b'func.func private @f() attributes {translation_info = "mine"}', True),
        (b'func.func private @f() attributes {"translation\\5Finfo" = "mine"}', True),
        (b"ML\xefR\x00lowering_config\x00", True),
        (b"", True),
    ],
)
def test_only_a_file_with_a_name_of_a_configuration_may_have_one(
    text: bytes, may: bool, tmp_path: Path
):
    (tmp_path / "source.mlir").write_bytes(text)
    assert may_configure(str(tmp_path / "source.mlir")) is may
    assert may_configure(str(tmp_path))
    assert may_configure("-")
    assert may_configure(None)


@pytest.mark.parametrize(
    ("text", "may"),
    [
        (b"stablehlo.dot %a : tensor<4x?xi1>", True),
        (b"stablehlo.dot %a : tensor<ui16>", True),
        (b"ML\xefR ... stablehlo", True),
        (b'"stablehlo.d\\6ft" : tensor<4xf32>', True),
        (b"stablehlo.dot %a : tensor<4xf32>, tensor<4xi16>", False),
        (b"linalg.matmul %a : tensor<4xi1>", False),
    ],
)
def test_a_source_without_unsigned_factors_is_not_looked_through(
    tmp_path: Path, text: bytes, may: bool
) -> None:
    source = tmp_path / "source.mlir"
    source.write_bytes(text)
    assert may_multiply_unsigned(str(source)) is may
