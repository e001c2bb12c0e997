# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in C++ are named as in the source."""

from __future__ import annotations

import pytest

from bankwise.emulator.assembly import parse_kernel
from bankwise.emulator.instruction_text import AssemblyError
from bankwise.emulator.symbol_names import source_names

from .small_kernels import assembly


@pytest.mark.parametrize(
    ("symbol", "names"),
    [
        ("_Z9transposePKDF16_PDF16_ii", {"transpose"}),
        ("_Z9transposeILi4EEvPf", {"transpose"}),
        ("_ZN4math6matrix9transposeEPf", {"transpose", "math::matrix::transpose"}),
        ("_ZN4math9transposeILi4EEEvPf", {"transpose", "math::transpose"}),
        ("_ZN12_GLOBAL__N_19transposeEPf", {"transpose"}),
        ("_ZL5twicei", {"twice"}),
        ("transpose", set()),
        ("_Z", set()),
    ],
)
def test_names_in_the_source(symbol: str, names: set[str]):
    assert source_names(symbol) == names


def two_kernels(first: str, second: str) -> str:
    def renamed(name: str) -> str:
        text = (
            assembly("")
            .replace("k:\n", f"{name}:\n")
            .replace("amdhsa_kernel k", f"amdhsa_kernel {name}")
        )
        return text.replace(".name: k", f".name: {name}")

    head, metadata = (renamed(first).partition("\t.amdgpu_metadata\n")[part] for part in (0, 2))
    entry = metadata[metadata.index("  - ") : metadata.index("...")]
    return head + renamed(second).replace("...\n", f"{entry}...\n")


def test_a_kernel_may_be_named_as_in_the_source():
    text = two_kernels("_Z4copyPf", "_ZN2ns5scaleEPff")
    assert parse_kernel(text, name="copy").name == "_Z4copyPf"
    assert parse_kernel(text, name="ns::scale").name == "_ZN2ns5scaleEPff"
    assert parse_kernel(text, name="_Z4copyPf").name == "_Z4copyPf"
    with pytest.raises(AssemblyError, match="no kernel 'Copy'; the file holds _Z4copyPf, _ZN2ns5"):
        parse_kernel(text, name="Copy")


def test_a_name_of_several_kernels_does_not_do():
    text = two_kernels("_Z4copyPf", "_Z4copyPd")
    with pytest.raises(AssemblyError, match="several kernels 'copy': _Z4copyPf, _Z4copyPd"):
        parse_kernel(text, "k.s", name="copy")
