# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the results page says first: what was measured, and where it is not better."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ...emulator.counters import Counted
from ...emulator.timing.constants import TIMED_CHIPS
from ...sweep.tables import markdown_lines, summaries
from ..attention_shapes import MOST
from ..gpu.modes import (
    EXACT,
    FAST,
    FAST_HOPPER,
    HOPPER,
    LAYOUT,
    STOCK,
    mode_and_target,
    mode_for,
)
from ..gpu.ratios import LIBRARY, RMS_ERROR, Ratios, failing, is_scalar_in_stock
from ..gpu.record import Figures
from ..gpu.references import CUBLAS, FLASH
from ..gpu.timed_kernels import ATTENTION, CONVOLUTION, MATMUL, TimedKernel
from ..matmul_table import Row as ProductRow
from ..whole_models.model_record import COMPILED, ModelRecord
from .ladder import kernels
from .records import MissingRowError, Records

CUDNN = "cudnn"
SMALL, LARGE = "attention_1x1024x128", "attention_16x4096x128"
"""The attentions whose conflicts are quoted: a grid of few workgroups, and one of many."""
_TIMES = "`python -m bankwise.bench.gpu_times`"
_LINE = 108
_SLOWER = 1.1
"""From how many times a library's time on an attention of models is named."""
_LITTLE = 0.8
"""From which part of stock's time on a kernel is said to gain little."""


def sections(records: Records) -> dict[str, str]:
    """Returns the parts of the page by their names."""
    made: dict[str, Callable[[Records], str]] = {
        "measured": _measured,
        "where it is not better": _not_better,
    }
    return {name: make(records) + "\n" for name, make in made.items()}


def mean(ratios: Ratios, function: str, series: str, base: str = STOCK) -> float:
    """Returns the geometric mean of the times of f16 kernels over those of a mode or library."""
    return mean_of(ratios, kernels(ratios, function), series, base)


def mean_of(ratios: Ratios, chosen: Sequence[TimedKernel], series: str, base: str) -> float:
    """Returns the geometric mean of the times of kernels over those of a mode or library."""
    found = ratios.mean(chosen, series, base)
    if found is None:
        raise MissingRowError(f"the record has no times of {series} over {base}")
    return found.ratio


def times(ratio: float) -> str:
    """Returns a ratio as the pages write it."""
    return f"{ratio:.2f}x"


def wrapped(text: str, bullet: str = "") -> str:
    """Returns a paragraph, or an item of a list, in lines of the pages' width."""
    return textwrap.fill(
        bullet + text,
        _LINE,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _measured(records: Records) -> str:
    head = ["what", "where", "made by", "stock IREE", "Bankwise"]
    lines = [head, *_on_gpu(records), *_emulated_attentions(records), *_emulated_others(records)]
    return markdown_lines(lines, text_columns=3)


def _on_gpu(records: Records) -> Iterator[list[str]]:
    """Yields the rows of the GPU."""
    ratios = records.times
    where = f"{_device(records)}, {ratios.record.conditions.target} code"
    many, few = (len(kernels(ratios, function)) for function in (ATTENTION, MATMUL))
    yield [
        f"time of f16 attention over FlashAttention-2's, mean of {many} shapes",
        where,
        _TIMES,
        times(mean(ratios, ATTENTION, STOCK, FLASH)),
        f"{times(mean(ratios, ATTENTION, EXACT, FLASH))} `exact`, "
        f"**{times(mean(ratios, ATTENTION, FAST, FLASH))}** `fast`",
    ]
    yield [
        f"time of f16 matmul over cuBLAS's (sm_90 code), mean of {few} shapes",
        where,
        _TIMES,
        times(mean(ratios, MATMUL, STOCK, CUBLAS)),
        f"**{times(mean(ratios, MATMUL, EXACT, CUBLAS))}**",
    ]
    yield from _of_hopper(records)
    yield from _of_models(records, where)
    yield from _of_products(records, where)
    same = _same_bits(records)
    yield [
        f"attentions and matmuls of {len(same)} whose `exact` output differs from stock's in a bit",
        where,
        _TIMES,
        "",
        f"**{len(same) - sum(same.values())}**",
    ]
    rows = ratios.record.by_case()
    for shape in (SMALL, LARGE):
        stock, layout = (
            f"{records.shared_memory_of(f'{shape}_f16', mode).conflicts:,}"
            for mode in (STOCK, LAYOUT)
        )
        exact = conflicts(rows[f"{shape}_f16", EXACT].figures)
        yield [
            f"bank conflicts of f16 attention {_shape(shape)}, by `ncu`",
            where,
            f"`python -m bankwise.bench.cuda_attention`, {_TIMES}",
            stock,
            f"{layout} `layout`, **{exact:,}** `exact`",
        ]


def _same_bits(records: Records) -> dict[str, bool]:
    """Returns whether `exact` has the bits of stock, by the attentions and matmuls that ran."""
    found: dict[str, bool] = {}
    for ratios in (records.times, records.model_attentions):
        outputs = {case: row.output for case, row in ratios.record.by_case().items()}
        for kernel in ratios.record.kernels:
            if {STOCK, EXACT} <= {*kernel.modes}:
                found[kernel.name] = outputs[kernel.name, STOCK] == outputs[kernel.name, EXACT]
    return found


def _of_hopper(records: Records) -> Iterator[list[str]]:
    """Yields the rows of code for sm_90a, which stock IREE does not compile for."""
    ratios = records.times
    exact, fast = (mode_for(mode, HOPPER) for mode in (EXACT, FAST))
    where, made = f"{_device(records)}, {HOPPER} code", f"{_TIMES}, `--also-for {HOPPER}`"
    many, few = (len(kernels(ratios, function)) for function in (ATTENTION, MATMUL))
    yield [
        f"time of f16 attention over FlashAttention-2's, mean of {many} shapes",
        *(where, made, ""),
        f"{times(mean(ratios, ATTENTION, exact, FLASH))} `exact`, "
        f"**{times(mean(ratios, ATTENTION, fast, FLASH))}** `fast`",
    ]
    yield [
        f"time of f16 matmul over cuBLAS's (sm_90 code), mean of {few} shapes",
        *(where, made, ""),
        f"**{times(mean(ratios, MATMUL, exact, CUBLAS))}** `exact`",
    ]


def _of_products(records: Records, where: str) -> Iterator[list[str]]:
    """Yields the rows of convolutions, and of matmuls with dynamic sizes."""
    convolutions = kernels(records.gpu_products, CONVOLUTION)
    yield [
        f"time of f16 convolution over cuDNN's, mean of {len(convolutions)} shapes",
        where,
        f"{_TIMES}, `--set products`",
        times(mean(records.gpu_products, CONVOLUTION, STOCK, CUDNN)),
        f"**{times(mean(records.gpu_products, CONVOLUTION, EXACT, CUDNN))}** `exact`",
    ]
    dynamic = kernels(records.gpu_dynamic, MATMUL)
    yield [
        f"time of f16 matmul with a number of rows that only the program knows over cuBLAS's, mean "
        f"of {len(dynamic)} with 1 to 2048 rows",
        where,
        f"{_TIMES}, `--set dynamic`",
        times(mean(records.gpu_dynamic, MATMUL, STOCK, CUBLAS)),
        f"**{times(mean(records.gpu_dynamic, MATMUL, FAST, CUBLAS))}** `fast`",
    ]


def _of_models(records: Records, where: str) -> Iterator[list[str]]:
    """Yields the rows of attentions as models have them, and of whole models."""
    ratios = records.model_attentions
    attentions = kernels(ratios, ATTENTION)
    scalar = [kernel for kernel in attentions if is_scalar_in_stock(kernel)]
    for what, chosen in (
        (f"{len(attentions)} shapes of models", attentions),
        (f"the {len(scalar)} of them that stock computes by scalar instructions", scalar),
    ):
        stock, fast = (mean_of(ratios, chosen, mode, LIBRARY) for mode in (STOCK, FAST))
        yield [
            f"time of f16 attention over FlashAttention-2's, or CUTLASS's where that takes none, "
            f"mean of {what}",
            where,
            "`python -m bankwise.bench.gpu_times`, `--set attentions`",
            times(stock),
            f"**{times(fast)}** `fast`",
        ]
    compared: Sequence[tuple[str, ModelRecord, Callable[[str], float | None]]] = (
        (
            "time of the kernels of a call over stock's, mean of {} models of a layer or two",
            records.models,
            partial(records.models.mean, figure=lambda row: row.kernel_milliseconds),
        ),
        (
            "time of a call over stock's, mean of {} models of a layer or two",
            records.model_calls,
            partial(records.model_calls.mean, figure=lambda row: row.milliseconds),
        ),
        (
            "the same over `torch.compile`'s, mean of {} models",
            records.model_calls,
            partial(records.model_calls.torch_mean, series=COMPILED),
        ),
    )
    for what, record, mean_of_mode in compared:
        stock, exact, fast, hopper = map(mean_of_mode, (STOCK, EXACT, FAST, FAST_HOPPER))
        if not (stock and exact and fast):
            raise MissingRowError(f"a record of models lacks the times of {what}")
        also = f", {times(hopper)} with {HOPPER} code" if hopper else ""
        of_torch = {row.kernel for row in record.torch if row.milliseconds}
        count = len(of_torch if "torch" in what else record.models())
        yield [
            what.format(count),
            f"{_short(record.device)}, {record.target} code",
            "`python -m bankwise.bench.models`",
            times(stock),
            f"{times(exact)} `exact`, **{times(fast)}** `fast`{also}",
        ]


def conflicts(figures: Figures) -> int:
    """Returns what `ncu` counts as bank conflicts of loads and stores."""
    return figures.load_conflicts + figures.store_conflicts


def _emulated_attentions(records: Records) -> Iterator[list[str]]:
    """Yields the rows of emulated attentions."""
    grids = [records.swept_of(SMALL, "f32", mode).grid or {} for mode in (STOCK, EXACT, FAST)]
    for what, counter in (("bank conflicts", Counted.CONFLICTS), ("LDS instructions", Counted.LDS)):
        stock, exact, fast = (f"{grid[counter]:,}" for grid in grids)
        both = f"{exact} `exact`, **{fast}** `fast`"
        yield [
            f"{what} of f32 attention {_shape(SMALL)}",
            "gfx942, emulated",
            "`bankwise-run --counters`",
            stock,
            f"**{exact}**" if exact == fast else both,
        ]
    for chip in TIMED_CHIPS:
        shapes = [row for row in records.shapes if row.target == chip]
        yield [
            f"of {len(shapes)} attentions of models, those with matrix instructions",
            f"{chip}, emulated",
            "`python -m bankwise.bench.attention_shapes`",
            str(sum(bool(row.stock) for row in shapes)),
            f"**{sum(row.has_matrix_instructions for row in shapes)}** `fast`",
        ]
    found = {(each.group.dtype, each.mode): each for each in summaries(records.swept)}
    for dtype in ("f32", "f16"):
        yield [
            f"of {found[dtype, STOCK].kernels} attention shapes in {dtype}, those with conflicts",
            "gfx942, emulated",
            "`bankwise-sweep --kernels=attention`",
            str(found[dtype, STOCK].conflicting),
            f"**{found[dtype, EXACT].conflicting}**",
        ]


def _emulated_others(records: Records) -> Iterator[list[str]]:
    """Yields the rows of emulated products and programs."""
    for chip in ("gfx942", "gfx950"):
        rows = [row for row in records.products if row.target == chip]
        yield [
            f"of {len(rows)} matmuls and convolutions, those with conflicts",
            f"{chip}, emulated",
            "`python -m bankwise.bench.matmul_table`",
            str(_with_conflicts(rows, STOCK)),
            f"**{_with_conflicts(rows, EXACT)}**",
        ]
    programs = [row for row in records.programs if row.target == "gfx942" and row.uses_lds]
    free = {
        mode: sum(row.count(mode, Counted.CONFLICTS) == 0 for row in programs)
        for mode in ("stock", "auto")
    }
    yield [
        f"of {len(programs)} programs with LDS, those without conflicts",
        "gfx942, emulated",
        "`python -m bankwise.bench.programs`",
        str(free["stock"]),
        f"**{free['auto']}**",
    ]


def _with_conflicts(rows: Sequence[ProductRow], mode: str) -> int:
    return sum(bool(row.count(mode, Counted.CONFLICTS)) for row in rows)


def _not_better(records: Records) -> str:
    """Returns what a reader would otherwise have to look for in the records."""
    found = (
        *_slower_kernels(records),
        *_slower_models(records),
        *_conflicts_left(records),
        *_more_instructions(records),
        *_more_than_round_shapes(records),
    )
    return "\n".join(wrapped(line, "* ") for line in found)


def _slower_kernels(records: Records) -> Iterator[str]:
    ratios = records.times

    def named(function: str, mode: str, least: float) -> str:
        known = (
            (kernel, ratios.ratio(kernel, mode, STOCK)) for kernel in kernels(ratios, function)
        )
        return ", ".join(
            f"{kernel.label.replace('_', ' ')} ({times(ratio)})"
            for kernel, ratio in known
            if ratio is not None and ratio > least
        )

    if slower := named(ATTENTION, LAYOUT, 1):
        yield f"{_device(records)}: attentions that `layout` makes slower than stock: {slower}."
    if little := named(MATMUL, EXACT, _LITTLE):
        yield f"{_device(records)}: matmuls that gain little at `exact`: {little}."
    inexact: dict[str, str] = {}
    for found in failing(ratios.record):
        mode = found.mode.removeprefix("auto/")
        if found.what.startswith(RMS_ERROR) and mode_and_target(found.mode)[0] == FAST:
            inexact[found.kernel.replace("_", " ")] = found.what.removeprefix(RMS_ERROR)
        else:
            yield f"{_device(records)}: `{found.kernel}` fails its check at `{mode}`: {found.what}."
    if inexact:
        errors = ", ".join(f"{kernel} ({error})" for kernel, error in inexact.items())
        yield (
            f"{_device(records)}: rms errors at `fast` that are larger than stock's, and as large "
            f"as [PyTorch's](compile.md#what-fast-promises): {errors}."
        )


def _slower_models(records: Records) -> Iterator[str]:
    """Yields which attentions of models a library computes faster, and what of models fails."""
    ratios = records.model_attentions
    slower = [
        f"{kernel.label.replace('_', ' ')} ({times(ratio)})"
        for kernel in ratios.family(ATTENTION)
        if (ratio := ratios.ratio(kernel, FAST, LIBRARY)) is not None and ratio > _SLOWER
    ]
    if slower:
        yield (
            f"{_device(records)}: attentions of models that take more than {times(_SLOWER)} of "
            f"FlashAttention-2's or CUTLASS's time at `fast`: {', '.join(slower)}."
        )
    for found in records.models.findings():
        mode = found.mode.removeprefix("auto/")
        where = _short(records.models.device)
        if mode == STOCK and "rms" in found.what:
            ours = records.models.row(found.kernel, EXACT)
            also = "" if ours is None else f"; at `exact` it is {ours.errors.rms:.2e}"
            yield (
                f"{where}: stock IREE computes the model `{found.kernel}` wrong, so that its "
                f"outputs are no measure: {found.what}, which is the rms of the outputs{also}."
            )
        else:
            yield f"{where}: the model `{found.kernel}` fails its check at `{mode}`: {found.what}."


def _conflicts_left(records: Records) -> Iterator[str]:
    """Yields where `ncu` counts conflicts, and where the emulator does."""
    rows = records.times.record.by_case()
    attentions = kernels(records.times, ATTENTION)
    left = {
        kernel: count
        for kernel in attentions
        if (count := conflicts(rows[kernel.name, EXACT].figures))
    }
    if left:
        most = max(left, key=lambda kernel: left[kernel])
        stock = conflicts(rows[most.name, STOCK].figures)
        yield (
            f"{_device(records)}: at `exact`, `ncu` counts bank conflicts in {len(left)} of "
            f"{len(attentions)} f16 attentions, at most {left[most]:,} where stock has {stock:,} "
            f"({most.label.replace('_', ' ')})."
        )
    layout = records.shared_memory_of(f"{LARGE}_f16", LAYOUT)
    if layout.conflicts and not layout.predicted_conflicts and layout.is_as_predicted:
        yield (
            f"{_device(records)}: of the {layout.conflicts:,} that `ncu` counts at `layout` in the "
            f"large grid above, none is the model's: the wavefronts that `ncu` counts are the "
            f"model's exactly, and the metric also counts cycles in which an access waits for "
            f"others ([counters](counters.md"
            f"#how-the-hardware-counts-and-what-was-compared))."
        )
    for row in records.products:
        where = f"{row.target}, emulated"
        for each in row.reasons:
            if each.mode == EXACT and each.cycles_after:
                yield f"{where}: conflicts are left in `{row.kernel}`: {each.reason}."


def _more_instructions(records: Records) -> Iterator[str]:
    """Yields what products pay in LDS instructions, and which of them fail."""
    for chip in dict.fromkeys(row.target for row in records.products):
        rows = [row for row in records.products if row.target == chip]
        for mode in (LAYOUT, EXACT, FAST):
            more = [row for row in rows if row.instruction_ratio(mode) > 1]
            if not more:
                continue
            most = max(row.instruction_ratio(mode) for row in more)
            line = (
                f"{chip}, emulated: {len(more)} of {len(rows)} matmuls and convolutions have more "
                f"LDS instructions than stock at `{mode.removeprefix('auto/')}`, up to "
                f"{times(most)}"
            )
            yield line + (f": {_named(more)}." if mode != LAYOUT else ".")
    failed = [row for row in records.products if row.faults]
    if failed:
        yield (
            f"Emulated: {len(failed)} of {len(records.products)} rows fail that table's check: "
            + (
                "; ".join(
                    f"`{row.kernel}` on {row.target}, {', '.join(row.faults)}" for row in failed
                )
                + "."
            )
        )


def _more_than_round_shapes(records: Records) -> Iterator[str]:
    """Yields which attentions of models have more LDS instructions than round ones."""
    for chip in TIMED_CHIPS:
        rows = [row for row in records.shapes if row.target == chip]
        if left := [row.label_of_shape for row in rows if not row.has_matrix_instructions]:
            yield f"{chip}, emulated: attentions that stay scalar at `fast`: {', '.join(left)}."
        ratios = {
            row.label_of_shape: ratio
            for row in rows
            if row.has_matrix_instructions and (ratio := row.ratio(Counted.LDS)) is not None
        }
        more = [name for name, ratio in ratios.items() if ratio > MOST]
        if more:
            most = max(more, key=lambda name: ratios[name])
            yield (
                f"{chip}, emulated: {len(more)} of {len(ratios)} attentions whose sizes are not "
                f"round execute more than {MOST:g} times as many LDS instructions for each "
                f"multiplication as with their sizes rounded up, up to {times(ratios[most])} "
                f"({most}): [all](#emulated-counters-attentions-of-models)."
            )


def _named(rows: Sequence[ProductRow]) -> str:
    """Returns the kernels, those of one kind and type together."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        kind, shape, rest = row.kernel.split("_", 2)
        groups.setdefault(f"{kind} {rest.replace('_', ' ')}", []).append(shape)
    return "; ".join(f"{group} {', '.join(shapes)}" for group, shapes in groups.items())


def _device(records: Records) -> str:
    return _short(records.times.record.conditions.device)


def _short(device: str) -> str:
    """Returns the name of a GPU without its maker and its memory: `H100`."""
    return device.removeprefix("NVIDIA ").partition(" ")[0]


def _shape(kernel: str) -> str:
    return kernel.removeprefix("attention_").replace("x", " x ")
