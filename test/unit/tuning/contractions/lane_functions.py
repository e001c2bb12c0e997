# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of one wave of 64 lanes, to be followed by tests."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.gpu_target import launch_of
from bankwise.dialect_utils.index.lane_values import LaneEvaluator
from bankwise.dialect_utils.operations import operations_in

LDS = "#gpu.address_space<workgroup>"
TILE = f"memref<4x64xf32, {LDS}>"
IN_BOUNDS = {rank: f"{{in_bounds = [{', '.join(['true'] * rank)}]}}" for rank in (1, 2, 4)}


@dataclass(frozen=True)
class LaneFunction:
    """A function whose launch is known."""

    module: ir.Module
    function: ir.Operation
    evaluator: LaneEvaluator

    @staticmethod
    def of(body: str) -> LaneFunction:
        """Parses a body, in which lane l is %lane, l % 16 is %column and l // 16 is %group.

        Its memory is %global (960), %rows (16x64) and %bias (16) outside the LDS.
        """
        info = (
            "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline "
            "workgroup_size = [64, 1, 1] subgroup_size = 64>"
        )
        module = ir.Module.parse(
            f"""func.func @f(%global: memref<960xf32>, %rows: memref<16x64xf32>,
                %bias: memref<16xf32>, %i: index) attributes {{translation_info = {info}}} {{
              %c0 = arith.constant 0 : index
              %c1 = arith.constant 1 : index
              %pad = ub.poison : f32
              %lane = gpu.thread_id x
              %l:3 = affine.delinearize_index %lane into (4, 16) : index, index, index
              %group = affine.apply affine_map<(d0) -> (d0)>(%l#1)
              %column = affine.apply affine_map<(d0) -> (d0)>(%l#2)
              {body}
              return
            }}""",
            Session().context,
        )
        (function,) = operations_in(module.operation, "func.func")
        launch = launch_of(function)
        assert launch is not None
        return LaneFunction(module, function, LaneEvaluator(launch))

    def all(self, name: str) -> list[ir.Operation]:
        """Returns the operations of this name."""
        return operations_in(self.function, name)
