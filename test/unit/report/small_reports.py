# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports on kernels whose text stands in a test."""

from __future__ import annotations

from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.kernels import functions_in
from bankwise.report.conflict_report import FunctionReport, report_function
from bankwise.report.contents import Contents, number_report

WS = "#gpu.address_space<workgroup>"
TILE = f"memref<64x32xf32, {WS}>"


def kernel(body: str, name: str = "kernel", threads: int = 64) -> str:
    """Returns a kernel of workgroups of so many work items, in waves of 64."""
    info = (
        "#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> "
        f"workgroup_size = [{threads}, 1, 1] subgroup_size = 64>"
    )
    return f"""func.func @{name}(%unknown: index) attributes {{translation_info = {info}}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t = gpu.thread_id x
      %x = affine.apply affine_map<(d0) -> (d0 mod 64)>(%t)
      {body}
      return
    }}"""


def module_of(text: str) -> ir.Module:
    with Session().context, ir.Location.unknown():
        return ir.Module.parse(text)


def report_of(text: str, arch: str | None = "gfx942", decided: bool = False) -> FunctionReport:
    """Returns the report on the only function of a module."""
    module = module_of(text)
    (function,) = functions_in(module.operation)
    return report_function(function, arch, decided=decided)


def contents_of(*reports: FunctionReport, file: str = "a.mlir", maps: bool = False) -> Contents:
    functions = number_report([(file, each) for each in reports], [file])
    return Contents((file,), ("bankwise-report", file), "", functions, maps)
