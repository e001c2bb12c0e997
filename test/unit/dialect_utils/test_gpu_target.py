# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading the GPU target and the launch of a function."""

from __future__ import annotations

import re

import pytest

from bankwise.bank_model.features import features_of
from bankwise.bank_model.lds_tables import lds_of
from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.gpu_target import (
    GpuTargetInfo,
    Launch,
    gpu_target_of,
    launch_of,
    lds_model,
)

from ..functions import gpu_target, launched, parse

GFX942, SM_80 = gpu_target("gfx942", 65536), gpu_target("sm_80", 166912)


def test_target_of_the_enclosing_variant() -> None:
    _, _, executable = GFX942.partition(" = ")
    parsed = parse(
        f"""
        hal.executable private @e {{
          hal.executable.variant public @v target({executable}) {{
            builtin.module {{ func.func @f() {{ return }} }}
          }}
        }}"""
    )
    info = gpu_target_of(parsed.function, test_target="sm_80")
    assert info == GpuTargetInfo("gfx942", 65536)


def test_own_attribute_wins_over_the_parents() -> None:
    parsed = parse(
        f"""
        module attributes {{{GFX942}}} {{
          func.func @f() attributes {{{SM_80}}} {{
            return
          }}
        }}"""
    )
    assert gpu_target_of(parsed.function) == GpuTargetInfo("sm_80", 166912)
    assert gpu_target_of(parsed.module.operation) == GpuTargetInfo("gfx942", 65536)


def test_test_target_is_the_fallback() -> None:
    parsed = parse("func.func @f() { return }")
    assert gpu_target_of(parsed.function) is None
    assert gpu_target_of(parsed.function, "gfx950") == GpuTargetInfo("gfx950")


def test_a_cpu_target_is_no_gpu_target() -> None:
    cpu = '#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic"}>'
    parsed = parse(f"func.func @f() attributes {{hal.executable.target = {cpu}}} {{ return }}")
    assert gpu_target_of(parsed.function) is None


def device(number: int, target: str) -> str:
    """Returns a global of a program that names a device with an executable target."""
    return (
        f"util.global private @__device_{number} = "
        f'#hal.device.target<"local", [{target}]> : !hal.device\n'
    )


CPU = '#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic"}>'
GPU, OTHER = (each.partition(" = ")[2] for each in (GFX942, SM_80))


@pytest.mark.parametrize(
    ("devices", "arch"),
    [([GPU], "gfx942"), ([GPU, GPU], "gfx942"), ([GPU, OTHER], ""), ([GPU, CPU], ""), ([CPU], "")],
)
def test_a_program_has_the_target_of_its_devices(devices: list[str], arch: str) -> None:
    globals_ = "".join(device(*each) for each in enumerate(devices))
    parsed = parse(globals_ + "func.func @f() { return }")
    info = gpu_target_of(parsed.function)
    assert (info.arch if info else "") == arch


def test_a_function_for_a_cpu_does_not_have_that_of_a_device() -> None:
    attributes = f"attributes {{hal.executable.target = {CPU}}}"
    parsed = parse(f"{device(0, GPU)} func.func @f() {attributes} {{ return }}")
    assert gpu_target_of(parsed.function) is None


def test_launch() -> None:
    parsed = parse(f"func.func @f() attributes {{{launched('64, 3, 1')}}} {{ return }}")
    launch = launch_of(parsed.function)
    assert launch == Launch((64, 3, 1), 64)
    assert launch is not None
    assert (launch.threads, launch.waves) == (192, 3)


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        f"attributes {{{re.sub(' workgroup_size.*64', '', launched())}}}",
        f"attributes {{{launched().replace(' subgroup_size = 64', '')}}}",
    ],
)
def test_no_launch(attributes: str) -> None:
    parsed = parse(f"func.func @f() {attributes} {{ return }}")
    assert launch_of(parsed.function) is None


@pytest.mark.parametrize(
    ("arch", "subgroup_size", "reason"),
    [
        (None, 64, "the function has no GPU target"),
        ("gfx908", 64, "the LDS of gfx908 is not known"),
        (
            "gfx942",
            None,
            "the function has no translation_info with workgroup and subgroup size, and no known "
            "block size, which --block=X,Y,Z gives to bankwise-opt and bankwise-report",
        ),
        (
            "gfx942",
            2048,
            "its workgroups have 2,048 lanes, and GPUs run at most 1,024 in one",
        ),
        ("gfx942", 32, "waves of 32 lanes: the LDS of gfx942 is only known for 64"),
    ],
)
def test_why_there_is_no_lds_model(
    arch: str | None, subgroup_size: int | None, reason: str
) -> None:
    info = launched(wave=subgroup_size or 0).replace(" subgroup_size = 0", "")
    parsed = parse(f"func.func @f() attributes {{{info}}} {{ return }}")
    with pytest.raises(Refusal, match=f"^{re.escape(reason)}$"):
        lds_model(parsed.function, arch)


def test_lds_model_is_of_the_target_and_the_launch() -> None:
    parsed = parse(f"func.func @f() attributes {{{launched('96, 1, 1')}}} {{ return }}")
    model = lds_model(parsed.function, "gfx942")
    assert model == (lds_of("gfx942"), Launch((96, 1, 1), 64))


def test_last_wave_may_be_partial() -> None:
    assert Launch((96, 1, 1), 64).waves == 2


@pytest.mark.parametrize(
    ("arch", "number"),
    [("sm_80", 80), ("sm_90a", 90), ("sm_121", 121), ("gfx942", None)],
)
def test_a_variant_is_the_chip_that_runs_it(arch: str, number: int | None) -> None:
    lds = GpuTargetInfo(arch).lds
    assert lds is not None and features_of(lds.arch).compute_capability == number


@pytest.mark.parametrize("arch", ["sm_x", "sm_110", "sm_130f", "gfx1030", "sm_80ab", ""])
def test_nothing_is_known_of_another_gpu(arch: str) -> None:
    assert GpuTargetInfo(arch).lds is None
