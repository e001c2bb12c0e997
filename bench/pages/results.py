# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of `docs/results.md` that are made from records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import geometric_mean

from ...emulator.counters import Counted
from ...emulator.timing.constants import TIMED_CHIPS
from ...sweep.rows import Row as SweptRow
from ...sweep.tables import Summary, markdown_lines, summaries
from ..attention_shapes import COMPARED
from ..emulated_rows import EmulatedRow
from ..gpu.modes import EXACT, FAST, FAST_HOPPER, HOPPER, LAYOUT, STOCK
from ..gpu.ratios import LIBRARY, is_scalar_in_stock
from ..gpu.references import CUBLAS, FLASH, SERIES
from ..gpu.timed_kernels import ATTENTION, MATMUL, TimedKernel
from ..whole_models.model_record import EAGER, TORCH_SERIES, Figure, ModelRecord
from .ladder import OF_SM_90, kernels
from .overview import LARGE, SMALL, mean, times
from .records import Records

_EFFICIENT, _CUDNN = "efficient", OF_SM_90[0]
_NAMES = {_EFFICIENT: "CUTLASS", _CUDNN: "cuDNN (sm_90 code)", CUBLAS: "cuBLAS (sm_90 code)"}
_LEVELS = (LAYOUT, EXACT, FAST)
_MODES = (STOCK, *_LEVELS)
Lines = Iterator[Sequence[str]]


def sections(records: Records) -> dict[str, str]:
    """Returns the tables of the page by their names."""
    made: dict[str, Callable[[Records], Lines]] = {
        "attention times": _attention_times,
        "matmul times": _matmul_times,
        "attentions of models": _model_attentions,
        "whole models": lambda each: _models(each.models, "kernels"),
        "models with real weights": _real_models,
        "calls of whole models": lambda each: _models(each.model_calls, "call"),
        "shared memory": _shared_memory,
        "convolutions": _convolutions,
        "levels": lambda each: _levels(each.swept),
        "programs": _programs,
    }
    tables = {name: _table(make(records)) for name, make in made.items()}
    for chip in TIMED_CHIPS:
        tables[f"attentions of models {chip}"] = _table(_shapes(records, chip))
        tables[f"products {chip}"] = _table(_products(records, chip))
    return tables


def _convolutions(records: Records) -> Lines:
    yield ["3x3 convolution, f16", "stock IREE", "`layout`", "`exact`"]
    conflicts = {(row.kernel, row.mode): row.conflicts for row in records.examples}
    for name in dict.fromkeys(row.kernel for row in records.examples):
        if name.startswith("conv_nchw_"):
            image, _, filters = name.removeprefix("conv_nchw_").rpartition("_")
            found = (f"{conflicts[name, mode]:,}" for mode in (STOCK, LAYOUT, EXACT))
            yield [f"{image.replace('x', ' x ')}, {filters} filters", *found]


def _table(lines: Lines) -> str:
    return markdown_lines([*lines], text_columns=1) + "\n"


def _named(kernel: TimedKernel) -> str:
    """Returns a kernel as the page writes it, such as `4096 x 4096 x 64, A B^T`."""
    shape = kernel.label.split("_")[0].replace("x", " x ")
    if kernel.function == ATTENTION:
        return shape
    return f"{shape}, {'A B^T' if kernel.transposed else 'A B'}"


def _times(records: Records, function: str, series: Sequence[str], base: str) -> Lines:
    """Yields a line for each f16 kernel, and their geometric means."""
    ratios = records.times
    for kernel in kernels(ratios, function):
        known = (ratios.ratio(kernel, each, base) for each in series)
        yield [_named(kernel), *("" if ratio is None else times(ratio) for ratio in known)]
    yield ["geometric mean", *(times(mean(ratios, function, each, base)) for each in series)]


def _attention_times(records: Records) -> Lines:
    series = (STOCK, *_LEVELS, _EFFICIENT, _CUDNN)
    head = ["stock IREE", "`layout`", "`exact`", "`fast`", _NAMES[_EFFICIENT], _NAMES[_CUDNN]]
    yield ["attention", *head]
    yield from _times(records, ATTENTION, series, FLASH)


def _matmul_times(records: Records) -> Lines:
    yield ["matmul", "`layout`", "`exact`", _NAMES[CUBLAS]]
    yield from _times(records, MATMUL, (LAYOUT, EXACT, CUBLAS), STOCK)


def _model_attentions(records: Records) -> Lines:
    """Yields times of attentions of models over those of the library that takes them."""
    ratios = records.model_attentions
    series = (STOCK, EXACT, FAST, _CUDNN)
    yield ["attention", "over", "stock IREE", "`exact`", "`fast`", _NAMES[_CUDNN]]
    for kernel in ratios.family(ATTENTION):
        library = ratios.library(kernel) or ""
        known = (ratios.ratio(kernel, each, LIBRARY) for each in series)
        cells = ("" if ratio is None else times(ratio) for ratio in known)
        yield [kernel.label.replace("_", " "), SERIES.get(library, "no library"), *cells]
    narrow = kernels(ratios, ATTENTION)
    scalar = [kernel for kernel in narrow if is_scalar_in_stock(kernel)]
    for what, chosen in (("all f16", narrow), ("f16, scalar in stock", scalar)):
        found = [ratios.mean(chosen, each, LIBRARY) for each in series]
        cells = ("" if mean is None else f"{times(mean.ratio)} ({mean.kernels})" for mean in found)
        yield [f"geometric mean, {what} ({len(chosen)})", "", *cells]


_MODEL_MODES = {"`exact`": EXACT, "`fast`": FAST, f"`fast` ({HOPPER})": FAST_HOPPER}
_MODEL_TIMES: Mapping[str, Figure] = {
    "call": lambda row: row.milliseconds,
    "kernels": lambda row: row.kernel_milliseconds,
}


def _models(record: ModelRecord, what: str) -> Lines:
    """Yields times of whole models over those of stock, and of calls over those of PyTorch."""
    figure = _MODEL_TIMES[what]
    ratios: dict[str, Callable[[str], float | None]] = {
        level: partial(record.ratio, mode=mode, figure=figure)
        for level, mode in _MODEL_MODES.items()
    }
    ratios["rms error of `fast` over stock's"] = partial(
        record.ratio, mode=FAST, figure=lambda row: row.errors.rms
    )
    if what == "call":
        ratios |= {
            f"{level} over {shown}": partial(record.torch_ratio, mode=mode, series=series)
            for level, mode in _MODEL_MODES.items()
            if mode != EXACT
            for series, shown in TORCH_SERIES.items()
        }
    columns = {head: [of(model) for model in record.models()] for head, of in ratios.items()}
    columns = {head: column for head, column in columns.items() if any(column)}
    yield ["model", f"stock IREE, {what}", *columns]
    stock = {row.kernel: figure(row) for row in record.rows if row.mode == STOCK}
    for model, *found in zip(record.models(), *columns.values(), strict=True):
        yield [model.replace("_", " "), f"{stock[model]:.3f} ms", *map(_cell, found)]
    means = (
        "" if "rms" in head else times(geometric_mean([each for each in column if each]))
        for head, column in columns.items()
    )
    yield ["geometric mean", "", *means]


def _cell(ratio: float | None) -> str:
    return "" if ratio is None else times(ratio)


def _real_models(records: Records) -> Lines:
    """Yields the kernel times of models of ONNX files, over stock's and over PyTorch's."""
    record = records.real_models
    levels = {"stock IREE": STOCK, "`exact`": EXACT, "`fast`": FAST}
    over = (
        "`exact` over stock",
        "`fast` over stock",
        "`exact` over PyTorch",
        "`fast` over PyTorch",
    )
    yield ["model", *levels, "PyTorch", *over]
    for model in record.models():
        rows = [record.row(model, mode) for mode in levels.values()]
        torch = sum(
            math.fsum(row.kernels.values())
            for row in record.torch
            if (row.kernel, row.series) == (model, EAGER)
        )
        stock, exact, fast = (row.kernel_milliseconds if row else 0.0 for row in rows)
        found = [(exact, stock), (fast, stock), (exact, torch), (fast, torch)]
        ratios = (ours / other if other else None for ours, other in found)
        all_of_it = (stock, exact, fast, torch)
        micros = (f"{each * 1e3:,.0f} us" if each else "" for each in all_of_it)
        yield [model.replace("_", " "), *micros, *map(_cell, ratios)]


def _shapes(records: Records, chip: str) -> Lines:
    """Yields LDS figures of attentions of models that are compared with round shapes."""
    yield [
        chip,
        "round shape",
        "floor",
        "MFMA",
        "conflict cycles",
        "LDS instructions over the round shape's",
        "LDS cycles",
    ]
    for row in records.shapes:
        if row.target == chip and row.round and row.fast is not None:
            found = [row.ratio(counter) for counter in COMPARED]
            yield [
                row.label_of_shape,
                row.round,
                times(row.floor),
                "yes" if row.has_matrix_instructions else "no",
                f"{row.fast.counters[Counted.CONFLICTS]:,}",
                *("" if ratio is None else times(ratio) for ratio in found),
            ]


def _shared_memory(records: Records) -> Lines:
    yield ["", "no mitigation", "stock padding", "Bankwise, `layout`"]
    for shape in (SMALL, LARGE):
        rows = [records.shared_memory_of(f"{shape}_f16", mode) for mode in ("none", STOCK, LAYOUT)]
        grid = shape.removeprefix("attention_").replace("x", " x ")
        yield [f"{grid}: conflicts of loads and stores", *(f"{row.conflicts:,}" for row in rows)]
        yield ["as the bank model counts them", *(f"{row.predicted_conflicts:,}" for row in rows)]
        yield [
            f"{grid}: wavefronts, which are cycles of shared memory, conflicts included",
            *(f"{row.wavefronts:,}" for row in rows),
        ]
        yield ["as the bank model counts them", *(f"{row.predicted_wavefronts:,}" for row in rows)]
        yield [f"{grid}: instructions", *(f"{row.instructions:,}" for row in rows)]


def _levels(rows: Sequence[SweptRow]) -> Lines:
    """Yields the sums of swept attentions in each mode."""
    yield [
        "chip, type and mode",
        "shapes with conflicts",
        "conflict cycles",
        "LDS instructions over stock's",
        "LDS cycles",
        "VALU instructions",
    ]
    for found in summaries(rows):
        over = (Counted.LDS, Counted.LDS_CYCLES, Counted.VALU)
        yield [
            f"{found.group.target} {found.group.dtype}, `{found.mode}`",
            f"{found.conflicting} of {found.kernels}",
            f"{found.conflicts:,}",
            *(_over_stock(found, counter) for counter in over),
        ]


def _over_stock(found: Summary, counter: str) -> str:
    """Returns a sum over the grids of a mode, over that of stock's grids."""
    ours, stock = (
        sum((found.group.rows[kernel, mode].grid or {})[counter] for kernel in found.group.kernels)
        for mode in (found.mode, STOCK)
    )
    return f"{ours / stock:.3f}x"


def _count(rows: Sequence[EmulatedRow], mode: str, counter: str) -> int:
    return sum(row.count(mode, counter) or 0 for row in rows)


def _products(records: Records, chip: str) -> Lines:
    rows = [row for row in records.products if row.target == chip]
    yield [f"{chip}, {len(rows)} kernels", "stock", "`layout`", "`exact`", "`fast`"]
    yield [
        "kernels with conflicts",
        *(str(sum(bool(row.count(m, Counted.CONFLICTS)) for row in rows)) for m in _MODES),
    ]
    yield [
        "kernels with more LDS instructions than stock",
        *(str(sum(row.instruction_ratio(mode) > 1 for row in rows)) for mode in _MODES),
    ]
    for name, counter in (
        ("LDS cycles", Counted.LDS_CYCLES),
        ("LDS instructions", Counted.LDS),
        ("VALU instructions", Counted.VALU),
    ):
        stock = _count(rows, STOCK, counter)
        yield [
            f"{name} over stock's",
            *(times(_count(rows, mode, counter) / stock) for mode in _MODES),
        ]


def _programs(records: Records) -> Lines:
    yield ["programs", "no mitigation", "stock", "Bankwise"]
    modes = ("none", STOCK, "auto")
    for chip in dict.fromkeys(row.target for row in records.programs):
        rows = [row for row in records.programs if row.target == chip]
        with_lds = [row for row in rows if row.uses_lds]
        free = (sum(row.count(m, Counted.CONFLICTS) == 0 for row in with_lds) for m in modes)
        yield [f"{chip}: of {len(with_lds)} with LDS, those without conflicts", *map(str, free)]
        for name, counter in (
            ("conflict cycles", Counted.CONFLICTS),
            ("LDS cycles", Counted.LDS_CYCLES),
            ("LDS instructions", Counted.LDS),
        ):
            yield [f"{chip}: {name}", *(f"{_count(rows, mode, counter):,}" for mode in modes)]
