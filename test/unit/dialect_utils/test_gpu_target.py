# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading the GPU target and the launch of a function."""

from __future__ import annotations

import re

import pytest
from iree.compiler import ir

from bankwise.bank_model.targets import target
from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.gpu_target import (
    GpuTargetInfo,
    Launch,
    gpu_target_of,
    launch_of,
    lds_model,
)

GFX942 = (
    '#iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32, storage = b32, '
    "subgroup = none, subgroup_size_choices = [32, 64], max_workgroup_sizes = [1024, 1024, 1024], "
    "max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, "
    "max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>"
)
SM_80 = GFX942.replace("gfx942", "sm_80").replace("65536", "166912").replace("[32, 64]", "[32]")


def executable_target(gpu: str) -> str:
    return f'#hal.executable.target<"rocm", "rocm-hsaco-fb", {{iree_codegen.target_info = {gpu}}}>'


def function(module: ir.Module) -> ir.Operation:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.func":
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found[0]


def test_target_of_the_enclosing_variant() -> None:
    module = ir.Module.parse(
        f"""
        hal.executable private @e {{
          hal.executable.variant public @v target({executable_target(GFX942)}) {{
            builtin.module {{ func.func @f() {{ return }} }}
          }}
        }}"""
    )
    info = gpu_target_of(function(module), test_target="sm_80")
    assert info == GpuTargetInfo("gfx942", 65536)


def test_own_attribute_wins_over_the_parents() -> None:
    module = ir.Module.parse(
        f"""
        module attributes {{hal.executable.target = {executable_target(GFX942)}}} {{
          func.func @f() attributes {{hal.executable.target = {executable_target(SM_80)}}} {{
            return
          }}
        }}"""
    )
    assert gpu_target_of(function(module)) == GpuTargetInfo("sm_80", 166912)
    assert gpu_target_of(module.operation) == GpuTargetInfo("gfx942", 65536)


def test_test_target_is_the_fallback() -> None:
    module = ir.Module.parse("func.func @f() { return }")
    assert gpu_target_of(function(module)) is None
    assert gpu_target_of(function(module), "gfx950") == GpuTargetInfo("gfx950")


def test_a_cpu_target_is_no_gpu_target() -> None:
    cpu = '#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic"}>'
    module = ir.Module.parse(
        f"func.func @f() attributes {{hal.executable.target = {cpu}}} {{ return }}"
    )
    assert gpu_target_of(function(module)) is None


def test_launch() -> None:
    module = ir.Module.parse(
        """
        func.func @f() attributes {translation_info = #iree_codegen.translation_info<
            pipeline = #iree_gpu.pipeline<VectorDistribute>
            workgroup_size = [64, 3, 1] subgroup_size = 64>} { return }"""
    )
    launch = launch_of(function(module))
    assert launch == Launch((64, 3, 1), 64)
    assert launch is not None
    assert (launch.threads, launch.waves) == (192, 3)


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        "attributes {translation_info = #iree_codegen.translation_info<"
        "pipeline = #iree_gpu.pipeline<VectorDistribute>>}",
        "attributes {translation_info = #iree_codegen.translation_info<"
        "pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1]>}",
    ],
)
def test_no_launch(attributes: str) -> None:
    module = ir.Module.parse(f"func.func @f() {attributes} {{ return }}")
    assert launch_of(function(module)) is None


@pytest.mark.parametrize(
    ("arch", "subgroup_size", "reason"),
    [
        (None, 64, "the function has no GPU target"),
        ("gfx1100", 64, "the LDS of gfx1100 is not known"),
        (
            "gfx942",
            None,
            "the function has no translation_info with workgroup and subgroup size of at most "
            "16384 lanes",
        ),
        ("gfx942", 32, "waves of 32 lanes: the LDS of gfx942 is only known for 64"),
    ],
)
def test_why_there_is_no_lds_model(
    arch: str | None, subgroup_size: int | None, reason: str
) -> None:
    info = "" if subgroup_size is None else f"subgroup_size = {subgroup_size}"
    text = f"""func.func @f() attributes {{translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute>
        workgroup_size = [64, 1, 1] {info}>}} {{ return }}"""
    module = ir.Module.parse(text)
    with pytest.raises(Refusal, match=f"^{re.escape(reason)}$"):
        lds_model(function(module), arch)


def test_lds_model_is_of_the_target_and_the_launch() -> None:
    text = """func.func @f() attributes {translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute>
        workgroup_size = [96, 1, 1] subgroup_size = 64>} { return }"""
    model = lds_model(function(ir.Module.parse(text)), "gfx942")
    assert model == (target("gfx942"), Launch((96, 1, 1), 64))


def test_last_wave_may_be_partial() -> None:
    assert Launch((96, 1, 1), 64).waves == 2


@pytest.mark.parametrize(
    ("arch", "number"),
    [("sm_80", 80), ("sm_90a", 90), ("sm_121", 121), ("gfx942", None)],
)
def test_a_variant_is_the_chip_that_runs_it(arch: str, number: int | None) -> None:
    chip = GpuTargetInfo(arch).chip
    assert chip is not None and chip.compute_capability == number


@pytest.mark.parametrize("arch", ["sm_x", "sm_100f", "gfx1100", "sm_80ab", ""])
def test_nothing_is_known_of_another_gpu(arch: str) -> None:
    assert GpuTargetInfo(arch).chip is None
