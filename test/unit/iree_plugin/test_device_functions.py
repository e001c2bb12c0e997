# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are replayed, and those that stock keeps: an error only where they use LDS."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.kernels import variants_of
from bankwise.dialect_utils.operations import children
from bankwise.iree_plugin.device_functions import (
    DeviceFunction,
    device_functions,
    report_unverified_lds,
)
from bankwise.iree_plugin.embedding import StepError


def module_text(space: int, backend: str = "rocm") -> str:
    return f"""
      hal.executable private @e {{
        hal.executable.variant public @v target(<"{backend}", "code">) {{
          builtin.module {{
            llvm.mlir.global private @array() {{addr_space = {space} : i32}} : !llvm.array<64 x f32>
            llvm.func @kernel() {{
              llvm.return
            }}
          }}
        }}
      }}"""


def test_longest_compiles_are_those_that_sum_over_most_loops_and_elements() -> None:
    module = ir.Module.parse(
        """
func.func @copies(%a: tensor<99x99xf32>, %b: tensor<99x99xf32>) {
  %0 = linalg.copy ins(%a : tensor<99x99xf32>) outs(%b : tensor<99x99xf32>) -> tensor<99x99xf32>
  return
}
func.func @multiplies(%a: tensor<8x9xf32>, %b: tensor<9x7xf32>, %c: tensor<8x7xf32>) {
  %0 = linalg.matmul ins(%a, %b : tensor<8x9xf32>, tensor<9x7xf32>)
    outs(%c : tensor<8x7xf32>) -> tensor<8x7xf32>
  return
}
func.func @multiplies_more(%a: tensor<8x?xf32>, %b: tensor<?x99xf32>, %c: tensor<8x99xf32>) {
  %0 = linalg.matmul ins(%a, %b : tensor<8x?xf32>, tensor<?x99xf32>)
    outs(%c : tensor<8x99xf32>) -> tensor<8x99xf32>
  return
}
func.func @convolves(%a: tensor<6xf32>, %b: tensor<3x2xf32>, %c: tensor<4xf32>) {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, k, l) -> (i + k)>,
    affine_map<(i, k, l) -> (k, l)>, affine_map<(i, k, l) -> (i)>],
    iterator_types = ["parallel", "reduction", "reduction"]}
    ins(%a, %b : tensor<6xf32>, tensor<3x2xf32>) outs(%c : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.addf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return
}
func.func @nothing() { return }
""",
        Session().context,
    )
    functions = [DeviceFunction(each, "", "", "") for each in children(module.operation)]
    longest = sorted(functions, key=lambda each: each.effort, reverse=True)
    names = [str(each.op.attributes["sym_name"]).strip('"') for each in longest]
    assert names == ["convolves", "multiplies_more", "multiplies", "copies", "nothing"]


@pytest.mark.parametrize(
    ("space", "backend", "verified", "clean"),
    [
        (3, "rocm", set(), False),
        (3, "rocm", {"kernel"}, True),
        (1, "rocm", set(), True),
        (3, "cuda", set(), False),
        (3, "llvm-cpu", set(), True),
    ],
)
def test_lds_that_was_not_seen(space: int, backend: str, verified: set[str], clean: bool) -> None:
    session = Session()
    with session.context as context, ir.Location.unknown():
        errors: list[str] = []

        def note(diagnostic: ir.Diagnostic) -> bool:
            errors.append(diagnostic.message)
            return True

        handler = context.attach_diagnostic_handler(note)
        module = ir.Module.parse(module_text(space, backend))
        with nullcontext() if clean else pytest.raises(StepError):
            report_unverified_lds(module.operation, verified)
        handler.detach()
    assert bool(errors) != clean
    assert all("@kernel cannot be verified: its pipeline is left" in error for error in errors)


def copying_module(backend: str, value: str) -> str:
    return f"""
      hal.executable private @e {{
        hal.executable.variant public @v target(<"{backend}", "code">) {{
          builtin.module {{
            func.func @copy(%from: memref<8x64xf32>, %to: memref<8x64xf32>) attributes {{
                translation_info = #iree_codegen.translation_info<
                    pipeline = #iree_gpu.pipeline<Distribute>
                    workgroup_size = [64, 1, 1] subgroup_size = 32>}} {{
              linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>,
                  affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
                  ins(%from : memref<8x64xf32>) outs(%to : memref<8x64xf32>) {{
              ^bb0(%x: f32, %y: f32):
                %z = arith.negf %x : f32
                linalg.yield {value} : f32
              }}
              return
            }}
          }}
        }}
      }}"""


@pytest.mark.parametrize(
    ("backend", "value", "is_replayed"),
    # What is computed, if only for nothing, is no copy.
    [("cuda", "%x", True), ("rocm", "%x", False), ("cuda", "%y", False), ("cuda", "%z", False)],
)
def test_copies_of_buffers_are_replayed_on_nvidia_gpus(
    backend: str, value: str, is_replayed: bool
) -> None:
    text = copying_module(backend, value)
    if value == "%x":
        text = text.replace("%z = arith.negf %x : f32", "")
    with Session().context, ir.Location.unknown():
        module = ir.Module.parse(text)
        found = [each.name for each in device_functions(variants_of(module.operation))]
    assert found == (["copy"] if is_replayed else [])
