# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What IREE is told of a GPU that it does not know, and where."""

from __future__ import annotations

import re

import pytest
from iree.compiler import ir
from iree.compiler.api import Session, Source

from bankwise.bank_model.families import NVIDIA, family_of
from bankwise.bank_model.lds_tables import known_targets, lds_of
from bankwise.iree_plugin.described_target import (
    DEVICES_ASSIGNED,
    DescribedTarget,
    compiles_for,
    understood_flags,
)
from bankwise.iree_plugin.embedding import SteppedInvocation

BARE = '#hal.executable.target<"cuda", "cuda-nvptx-fb">'
OWN = (
    '#hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = '
    '#iree_gpu.target<arch = "sm_80", features = "+ptx76", wgp = <compute = fp32, storage = b32, '
    "subgroup = shuffle, subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], "
    "max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, "
    "max_workgroup_counts = [1, 1, 1]>>}>"
)
HIP = '#hal.executable.target<"rocm", "rocm-hsaco-fb">'


@pytest.mark.parametrize(
    ("flags", "arch", "features"),
    [
        (["--iree-cuda-target=sm_90"], "sm_90", "+ptx84"),
        (["--iree-cuda-target", "sm_90a"], "sm_90a", "+ptx84"),
        (["-iree-cuda-target=h100"], "sm_90a", "+ptx84"),
        (["--iree-cuda-target=H200", "--iree-cuda-target-features=+ptx86"], "sm_90a", "+ptx86"),
        (["--iree-cuda-target-features=", "--iree-cuda-target=hopper"], "sm_90a", ""),
        (["--iree-cuda-target=sm_80", "--iree-cuda-target=sm_90a"], "sm_90a", "+ptx84"),
    ],
)
def test_flags_name_a_gpu_and_its_features(flags: list[str], arch: str, features: str) -> None:
    assert DescribedTarget.of_flags(flags) == DescribedTarget(lds_of(arch), features)


@pytest.mark.parametrize(
    "flag",
    [
        "--iree-cuda-target=sm_80",
        "--iree-cuda-target=a100",
        "--iree-cuda-target=sm_90f",
        "--iree-cuda-target=sm_100",
        "--iree-cuda-target=gfx942",
        "--iree-cuda-target=",
        "--iree-cuda-target-features=sm_90",
        "--iree-rocm-target=sm_90",
    ],
)
def test_other_gpus_are_not_described(flag: str) -> None:
    assert DescribedTarget.of_flags([flag]) is None
    assert (
        DescribedTarget.of_flags(["--iree-cuda-target=sm_90", "--iree-cuda-target=sm_80"]) is None
    )
    assert understood_flags([flag]) == [flag]


@pytest.mark.parametrize("name", ["h100", "H200", "gh200", "hopper", "SM_90A"])
def test_the_compiler_gets_a_name_that_it_takes(name: str) -> None:
    others = ["--iree-hal-target-device=cuda", "--iree-cuda-target-features=h100"]
    joined = understood_flags([*others, f"--iree-cuda-target={name}"])
    assert joined == [*others, "--iree-cuda-target=sm_90a"]
    apart = understood_flags(["--iree-cuda-target", name, *others])
    assert apart == ["--iree-cuda-target", "sm_90a", *others]


def test_the_code_of_a_variant_runs_on_one_gpu() -> None:
    variant, general = DescribedTarget(lds_of("sm_90a")), DescribedTarget(lds_of("sm_90"))
    assert variant.is_variant and not general.is_variant
    assert variant.general == general == general.general


def test_the_description_is_that_of_the_newest_gpu_that_iree_knows_but_for_its_size() -> None:
    session = Session()
    session.set_flags(*NVIDIA.flags("sm_89"))
    invocation = SteppedInvocation(session)
    text = b"func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }\0"
    assert invocation.parse(Source.wrap_buffer(session, text))
    invocation.execute(end=DEVICES_ASSIGNED)
    module = str(invocation.export())
    invocation.close()
    (of_sm_89,) = set(re.findall(r"#iree_gpu\.target<.*?>>", module))
    ours = str(DescribedTarget(lds_of("sm_90")))
    assert ours != of_sm_89
    assert ours.replace("sm_90", "sm_89").replace(f"= {227 * 1024},", f"= {99 * 1024},") == of_sm_89


def shown(module: ir.Operation) -> str:
    return module.get_asm(use_local_scope=True)


def parsed(text: str) -> ir.Operation:
    return ir.Module.parse(text, Session().context).operation


def module_with(*, devices: str, variant: str) -> str:
    return f"""
module {{
  util.global private @__device_0 = {devices} : !hal.device
  util.global private @zero = 0 : i32
  hal.executable private @e {{
    hal.executable.variant public @v target({variant}) {{
    }}
  }}
}}"""


def test_devices_and_variants_without_a_description_get_it() -> None:
    gpu = DescribedTarget(lds_of("sm_90a"))
    either = f'#hal.device.target<"cuda", [{BARE}]> : !hal.device'
    module = parsed(module_with(devices=f"#hal.device.select<[{either}, {either}]>", variant=BARE))
    gpu.describe(module)
    text = shown(module)
    assert text.count('arch = "sm_90a"') == text.count("<arch = ") >= 2
    assert "max_workgroup_memory_bytes = 232448" in text
    described = text
    gpu.describe(module)
    assert shown(module) == described
    gpu.rename(module, gpu.general)
    assert shown(module) == described.replace("sm_90a", "sm_90")
    gpu.general.rename(module, gpu)
    assert shown(module) == described


@pytest.mark.parametrize("other", [OWN, HIP])
def test_the_users_own_target_and_other_backends_stay(other: str) -> None:
    module = parsed(module_with(devices=f'#hal.device.target<"it", [{other}]>', variant=other))
    before = shown(module)
    DescribedTarget(lds_of("sm_90a")).describe(module)
    DescribedTarget(lds_of("sm_90a")).rename(module, DescribedTarget(lds_of("sm_90")))
    assert shown(module) == before


def test_a_program_may_list_its_devices_in_an_attribute() -> None:
    listed = f'{{hal.device.targets = [#hal.device.target<"cuda", [{BARE}]> : !hal.device]}}'
    module = parsed(f"module attributes {listed} {{}}")
    DescribedTarget(lds_of("sm_90")).describe(module)
    assert 'arch = "sm_90"' in shown(module)


@pytest.mark.parametrize(
    ("name", "taken"),
    [("v100", "sm_70"), ("T4", "sm_75"), ("gb10", "sm_121"), ("b200", "sm_100"), ("a100", "a100")],
)
def test_products_that_the_compiler_does_not_know_are_their_architectures(
    name: str, taken: str
) -> None:
    assert understood_flags([f"--iree-cuda-target={name}"]) == [f"--iree-cuda-target={taken}"]


def test_iree_is_told_of_hopper_alone_and_nothing_compiles_for_data_center_blackwell() -> None:
    described = [
        arch
        for arch in known_targets()
        if DescribedTarget.of_flags([f"--iree-cuda-target={arch}"]) is not None
    ]
    assert described == ["sm_90", "sm_90a"]
    unknown = {arch for arch in known_targets() if family_of(arch) == NVIDIA} - {
        arch for arch in known_targets() if compiles_for(arch)
    }
    assert unknown == {"sm_100", "sm_103"}
    assert {arch for arch in known_targets() if not compiles_for(arch)} == unknown | {"gfx1102"}
