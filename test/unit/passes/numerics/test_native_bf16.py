# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For which GPUs and types `bankwise-native-bf16` has work."""

from __future__ import annotations

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.diagnostics import Diagnostic, DiagnosticSink
from bankwise.dialect_utils.operations import operations_in
from bankwise.passes.base import PassContext
from bankwise.passes.numerics.native_bf16 import NativeBf16


def target_of(arch: str) -> str:
    return (
        'hal.executable.target = #hal.executable.target<"x", "x", {iree_codegen.target_info = '
        f'#iree_gpu.target<arch = "{arch}", features = "", wgp = <compute = fp32, storage = b32, '
        "subgroup = none, subgroup_size_choices = [32], max_workgroup_sizes = [64, 64, 64], "
        "max_thread_count_per_workgroup = 64, max_workgroup_memory_bytes = 1024, "
        "max_workgroup_counts = [1, 1, 1]>>}>"
    )


@pytest.mark.parametrize(
    ("arch", "wide", "narrow", "works"),
    [
        ("sm_80", "f32", "bf16", True),
        ("sm_90a", "vector<3xf32>", "vector<3xbf16>", True),
        ("sm_75", "f32", "bf16", False),
        ("gfx950", "f32", "bf16", False),
        ("sm_80", "f32", "f16", False),
        ("sm_80", "f64", "bf16", False),
    ],
)
def test_work_is_where_the_gpu_has_the_instruction(
    arch: str, wide: str, narrow: str, works: bool
) -> None:
    said: list[Diagnostic] = []
    with Session().context:
        module = ir.Module.parse(
            f"func.func @f(%x: {wide}) -> {narrow} attributes {{{target_of(arch)}}} "
            f"{{ %0 = arith.truncf %x : {wide} to {narrow}\n return %0 : {narrow} }}"
        )
        function = module.body.operations[0].operation
        assert NativeBf16().has_work(function) == works
        NativeBf16().run(function, PassContext(DiagnosticSink(said.append, remarks=True)))
        assert module.operation.verify()
        assert bool(operations_in(function, "llvm.fptrunc")) == works
        assert not NativeBf16().has_work(function)
    assert len(said) == works
