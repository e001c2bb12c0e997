# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bankwise-run for a kernel's assembly."""

from __future__ import annotations

import pytest

from bankwise.tools.assembly_arguments import AssemblySettings
from bankwise.tools.run_arguments import parse_arguments
from bankwise.tools.usage import UsageError


def settings(*flags: str) -> AssemblySettings:
    found = parse_arguments(["k.s", *flags])
    assert isinstance(found, AssemblySettings)
    return found


def test_all_flags():
    found = settings(
        *("--kernel=f", "--grid=8,16", "--block", "32,2,4", "--arg=@a.npy", "--arg=-1:i32"),
        *("--shared=64", "--target=gfx950", "--output=1:@o.npy", "--output=out:-", "--counters"),
        *("--expected_output=1:4xf32=1 2 3 4", "--expected_f32_threshold=0.5", "--annotate"),
        *("--equality_mode=exact", "--output_max_element_count=3", "--counters-json=c.json"),
    )
    assert (found.assembly, found.kernel, found.target, found.shared) == ("k.s", "f", "gfx950", 64)
    assert (found.grid, found.block) == ((8, 16), (32, 2, 4))
    assert found.arguments == ("@a.npy", "-1:i32")
    assert found.outputs == (("1", "@o.npy"), ("out", "-"))
    assert found.expected == (("1", "4xf32=1 2 3 4"),)
    assert (found.counters, found.annotate, found.counters_json) == (True, True, "c.json")
    assert (found.thresholds["f32"], found.exact, found.max_elements) == (0.5, True, 3)


@pytest.mark.parametrize("name", ["k.s", "k.amdgcn", "k.rocmasm", "k.asm", "k"])
def test_a_file_is_assembly_by_its_name_or_by_a_flag(name: str):
    assert isinstance(parse_arguments([name, "--grid=1"]), AssemblySettings)


def test_the_device_may_name_the_chip():
    assert settings("--grid=1", "--device=emulated-gfx950").target == "gfx950"
    assert settings("--grid=1").target == ""


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ("k.s", "no --grid"),
        ("--grid=1", "no assembly; name a file"),
        ("a.s b.s --grid=1", "two files, 'a.s' and 'b.s'"),
        ("--module=k.s --grid=1", "--module=k.s is assembly: write the file without a flag"),
        ("--module=k.mlir --grid=1", "--module=k.mlir is a module: --kernel, --grid, .* assembly"),
        ("k.s --grid=1 --function=f", "--function has no meaning for assembly"),
        ("k.s --grid=1 --input=1", "--input has no meaning for assembly"),
        ("k.s --grid=1 --parameters=p.irpa", "--parameters has no meaning for assembly"),
        ("k.s --grid=1 --bankwise-mitigation=none", "--bankwise-mitigation has no meaning"),
        ("k.s --grid=1 --iree-rocm-target=gfx942", "--iree-rocm-target has no meaning"),
        ("k.s --grid=1 --device=hip", "--device=hip: assembly runs on the emulator alone"),
        ("k.s --grid=1 --device=emulated-gfx1", "--device=emulated-gfx1: assembly runs on"),
        ("k.s --grid=1 --target=gfx908", "--target: 'gfx908' is not one of gfx90a, gfx942, gfx950"),
        ("k.s --grid=1 --target=gfx942 --device=emulated-gfx950", "contradicts --device"),
        ("k.s --grid=0", "--grid=0: expects X, X,Y or X,Y,Z, numbers from 1 to 999999999"),
        ("k.s --grid=1,2,3,4", "--grid=1,2,3,4: expects"),
        ("k.s --grid=1 --block=8x8", "--block=8x8: expects"),
        ("k.s --grid=1 --shared=-1", "--shared=-1: expects a number of bytes"),
        ("k.s --grid=1 --shared=x", "--shared"),
        ("k.s --grid=1 --output=@o.npy", "--output=@o.npy: say of which argument"),
        ("k.s --grid=1 --workgroups=0", "--workgroups=0"),
        ("k.s --grid=1 --workgroups=1 --expected_output=0:1", "--workgroups: a sample"),
    ],
)
def test_what_cannot_be(flags: str, reason: str):
    with pytest.raises(UsageError, match=reason):
        parse_arguments(flags.split())
