# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finding the GPU functions of a configured module, and what their codegen depends on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from iree.compiler import ir

from .recording import RecordingKey, pipeline_options

TRANSLATION_INFO = "translation_info"
REPLAYED_PIPELINES = ("VectorDistribute", "TileAndFuse")
GPU_BACKENDS = ("rocm", "cuda")

_PIPELINE = re.compile(r"pipeline = #iree_gpu\.pipeline<(\w+)>")
_BACKEND = re.compile(r'#hal\.executable\.target<"([^"]*)"')


@dataclass(frozen=True)
class DeviceFunction:
    """A function of a `hal.executable.variant` with a codegen pipeline that can be replayed."""

    op: ir.Operation
    name: str
    backend: str
    pipeline: str

    def recording_key(self, flags: tuple[str, ...]) -> RecordingKey:
        """What the function's pipeline depends on, under the compile's codegen `flags`."""
        options = pipeline_options(str(self.op.attributes[TRANSLATION_INFO]))
        return RecordingKey(self.backend, self.pipeline, options, flags)

    def mark_done(self) -> None:
        """Tells the stock compiler that the function's pipeline has run."""
        text = str(self.op.attributes[TRANSLATION_INFO])
        done = _PIPELINE.sub("pipeline = #iree_codegen.no_pipeline", text, count=1)
        self.op.attributes[TRANSLATION_INFO] = ir.Attribute.parse(done, self.op.context)


def device_functions(module: ir.Operation) -> Iterator[DeviceFunction]:
    """Yields the functions whose pipelines are replayed; all others belong to stock."""
    for executable in _children(module, "hal.executable"):
        for variant in _children(executable, "hal.executable.variant"):
            backend = _BACKEND.search(str(variant.attributes["target"]))
            if backend is None or backend[1] not in GPU_BACKENDS:
                continue
            for inner in _children(variant, "builtin.module"):
                yield from _functions(inner, backend[1])


def _functions(inner: ir.Operation, backend: str) -> Iterator[DeviceFunction]:
    for function in _children(inner, "func.func"):
        if TRANSLATION_INFO not in function.attributes:
            continue
        pipeline = _PIPELINE.search(str(function.attributes[TRANSLATION_INFO]))
        if pipeline is not None and pipeline[1] in REPLAYED_PIPELINES:
            name = ir.StringAttr(function.attributes["sym_name"]).value
            yield DeviceFunction(function, name, backend, pipeline[1])


def _children(parent: ir.Operation, name: str) -> list[ir.Operation]:
    return [
        op.operation
        for region in parent.regions
        for block in region
        for op in block
        if op.operation.name == name
    ]
