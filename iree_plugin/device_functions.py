# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finding the GPU functions of a module: before codegen, and what is left of them behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import prod

from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_codegen, iree_gpu

from ..bank_model.families import FAMILIES
from ..bank_model.quick_tuple import NamedTuple
from ..dialect_utils.indexing_maps import GENERIC, MAPS, copied_buffers, maps_of, summed_loops
from ..dialect_utils.kernels import backend_of, variants_of
from ..dialect_utils.lowering_config import TRANSLATION_INFO, changed_info
from ..dialect_utils.operations import ROW_LOOPS, children, has_operation, operations_in, parents_of
from ..passes.pipeline_edit import CODEGEN_PIPELINES, COPYING, LOWERED
from .embedding import StepError
from .recording import RecordingKey, pipeline_options

GPU_BACKENDS = tuple(family.backend for family in FAMILIES)
"""The backends whose pipelines are known here."""
CPU_BACKENDS = ("llvm-cpu", "vmvx", "vmvx-inline")
"""Those whose code has no LDS. Any other backend is that of a GPU that is not read."""

COPY_BACKENDS = ("cuda",)
"""Those for which kernels that copy parts of buffers are changed; for others they are stock's."""

_LDS_ADDRESS_SPACE = 3


class DeviceFunction(NamedTuple):
    """A function of a `hal.executable.variant` with a codegen pipeline that can be replayed."""

    op: ir.Operation
    name: str
    backend: str
    pipeline: str

    def recording_key(self, flags: tuple[str, ...]) -> RecordingKey:
        """Returns what the function's pipeline depends on, under the compile's codegen `flags`."""
        info = self.op.attributes[TRANSLATION_INFO]
        options = () if self.pipeline == LOWERED else pipeline_options(str(info))
        return RecordingKey(self.backend, self.pipeline, options, flags)

    @property
    def effort(self) -> tuple[int, int]:
        """Returns what is greater for functions that probably take longer to compile.

        These are the most loops that an operation of it sums over, which a tile unrolls, and the
        product of how many elements its operands have.
        """
        operations = [each for each in operations_in(self.op) if MAPS in each.attributes]
        return max(map(_effort, operations), default=(0, 0))

    def as_configured(self) -> DeviceFunction:
        """Returns the function with the pipeline that its configuration names now."""
        return self._replace(pipeline=_pipeline_kind(self.op) or self.pipeline)

    def executable_alone(self) -> str:
        """Returns the text of a module that has the function's executable as it is now, and
        nothing else: others may be compiled already."""
        (outer,) = (each for each in parents_of(self.op) if each.name == "hal.executable")
        return f"module {{\n{outer.get_asm(use_local_scope=True)}\n}}\n"

    def mark_done(self) -> None:
        """Tells the stock compiler that the function's pipeline has run."""
        done = ir.Attribute.parse("#iree_codegen.no_pipeline", self.op.context)
        info = self.op.attributes[TRANSLATION_INFO]
        self.op.attributes[TRANSLATION_INFO] = changed_info(info, pipeline=done)


def _effort(operation: ir.Operation) -> tuple[int, int]:
    *_, written = maps_of(operation)
    kinds = [each.type for each in operation.operands if isinstance(each.type, ir.ShapedType)]
    elements = prod(max(size, 1) for kind in kinds for size in kind.shape)
    return written.n_dims - len(written.results), elements


def device_functions(variants: Iterable[ir.Operation]) -> Iterator[DeviceFunction]:
    """Yields the functions of variants whose pipelines are replayed; all others are stock's."""
    # Most executables have the same target, whose text is slow to print.
    backends: dict[ir.Attribute, str] = {}
    for variant in variants:
        target = variant.attributes["target"]
        if target not in backends:
            backends[target] = backend_of(variant)
        backend = backends[target]
        if backend in GPU_BACKENDS:
            for inner in children(variant, "builtin.module"):
                yield from _functions(inner, backend)


def gpu_functions(variants: Iterable[ir.Operation]) -> int:
    """Returns how many functions of configured variants are kernels for a GPU of any vendor."""
    return sum(
        len(children(inner, "func.func"))
        for variant in variants
        if backend_of(variant) not in CPU_BACKENDS
        for inner in children(variant, "builtin.module")
    )


def _functions(inner: ir.Operation, backend: str) -> Iterator[DeviceFunction]:
    for function in children(inner, "func.func"):
        kind = _pipeline_kind(function)
        if kind is not None and (kind != COPYING or _is_changed(function, backend)):
            name = ir.StringAttr(function.attributes["sym_name"]).value
            yield DeviceFunction(function, name, backend, kind)


def _pipeline_kind(function: ir.Operation) -> str | None:
    if TRANSLATION_INFO not in function.attributes:
        return None
    info = iree_codegen.TranslationInfoAttr(function.attributes[TRANSLATION_INFO])
    pipeline = info.pass_pipeline
    if isinstance(pipeline, iree_gpu.PipelineAttr):
        kind = str(pipeline).partition("<")[2].removesuffix(">")
        return kind if kind == COPYING or kind in CODEGEN_PIPELINES else None
    # Without LDS there is nothing to do, and nothing to risk.
    if not isinstance(pipeline, iree_codegen.NoPipelineAttr):
        return None
    from ..dialect_utils.memory.lds_roots import lds_roots

    return LOWERED if lds_roots(function, operations_in(function)) else None


def _is_changed(function: ir.Operation, backend: str) -> bool:
    """Returns whether passes may change a function that has the pipeline `COPYING`."""
    if has_operation(function, *ROW_LOOPS) or _reduces(function):
        return True
    return backend in COPY_BACKENDS and copied_buffers(function) is not None


def _reduces(function: ir.Operation) -> bool:
    """Returns whether a function reduces, as a single lane does where a tensor is one row."""
    return any(summed_loops(each) for each in operations_in(function, GENERIC))


def refuse_empty(module: ir.Operation) -> None:
    """Reports an error where a configured module has nothing that could run.

    Raises:
        StepError: it is so.
    """
    if all(op.name == "util.global" for op in children(module)):
        module.location.emit_error("the module is empty: there is nothing to compile")
        raise StepError


def report_unverified_lds(module: ir.Operation, verified: Collection[str]) -> None:
    """Emits an error for each GPU kernel that uses LDS and is none of the `verified` functions.

    Args:
        module: after phase `executable-targets`.

    Raises:
        StepError: there was one.
    """
    clean = True
    for variant in variants_of(module):
        if backend_of(variant) not in GPU_BACKENDS:
            continue
        names = [
            ir.StringAttr(function.attributes["sym_name"]).value
            for function in operations_in(variant, "llvm.func")
            if len(function.regions[0].blocks)
        ]
        unseen = [name for name in names if name not in verified]
        if unseen and lds_arrays(variant):
            variant.location.emit_error(
                f"LDS accesses of @{unseen[0]} cannot be verified: its pipeline is left to the "
                "stock compiler"
            )
            clean = False
    if not clean:
        raise StepError


def lds_arrays(variant: ir.Operation) -> int:
    """Returns how many LDS arrays the LLVM dialect of a variant declares."""
    return sum(
        "addr_space" in each.attributes
        and ir.IntegerAttr(each.attributes["addr_space"]).value == _LDS_ADDRESS_SPACE
        for each in operations_in(variant, "llvm.mlir.global")
    )
