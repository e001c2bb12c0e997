# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass of your own inside an IREE compile: counts the reads right after vectorization."""

from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir

import bankwise
from bankwise.passes.base import FunctionPass, PassContext


@dataclass(frozen=True)
class CountTransferReads(FunctionPass):
    """Reports how many `vector.transfer_read`s a function has."""

    name = "count-transfer-reads"
    summary = "count vector.transfer_read ops"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        reads = str(function).count("vector.transfer_read")
        print(f"{ir.StringAttr(function.attributes['sym_name']).value}: {reads} reads")


if __name__ == "__main__":
    bankwise.compile(
        Path(__file__).parent / "attention_f16.mlir",
        ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"],
        edits=[bankwise.PipelineEdit.after("iree-codegen-gpu-vector-alloc", CountTransferReads())],
    )
