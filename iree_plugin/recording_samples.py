# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels and options from which the packaged recordings are taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from iree.compiler import ir
from iree.compiler.api import Session, Source

from ..bank_model.families import FAMILIES
from ..bank_model.lds_tables import lds_of
from ..bank_model.quick_tuple import NamedTuple
from ..dialect_utils.kernels import variants_of
from ..dialect_utils.lowering_config import TRANSLATION_INFO
from ..passes.pipeline_edit import COPYING, LOWERED
from .compile_settings import BEFORE_CODEGEN
from .device_functions import DeviceFunction, device_functions
from .embedding import SteppedInvocation
from .recording import Recording, RecordingKey, pipeline_options, record

_SOFTMAX = """
func.func @softmax(%input: tensor<128x4096xf32>) -> tensor<128x4096xf32> {
  %empty = tensor.empty() : tensor<128x4096xf32>
  %result = linalg.softmax dimension(1) ins(%input : tensor<128x4096xf32>)
      outs(%empty : tensor<128x4096xf32>) -> tensor<128x4096xf32>
  return %result : tensor<128x4096xf32>
}
"""
_MATMUL = """
func.func @matmul(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %result = linalg.matmul ins(%a, %b : tensor<512x512xf16>, tensor<512x512xf16>)
      outs(%init : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %result : tensor<512x512xf32>
}
"""
_LDS_ROUND_TRIP = """
stream.executable private @kernels {
  stream.executable.export public @round_trip workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @round_trip(%in: !stream.binding, %out: !stream.binding) attributes {
        translation_info = #iree_codegen.translation_info<
            pipeline = #iree_codegen.no_pipeline
            workgroup_size = [SIZE, 1, 1] subgroup_size = SIZE>} {
      %zero = arith.constant 0 : index
      %from = stream.binding.subspan %in[%zero] : !stream.binding -> memref<SIZExf32>
      %to = stream.binding.subspan %out[%zero] : !stream.binding -> memref<SIZExf32>
      %tile = memref.alloc() : memref<SIZExf32, #gpu.address_space<workgroup>>
      %t = gpu.thread_id x upper_bound SIZE
      %v = memref.load %from[%t] : memref<SIZExf32>
      memref.store %v, %tile[%t] : memref<SIZExf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %w = memref.load %tile[%t] : memref<SIZExf32, #gpu.address_space<workgroup>>
      memref.store %w, %to[%t] : memref<SIZExf32>
      return
    }
  }
}
func.func @main(%a: tensor<SIZExf32>) -> tensor<SIZExf32> {
  %r = flow.dispatch @kernels::@round_trip(%a) : (tensor<SIZExf32>) -> tensor<SIZExf32>
  return %r : tensor<SIZExf32>
}
"""
_TOP_K = """
func.func @top_k(%rows: tensor<8x64xf32>) -> tensor<8x4xf32> {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %values = tensor.empty() : tensor<8x4xf32>
  %places = tensor.empty() : tensor<8x4xi32>
  %low = linalg.fill ins(%least : f32) outs(%values : tensor<8x4xf32>) -> tensor<8x4xf32>
  %none = linalg.fill ins(%zero : i32) outs(%places : tensor<8x4xi32>) -> tensor<8x4xi32>
  %largest:2 = iree_linalg_ext.topk dimension(1) ins(%rows : tensor<8x64xf32>)
      outs(%low, %none : tensor<8x4xf32>, tensor<8x4xi32>) {
    ^bb0(%one: f32, %other: f32):
      %greater = arith.cmpf ogt, %one, %other : f32
      iree_linalg_ext.yield %greater : i1
  } -> tensor<8x4xf32>, tensor<8x4xi32>
  return %largest#0 : tensor<8x4xf32>
}
"""
_SAMPLES = {
    "VectorDistribute": _SOFTMAX,
    "TileAndFuse": _MATMUL,
    COPYING: _TOP_K,
    LOWERED: _LDS_ROUND_TRIP,
}
_FAMILIES = {family.backend: family for family in FAMILIES}
_OPTIONS = re.compile(r"gpu_pipeline_options = #iree_gpu\.pipeline_options<[^>]*>(, )?")


class RecordingRequest(NamedTuple):
    """A recording to take: of which sample, with which pipeline options."""

    backend: str
    pipeline: str
    options: str
    """The text between the angle brackets of `#iree_gpu.pipeline_options<...>`."""

    def take(self, *flags: str) -> Recording:
        """Compiles the sample and records its pipeline, as `iree-compile` has it with flags.

        Raises:
            RecordingError: the installed compiler prints no pipeline for it.
        """
        session = Session()
        try:
            family = _FAMILIES[self.backend]
            session.set_flags(*family.flags(family.usual))
            invocation = SteppedInvocation(session)
            text = _SAMPLES[self.pipeline].replace("SIZE", str(lds_of(family.usual).wave_size))
            if not invocation.parse(Source.wrap_buffer(session, text.encode() + b"\0")):
                raise RuntimeError(f"the sample for {self} does not parse")
            invocation.execute(end=BEFORE_CODEGEN)
            module = invocation.export()
            function = self._function(module)
            options: tuple[str, ...] = ()
            if self.options:
                self._set_options(function.op)
                options = pipeline_options(self._attribute())
            key = RecordingKey(self.backend, self.pipeline, options, flags)
            recording = record(key, module.get_asm(use_local_scope=True), function.name)
            invocation.close()
            return recording
        finally:
            session.close()

    def _function(self, module: ir.Operation) -> DeviceFunction:
        found = [f for f in device_functions(variants_of(module)) if f.pipeline == self.pipeline]
        if not found:
            raise RuntimeError(f"the sample for {self} does not use the {self.pipeline} pipeline")
        return found[0]

    def _attribute(self) -> str:
        return f"#iree_gpu.pipeline_options<{self.options}>"

    def _set_options(self, function: ir.Operation) -> None:
        text = _OPTIONS.sub("", str(function.attributes[TRANSLATION_INFO]))
        entry = f"gpu_pipeline_options = {self._attribute()}"
        if "{" in text:
            text = text.replace("{", f"{{{entry}, ", 1).replace(", }", "}")
        else:
            text = f"{text.removesuffix('>')}, {{{entry}}}>"
        function.attributes[TRANSLATION_INFO] = ir.Attribute.parse(text, function.context)


def packaged_requests() -> Iterator[RecordingRequest]:
    """Returns the recordings that the package ships: all common option values on both backends."""
    for backend, stages, keep_conflicts in product(_FAMILIES, (0, 2, 3), (False, True)):
        base = (
            f"prefetch_num_stages = {stages}, "
            f"no_reduce_shared_memory_bank_conflicts = {str(keep_conflicts).lower()}"
        )
        for pipeline in ("VectorDistribute", "TileAndFuse"):
            yield RecordingRequest(backend, pipeline, f"{base}, use_igemm_convolution = false")
        yield RecordingRequest(backend, "TileAndFuse", f"{base}, use_igemm_convolution = true")
    for backend, pipeline in product(_FAMILIES, (LOWERED, COPYING)):
        yield RecordingRequest(backend, pipeline, "")
