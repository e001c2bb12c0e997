# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compile that is watched: what every LDS allocation of every dispatch got, access by access.

The codegen pipelines are replayed with the mitigation's edits, and with one more pass that looks
and changes nothing. It stands before `iree-llvmgpu-prefetch-shared-memory`, or, where nothing is
prefetched, before the codegen's `iree-codegen-fold-memref-alias-ops`: there all accesses are
distributed to lanes, hints are not yet resolved, and the padding of an allocation is still
visible as a subview. Where operands are read by `ldmatrix`, layouts are chosen later, on flat
vectors; there it looks again. Where copies become `cp.async`, and where `wgmma` reads operands
itself, others look behind the passes that do so (`overlapped_copies.py`, `described_reads.py`).
What comes after codegen is not run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import ClassVar

from iree.compiler import ir
from iree.compiler.api import Session

from ..bank_model.layouts import PaddedLayout, PlainLayout, SwizzledLayout
from ..dialect_utils.kernels import backend_of, functions_in
from ..dialect_utils.memory.allocation_layout import is_padded
from ..dialect_utils.memory.flow import lds_allocations
from ..dialect_utils.operations import operations_in, symbol_of
from ..iree_plugin.compile_settings import AFTER_LLVM, BEFORE_CODEGEN, CompileSettings
from ..iree_plugin.device_functions import CPU_BACKENDS, GPU_BACKENDS, lds_arrays
from ..iree_plugin.stepped_compile import SteppedCompile, open_file
from ..passes.base import FunctionPass, PassContext
from ..passes.decisions import Action, Decision, DecisionLog
from ..passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from ..passes.pipeline_edit import CODEGEN_PIPELINES, LOWERED, PipelineEdit
from ..passes.swizzles.reinsert_swizzle_hints import ReinsertSwizzleHints
from .conflict_report import (
    AllocationReport,
    FunctionReport,
    function_location,
    report_function,
)
from .described_reads import ObserveDescriptors, SymbolPath, symbol_path
from .overlapped_copies import ObserveCopies
from .sources import A_DEVICE

_PREFETCH = "iree-llvmgpu-prefetch-shared-memory"
_FOLD_VIEWS = "iree-codegen-fold-memref-alias-ops"

_PIPELINE = re.compile(r"pipeline = #iree_\w+\.(?:pipeline<(\w+)>|(\w+))")


@dataclass(frozen=True)
class ObserveLds(FunctionPass):
    """Reports on the LDS allocations of every function, when it first sees it."""

    name: ClassVar[str] = "bankwise-observe-lds"
    summary: ClassVar[str] = "count the conflicts of LDS allocations, and change nothing"

    seen: dict[SymbolPath, FunctionReport] = field(default_factory=dict, compare=False)
    """By the symbols of the function and of what is around it."""
    again: bool = False
    """Whether it reports also on what has been seen, in the place of what was said before."""
    padded_only: bool = False
    """Whether it looks only at functions in which the view of an allocation hides padding."""

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Adds the report on `function` to `seen`."""
        function = function.operation
        if self.padded_only and not any(map(is_padded, lds_allocations(function))):
            return
        if self.again or symbol_path(function) not in self.seen:
            self.seen[symbol_path(function)] = report_function(
                function, decided=True, unresolved=context.unresolved
            )

    def forget(self, function: ir.Operation) -> None:
        """Takes the report on `function` out of `seen`."""
        self.seen.pop(symbol_path(function), None)


_LDMATRIX, _OVERLAP, _WGMMA = (
    f"bankwise-{name}" for name in ("form-ldmatrix", "overlap-copies", "form-wgmma")
)
"""Passes of the room `tuning`, which may not be there."""


@dataclass(frozen=True)
class Observers:
    """What looks at the LDS of every replayed function, at several places of a compile."""

    lds: ObserveLds = field(default_factory=ObserveLds)
    copies: ObserveCopies = field(default_factory=ObserveCopies)
    descriptors: ObserveDescriptors = field(default_factory=ObserveDescriptors)

    def reports(self) -> dict[SymbolPath, FunctionReport]:
        """Returns the reports on all functions, in the order in which they were seen."""
        return {
            path: self.descriptors.corrected(path, self.copies.corrected(path, report))
            for path, report in self.lds.seen.items()
        }


def observing_edits(observers: Observers) -> list[PipelineEdit]:
    """Returns the edits that let the observers look at every replayed function."""
    observer = observers.lds
    every = CODEGEN_PIPELINES | {LOWERED}
    lowered = frozenset({LOWERED})
    return [
        # The views that hide padding are soon folded in functions that come lowered.
        PipelineEdit.after(
            PadUnhintedAllocs.name,
            replace(observer, padded_only=True),
            pipelines=lowered,
            beside=PadUnhintedAllocs.name,
        ),
        PipelineEdit.before(_PREFETCH, observer, pipelines=every),
        PipelineEdit.before(_FOLD_VIEWS, observer, pipelines=every, occurrence=0, required=True),
        PipelineEdit.before(
            ReinsertSwizzleHints.name,
            replace(observer, again=True),
            pipelines=CODEGEN_PIPELINES,
            beside=_LDMATRIX,
        ),
        *(
            PipelineEdit.after(made_by, look, pipelines=CODEGEN_PIPELINES, beside=made_by)
            for made_by, look in (
                (_OVERLAP, observers.copies),
                (_WGMMA, observers.descriptors),
            )
        ),
    ]


def observe_compile(settings: CompileSettings) -> list[FunctionReport]:
    """Compiles through codegen and reports on every device function.

    `settings` are those of `bankwise-compile`; only the input, the mitigation, `compile_from`,
    `verify` and the flags matter. The process's flags have been set.

    Raises:
        CompileError: the compiler has reported an error, which has been printed.
        DriverError: the input cannot be read.
        PipelineEditError: a plugin's edit does not fit a pipeline.
    """
    assert settings.input is not None
    session = Session()
    observers = Observers()
    log = DecisionLog()
    source = open_file(session, settings.input)
    edits = observing_edits(observers)
    with SteppedCompile(session, settings, edits, log) as compilation:
        module = compilation.configured_module(source)
        compilation.refuse_empty(module)
        functions = {symbol_path(each): _Other.of(each) for each in _variant_functions(module)}
        prebuilt = [_prebuilt(each) for each in _variants_without_functions(module)]
        compilation.replay(module)
        reports = observers.reports()
        seen = [with_decisions(report, log) for report in reports.values()]
        others = [each for path, each in functions.items() if path not in reports]
        if any(other.may_use_lds for other in others):
            compilation.invocations.resume(module, BEFORE_CODEGEN, AFTER_LLVM)
        return [*seen, *(other.report() for other in others), *prebuilt]


# Functions whose pipelines are not replayed.


def _variant_functions(module: ir.Operation) -> list[ir.Operation]:
    """Returns the device functions of all executable variants."""
    return [function for function in functions_in(module) if _variant_of(function) is not None]


def _variants_without_functions(module: ir.Operation) -> list[ir.Operation]:
    """Returns the executable variants, and the finished executables, that hold no code as IR."""
    operations = operations_in(module, "hal.executable.variant", "hal.executable.binary")
    return [each for each in operations if not functions_in(each)]


def _prebuilt(variant: ir.Operation) -> FunctionReport:
    """Returns the report on code that the user brings as an object file."""
    exports = operations_in(variant, "hal.executable.export")
    name, location = symbol_of(exports[0] if exports else variant), function_location(variant)
    backend = backend_of(variant) if "target" in variant.attributes else ""
    if backend in CPU_BACKENDS:
        return _for_cpu(name, location, backend)
    note = (
        "its code is an object file, which is not read; if that was made of assembly for gfx942 or "
        "gfx950, bankwise-run --assembly counts its conflicts"
    )
    return FunctionReport(name, location, note=note, unread=True)


def _for_cpu(name: str, location: str, backend: str) -> FunctionReport:
    note = f"not a GPU dispatch (backend {backend})"
    return FunctionReport(name, location, note=note, on_cpu=True)


def _variant_of(operation: ir.Operation) -> ir.Operation | None:
    current: ir.Operation | None = operation
    while current is not None and current.name != "hal.executable.variant":
        parent = current.parent
        current = None if parent is None else parent.operation
    return current


@dataclass(frozen=True)
class _Other:
    """A device function that the stock compiler keeps for itself."""

    variant: ir.Operation
    name: str
    location: str
    backend: str
    pipeline: str

    @staticmethod
    def of(function: ir.Operation) -> _Other:
        variant = _variant_of(function)
        assert variant is not None
        attributes = function.attributes
        text = str(attributes["translation_info"]) if "translation_info" in attributes else ""
        pipeline = _PIPELINE.search(text)
        return _Other(
            variant,
            symbol_of(function),
            function_location(function),
            backend_of(variant),
            (pipeline[1] or pipeline[2]) if pipeline else "",
        )

    @property
    def may_use_lds(self) -> bool:
        """Returns whether the function runs on a GPU whose code can be read."""
        return self.backend in GPU_BACKENDS

    def report(self) -> FunctionReport:
        """Returns what is known of it after stock has lowered it to the LLVM dialect."""
        if self.backend in CPU_BACKENDS:
            return _for_cpu(self.name, self.location, self.backend)
        if not self.may_use_lds:
            note = (
                f"compiled for the backend {self.backend or 'of a plugin'}, and only the code of "
                f"{' and '.join(GPU_BACKENDS)} is read; compile for one of these, {A_DEVICE}"
            )
            return FunctionReport(self.name, self.location, note=note, unread=True)
        pipeline = f"pipeline {self.pipeline}" if self.pipeline else "its pipeline"
        count = lds_arrays(self.variant)
        if not count:
            note = f"uses no LDS ({pipeline})"
            return FunctionReport(self.name, self.location, note=note)
        arrays = f"{count} LDS allocations" if count > 1 else "its LDS allocation"
        note = f"{arrays} cannot be read: {pipeline} is left to the stock compiler"
        return FunctionReport(self.name, self.location, note=note, unread=True)


# The passes' own words.


def with_decisions(report: FunctionReport, log: DecisionLog) -> FunctionReport:
    """Returns the report with the reasons that the passes gave in `log`."""
    open_decisions = [d for d in log if d.function == report.name and log.stands(d)]
    # The pass has decided on each allocation once, in the order of the text.
    reads = [d for d in log if d.function == report.name and d.pass_name == _LDMATRIX]
    allocations: list[AllocationReport] = []
    for allocation in report.allocations:
        decided = next((d for d in open_decisions if _is_about(d, allocation)), None)
        if decided is not None:
            open_decisions.remove(decided)
        ours = decided is not None and decided.action in (Action.HINT, Action.PAD)
        line = _line(allocation, decided)
        read = next((d for d in reads if _has_type_of(d, allocation)), None)
        if read is not None:
            reads.remove(read)
            line = f"{line}; {_read_line(read)}"
        allocations.append(replace(allocation, decision=line, is_ours=ours))
    return replace(report, allocations=tuple(allocations))


def _is_about(decision: Decision, allocation: AllocationReport) -> bool:
    """Returns whether a decision is on this allocation, or on an equal one that got the same."""
    if not _has_type_of(decision, allocation):
        return False
    if allocation.tile is None or allocation.standing is None:
        return True
    layout = allocation.standing.layout
    if decision.action is Action.HINT:
        return isinstance(layout, SwizzledLayout) and decision.detail == str(layout)
    if decision.action is Action.PAD:
        return isinstance(layout, PaddedLayout)
    return isinstance(layout, PlainLayout)


def _has_type_of(decision: Decision, allocation: AllocationReport) -> bool:
    """Returns whether a decision is on an allocation with the same shape and elements."""
    if allocation.tile is None or allocation.standing is None:
        return decision.allocation == allocation.type
    element = re.sub(r"^\w+<(?:[\d?]+x)*|>$", "", allocation.type)
    shape = "x".join(map(str, allocation.tile.shape))
    return decision.allocation.endswith(f"<{shape}x{element}>")


def _read_line(decision: Decision) -> str:
    """Returns which loads `ldmatrix` has replaced, or why it has replaced none."""
    if decision.action is Action.LDMATRIX:
        return decision.detail
    return f"no ldmatrix: {decision.reason}"


def _line(allocation: AllocationReport, decision: Decision | None) -> str:
    """Returns the decision in one line: what stands, then the pass's reason."""
    line = allocation.decision
    standing = allocation.standing
    if decision is None or standing is None:
        if standing is not None and isinstance(standing.layout, PaddedLayout):
            return f"{line}; stock's padding"
        return line
    if decision.action is Action.HINT:
        return f"{line}; {decision.reason}"
    if decision.action is Action.PAD:
        return f"padded by {decision.detail}: {decision.reason}"
    if standing.conflict_cycles or allocation.unknown:
        return line.replace("plain", f"kept plain: {decision.reason}", 1)
    return line
