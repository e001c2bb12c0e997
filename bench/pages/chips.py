# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page that says what each tool knows of each GPU, made from the rows of the code.

What levels do where no times are predicted is made from a record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from ...bank_model.families import AMD, family_of
from ...bank_model.features import features_of
from ...bank_model.lds_rules import Status
from ...bank_model.lds_tables import known_targets, lds_of
from ...bank_model.matrix_operands import matrix_instructions
from ...bank_model.targets import products_of
from ...emulator.chips import EMULATED_CHIPS
from ...emulator.timing.constants import TIMED_CHIPS
from ...iree_plugin.described_target import compiles_for
from ...sweep.tables import markdown_lines
from ...tuning.costs.processors import processor_of
from ...tuning.tiles.tiled_operation import needed_gain
from ..compiled_counts import CompiledRow
from ..gpu.modes import STOCK
from .records import Records

_MOST_PRODUCTS = 3


def sections(records: Records) -> dict[str, str]:
    """Returns the parts of the page by their names."""
    return {"chips": table(), "levels": levels(records.compiled)}


def levels(rows: Sequence[CompiledRow]) -> str:
    """Returns what each kernel counts at each level on each chip of the record."""
    modes = list(dict.fromkeys(mode for row in rows for mode in row.figures))
    lines = [["kernel", "chip", "conflict cycles", "LDS instructions", "narrow loads", "registers",
              "spilled"]]  # fmt: skip
    for row in rows:
        counts = zip(*(_level(row, mode) for mode in modes), strict=True)
        shown = (" / ".join("?" if n is None else f"{n:,}" for n in each) for each in counts)
        lines.append([f"`{row.kernel}`", row.target, *shown])
    named = " / ".join(f"`{mode}`" for mode in modes)
    return f"Each cell has {named}:\n\n{markdown_lines(lines, text_columns=2)}\n"


def _level(row: CompiledRow, mode: str) -> tuple[int | None, ...]:
    """Returns the counts of a mode. What stock's layouts cost, decisions of ours say."""
    each = row.figures[mode]
    ours = next(figures for name, figures in row.figures.items() if name != STOCK)
    before, after = (ours.before, ours.issued_before), (each.after, each.issued_after)
    layouts = before if mode == STOCK else after
    return (*layouts, each.narrow_loads, each.registers, each.spills)


def table() -> str:
    """Returns a table of the GPUs of `bankwise.targets()`. Those that differ in nothing but their
    name stand in one line."""
    cells = [(arch, [column(arch) for column in COLUMNS.values()]) for arch in known_targets()]
    lines = [["chips", "sold as", *COLUMNS]]
    for shown, group in groupby(cells, lambda each: each[1]):
        names = [arch for arch, _ in group]
        lines.append([", ".join(names), ", ".join(_products(names)) or "-", *shown])
    return markdown_lines(lines, text_columns=len(lines[0])) + "\n"


def _products(names: list[str]) -> Iterator[str]:
    """Yields products of each architecture, as many as there is room for."""
    for name in names:
        yield from products_of(name)[: max(1, _MOST_PRODUCTS // len(names))]


def _evidence(arch: str) -> str:
    """Returns how many rows of the LDS instructions have which class of evidence."""
    lds = lds_of(arch)
    counts = Counter(each.status for each in lds.rows)
    text = ", ".join(f"{counts[each]} {each.value}" for each in Status if counts[each])
    # Of stores by several lanes to one word, sources on all chips of AMD disagree.
    doubtful = any(each.other and each.other.phases != each.phases for each in lds.rows)
    return f"{text}; sources disagree" if doubtful else text


def _layouts(arch: str) -> str:
    return "yes" if compiles_for(arch) else "IREE 3.13 does not compile for it"


def _instructions(arch: str) -> str:
    """Returns with which matrix instructions passes rename what lanes hold."""
    features = features_of(arch)
    if family_of(arch) is AMD:
        return "WMMA" if features.matrix_generation is None else "MFMA"
    if features.descriptor_tiles:
        return "mma.sync, wgmma"
    return "mma.sync" if features.mma_sync else "-"


def _operands(arch: str) -> str:
    return "yes" if matrix_instructions(arch) else "-"


def _emulated(arch: str) -> str:
    return "yes" if arch in EMULATED_CHIPS else "-"


def _timed(arch: str) -> str:
    return "yes" if arch in TIMED_CHIPS else "-"


def _tiles(arch: str) -> str:
    """Returns where compiles give workgroups other tiles than IREE's."""
    processor = processor_of(arch)
    if processor is None:
        return "IREE's: times are not modelled"
    needed = needed_gain(processor)
    if needed == 0:
        return "where less time is predicted"
    if needed < 1:
        return f"where {100 * needed:g} % less time is predicted"
    return "with `--bankwise-retile=on`"


def _counters(arch: str) -> str:
    """Returns which counter of conflicts `bankwise-report --measured` compares."""
    features = features_of(arch)
    if family_of(arch) is not AMD:
        return "ncu's"
    name = "SQ_LDS_BANK_CONFLICT" if features.conflicts_of_time else "SQC_LDS_BANK_CONFLICT"
    if name in features.blind_counters:
        return f"`{name}`, which reads 0 ({features.blind_counters_source})"
    return f"`{name}`"


def _measured(arch: str) -> str:
    """Returns what this project has measured itself on the chip's code."""
    processor = processor_of(arch)
    return "times, counters" if processor is not None and processor.measured else "-"


COLUMNS: Mapping[str, Callable[[str], str]] = {
    "LDS rules": _evidence,
    "layouts in compiles": _layouts,
    "registers renamed for": _instructions,
    "operands in `bankwise-tile`": _operands,
    "emulator": _emulated,
    "predicted times of kernels": _timed,
    "tiles of workgroups": _tiles,
    "counter of `--measured`": _counters,
    "measured here": _measured,
}
"""What is shown of an architecture, by the heads of the columns."""
