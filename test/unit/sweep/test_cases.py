# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which kernels a sweep measures, and how a file names them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bankwise.sweep.cases import (
    KernelFileError,
    cases,
    kernels_of_file,
    named_kernels,
)


def test_the_attention_sweep_has_110_shapes_of_each_type():
    kernels = named_kernels("attention", ("f16", "f32"))
    assert len({(k.name, k.dtype) for k in kernels}) == 220
    first = kernels[0]
    assert first.inputs == ("1x1024x64xf16",) * 3
    assert first.work == 2 * 2 * 1024 * 1024 * 64
    assert len(named_kernels("attention", ("f16",), every=50)) == 3


def test_cases_are_all_combinations():
    kernels = named_kernels("matmul", ("f16",), every=3)
    chosen = cases(kernels, ("gfx942", "gfx950"), ("none", "auto"), 2)
    assert len(chosen) == len(kernels) * 4
    assert len({(c.kernel.name, c.target, c.mode) for c in chosen}) == len(chosen)


def test_a_file_lists_shapes_and_modules(tmp_path: Path):
    (tmp_path / "m.mlir").write_text("module {}")
    entries = [
        {"kernel": "attention", "batch": 2, "seq": 512, "head_dim": 64},
        {"kernel": "matmul", "m": 8, "n": 16, "k": 32, "dtype": "bf16"},
        {"mlir": "m.mlir", "function": "main", "inputs": ["8xf32=1.0"]},
    ]
    path = tmp_path / "k.json"
    path.write_text(json.dumps(entries))
    kernels = kernels_of_file(path, ("f16", "f32"))
    assert [(k.name, k.dtype) for k in kernels] == [
        ("attention_2x512x64", "f16"),
        ("attention_2x512x64", "f32"),
        ("matmul_8x16x32", "bf16"),
        ("m.mlir@main", ""),
    ]
    assert kernels[-1].source.startswith("module {}\n")
    assert kernels[-1].inputs == ("8xf32=1.0",)


def test_a_changed_module_is_another_source(tmp_path: Path):
    path = tmp_path / "k.json"
    path.write_text(json.dumps([{"mlir": "m.mlir"}]))

    def digest(text: str) -> str:
        (tmp_path / "m.mlir").write_text(text)
        return cases(kernels_of_file(path, ()), ("gfx942",), ("none",), 2)[0].source_digest

    assert digest("module {}") == digest("module {}") != digest("module { }")


ATTENTION = {"kernel": "attention", "batch": 1, "seq": 64, "head_dim": 64}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "k.json:1:2: "),
        ("{}", "expects a list of kernels"),
        ("[]", "expects a list of kernels"),
        ("[3]", "entry 0: expects an object, not 3"),
        ('[{"kernel": "conv"}]', 'entry 0: "kernel" is "conv"; use "attention"'),
        (json.dumps([ATTENTION, {**ATTENTION, "seq": 0}]), 'entry 1: "seq" is 0; expects a number'),
        (json.dumps([{**ATTENTION, "seq": "64"}]), '"seq" is "64"; expects a number'),
        (json.dumps([{**ATTENTION, "heads": 4}]), 'unknown key "heads"; known are kernel'),
        (json.dumps([{**ATTENTION, "dtype": "f8"}]), '"dtype" is "f8"; use f16, bf16, f32'),
        (json.dumps([ATTENTION, ATTENTION]), "attention_1x64x64 f16 is listed twice"),
        ('[{"mlir": "gone.mlir"}]', "cannot read 'gone.mlir': No such file"),
        ('[{"mlir": "k.json", "inputs": "8xf32"}]', '"inputs" expects a list of values'),
    ],
)
def test_errors_in_a_file_are_located(tmp_path: Path, text: str, message: str):
    path = tmp_path / "k.json"
    path.write_text(text)
    with pytest.raises(KernelFileError) as raised:
        kernels_of_file(path, ("f16",))
    assert message in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(KernelFileError, match=r"cannot read '.*gone\.json': No such file"):
        kernels_of_file(tmp_path / "gone.json", ("f16",))


def test_json_without_an_end_of_brackets_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "k.json"
    path.write_text("[" * 100_000)
    with pytest.raises(KernelFileError, match="nested too deeply"):
        kernels_of_file(path, ["f16"])
