# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions whose keys are in forced numbers of parts, to compare times with predicted ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from iree.compiler import ir
from iree.compiler.api import Session

from ..dialect_utils.gpu_target import gpu_target_of
from ..dialect_utils.operations import operations_in
from ..iree_plugin.compile import compile, open_source
from ..iree_plugin.compile_settings import CompileSettings
from ..iree_plugin.program_passes import BEFORE_DISPATCHES
from ..iree_plugin.stepped_compile import SteppedCompile
from ..passes.base import PassContext
from ..passes.tiles.key_splits import split_microseconds
from ..passes.tiles.program_attention import ATTENTION, ProgramAttention
from ..passes.tiles.split_keys import SplitKeys
from ..sweep.cases import target_flags
from .forced_tiles.ranks import Comparison
from .forced_tiles.report import comparison_text
from .gpu.compiling import TARGET, compile_kernels
from .gpu.kernels import TimedKernel
from .gpu.modes import FAST, STOCK
from .gpu.record import Record
from .gpu.timed_sets import model_attention, timed_model
from .program_families.attention import Attention

_ATTENTIONS = (
    (model_attention(8, 128, 128, keys=8192), (2, 4, 8, 16, 32)),
    (model_attention(32, 16, 128, keys=4096), (2, 4, 8, 16, 32)),
    (model_attention(32, 1, 128, keys=4096), (2, 4, 8, 16, 32)),
    (model_attention(8, 1, 128, keys=32768), (4, 8, 16, 32)),
    (model_attention(32, 1, 128, keys=8192, group=4), (4, 8, 16, 32)),
    (model_attention(8, 64, 128, keys=32768), (4, 8, 16, 32)),
    (model_attention(2, 512, 64, keys=8192), (2, 4, 8, 16, 32)),
    (model_attention(16, 2, 96, keys=3000), (2, 4, 8, 15, 24)),
)
"""Attentions, and the numbers of parts that they are timed with."""


def _label(parts: int) -> str:
    return f"parts_{parts}"


def split_source(source: str, parts: int) -> str:
    """Returns a program with the keys of its attentions in so many parts.

    Raises:
        ValueError: the keys of one of them cannot be split so.
    """
    module = ir.Module.parse(source, Session().context)
    for function in operations_in(module.operation, "func.func"):
        SplitKeys(parts=parts).run(function, PassContext())
    if operations_in(module.operation, ATTENTION):
        raise ValueError(f"keys cannot be split into {parts} parts")
    return str(module)


def _compile(source: str, mode: str) -> bytes:
    """Returns the module with as many parts as a label says, or in a mode."""
    head, _, parts = mode.rpartition("_")
    if not head:
        return compile(source, target_flags(TARGET), mode)
    return compile(split_source(source, int(parts)), target_flags(TARGET), FAST)


def _listed(attention: Attention, counts: Sequence[int]) -> TimedKernel:
    others = (FAST, *map(_label, counts))
    return timed_model(attention, (STOCK, *others), others)


def compile_splits(
    directory: Path, only: str = "", jobs: int = 1, say: Callable[[str], None] = print
) -> None:
    """Compiles all attentions into `directory`, with a file that lists those that compile.

    Args:
        only: a regular expression that is searched in the names of attentions.
        jobs: how many compile at a time.
        say: is told why one does not compile.

    Raises:
        OSError: a file cannot be written.
    """
    kernels = {
        _listed(attention, counts): partial(_compile, attention.program().source)
        for attention, counts in _ATTENTIONS
    }
    compile_kernels(directory, kernels, only, jobs, say)


def _predicted(source: str, counts: Sequence[int], target: str) -> list[float]:
    """Returns what numbers of parts of a program's attention are predicted to take."""
    flags = target_flags(target)
    session = Session()
    session.set_flags(*flags)
    settings = CompileSettings(compile_to=BEFORE_DISPATCHES, process_flags=tuple(flags))
    with SteppedCompile(session, settings, console=False) as compilation:
        module = compilation.run(open_source(session, source)).export()
        (operation,) = operations_in(module, ATTENTION)
        info = gpu_target_of(operation)
        circumstances = SplitKeys().circumstances(operation)
        assert info is not None
        assert circumstances is not None
        attention = ProgramAttention.of(operation)
        return split_microseconds(attention, counts, info.matrix_instructions, circumstances)


def markdown(record: Record) -> str:
    """Returns how well the predictions order the numbers of parts, and all times.

    Raises:
        RuntimeError: the record has times of no such attention.
    """
    times = {case: 1000 * time for case, time in record.milliseconds().items()}
    found: list[Comparison] = []
    for attention, counts in _ATTENTIONS:
        measured = {
            _label(count): times[attention.name, _label(count)]
            for count in counts
            if (attention.name, _label(count)) in times
        }
        if measured:
            labels = list(measured)
            asked = [int(label.rpartition("_")[2]) for label in labels]
            predicted = _predicted(attention.program().source, asked, record.conditions.target)
            by_label = dict(zip(labels, predicted, strict=True))
            taken = times.get((attention.name, FAST))
            found.append(Comparison(attention.name, measured, by_label, taken))
    return comparison_text(found, record)
