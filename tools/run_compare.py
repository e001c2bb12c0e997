# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-run --compare=stock` prints: the counters of two compiles, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..bank_model.shown_text import shown_text
from ..iree_plugin.compile_settings import CompileSettings
from ..runtime.module_run import RunSettings

if TYPE_CHECKING:
    from ..runtime.dispatch_record import DispatchRecord

Array = npt.NDArray[Any]
Counts = Mapping[str, float]

_TIME = "predicted us"


def settings_of_other(settings: RunSettings) -> RunSettings:
    """Returns the settings of the run that a run is compared with, which shows nothing."""
    assert settings.compare is not None
    usual = CompileSettings()
    compiled = replace(
        settings.compile,
        mitigation=settings.compare,
        level=usual.level,
        retile=usual.retile,
        remarks=False,
        decisions=None,
        tuning_spec=None,
        dump_ir=None,
        verify_lds=False,
    )
    return replace(settings, compile=compiled, trace=False)


def print_comparison(
    name: str, others: Sequence[DispatchRecord], ours: Sequence[DispatchRecord]
) -> None:
    """Prints one table: for each kernel what counts most, then the totals of all counters.

    A kernel that is launched several times has its sums. The counters of a sample are scaled to the
    grid: two compiles may cut a kernel into different numbers of workgroups.

    Args:
        name: the mitigation of the other compile.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table()
    table.add_column("kernel, counter", overflow="fold")
    for title in (name, "Bankwise", f"over {name}"):
        table.add_column(title, justify="right")
    before, after = _by_kernel(others), _by_kernel(ours)
    kernels = list(dict.fromkeys([*after, *before]))
    called = _names((*others, *ours))
    if len(kernels) > 1:
        for kernel in kernels:
            table.add_row(shown_text(kernel))
            _add_rows(table, before.get(kernel), after.get(kernel), _most_important(), called)
            table.add_section()
        table.add_row("total")
    _add_rows(table, _sum(before.values()), _sum(after.values()), (), called)
    Console(soft_wrap=True, highlight=False).print(table)
    if any(each.emulated < each.total for each in (*others, *ours)):
        print("(a sample of workgroups was emulated; its counters are scaled to the whole grid)")


def print_equality(
    name: str, others: Sequence[Array], ours: Sequence[Array], is_sample: bool
) -> None:
    """Says whether the outputs of both compiles are the same bits, unless they are incomplete."""
    if is_sample:
        print("outputs: not compared, because those of a sample are incomplete")
        return
    pairs = list(zip(others, ours, strict=True))
    different = [n for n, (a, b) in enumerate(pairs) if a.tobytes() != b.tobytes()]
    if not different:
        print(f"outputs: the same bits as with {name}")
        return
    which = ", ".join(f"result[{number}]" for number in different)
    print(f"outputs: other bits than with {name} in {which}")


def _most_important() -> tuple[str, ...]:
    from ..emulator.counters import Counted

    return (*map(str, (Counted.CONFLICTS, Counted.LDS, Counted.LDS_CYCLES)), _TIME)


def _by_kernel(records: Sequence[DispatchRecord]) -> dict[str, Counts]:
    """Returns the sums over the launches of each kernel."""
    from ..emulator.counters import totals

    found: dict[str, Counts] = {}
    for record in records:
        counted = totals(record.kernel, record.counters)
        counts: dict[str, float] = {
            name: round(value * record.total / record.emulated) for name, value in counted.items()
        }
        if record.timing is not None:
            counts[_TIME] = record.timing.microseconds.expected
        name = record.kernel.name
        found[name] = _sum([found[name], counts]) if name in found else counts
    return found


def _sum(counts: Iterable[Counts]) -> Counts:
    result: dict[str, float] = {}
    for each in counts:
        for name, value in each.items():
            result[name] = result.get(name, 0) + value
    return result


def _names(records: Sequence[DispatchRecord]) -> Callable[[str], str]:
    """Returns what the chip of a run calls a counter."""
    from ..emulator.counters import shown_name

    return lambda counter: shown_name(counter, records[0].kernel.chip) if records else counter


def _add_rows(
    table: Any,
    before: Counts | None,
    after: Counts | None,
    names: Sequence[str],
    called: Callable[[str], str],
) -> None:
    """Adds the rows of some counters, or of all; a kernel that one compile does not have is `-`."""
    known: list[str] = list(dict.fromkeys([*(after or ()), *(before or ())]))
    for counter in names or known:
        if counter not in known:
            continue
        first = None if before is None else before.get(counter)
        second = None if after is None else after.get(counter)
        ratio = f"{second / first:.3f}x" if first and second is not None else ""
        shown = (_shown(counter, each) for each in (first, second))
        name = called(counter)
        table.add_row(f"  {name}" if names else name, *shown, ratio)


def _shown(counter: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if counter == _TIME else f"{value:,.0f}"
