# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report as JSON; `docs/report.md` describes the schema."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .. import __version__
from ..bank_model.layout_counts import LayoutCount
from ..bank_model.map_folding import FoldedMap
from . import columns
from .bank_map_data import bank_map_data, layout_data
from .bank_map_text import folding_caption
from .columns import Column, Row
from .conflict_report import AccessGroup, AllocationReport
from .contents import AccessRow, AllocationRow, Contents, ReportedFunction, Sums
from .headline import Headline
from .measured.words import measured_data
from .source_lines import SourceLines

SCHEMA_VERSION = 1


def json_report(contents: Contents) -> str:
    """Returns the whole document."""
    sources = SourceLines()
    document = {
        "version": SCHEMA_VERSION,
        "tool": f"bankwise-report {__version__}",
        "inputs": list(contents.inputs),
        "mode": "compile" if contents.mitigation else "ir",
        "mitigation": contents.mitigation or None,
        "headline": _headline(Headline.of(contents)),
        "functions": [_function(each, contents, sources) for each in contents.functions],
        "totals": _sums(Sums.of([each.report for each in contents.allocations])),
        "measured": measured_data(contents.measured) if contents.measured else None,
    }
    return json.dumps(document, indent=2) + "\n"


def _headline(headline: Headline | None) -> dict[str, object] | None:
    """Returns the one number of the report; None where it is about no LDS."""
    if headline is None:
        return None
    return {
        "conflict_cycles": headline.standing if headline.known else None,
        "proposed_conflict_cycles": headline.chosen if headline.proposed else None,
        "complete": headline.complete,
        "text": str(headline),
    }


def _function(
    function: ReportedFunction, contents: Contents, sources: SourceLines
) -> dict[str, object]:
    report = function.report
    launch = report.launch
    return {
        "name": report.name,
        "file": function.file,
        "location": report.location,
        "target": report.arch or None,
        "workgroup_size": list(launch.workgroup_size) if launch else None,
        "subgroup_size": launch.subgroup_size if launch else None,
        "note": report.note or None,
        "has_conflicts": report.has_conflicts,
        "allocations": [
            _allocation(row, contents.bank_maps, sources) for row in function.allocations
        ],
    }


def _data(table: Sequence[Column[Row]], row: Row) -> dict[str, object]:
    return {key: value for column in table for key, value in column.data(row).items()}


def _allocation(row: AllocationRow, bank_maps: bool, sources: SourceLines) -> dict[str, object]:
    report = row.report
    return {
        **_data(columns.ALLOCATION_COLUMNS, row),
        "source_line": sources.line(report.location),
        "proposed": report.is_proposed,
        "has_conflicts": report.has_conflicts,
        "layouts": {
            **{name: _layout(report, count) for name, count in report.layouts.items()},
            "proposal": _layout(report, report.proposal),
        },
        "accesses": [_access(each, bank_maps, sources) for each in row.accesses],
        "unknown": [{"reason": u.reason, "location": u.location} for u in report.unknown],
        "assumptions": list(report.assumptions),
        "remarks": list(report.remarks),
        "proof": report.proof and {"holds": report.proof.holds, "text": report.proof.text},
    }


def _layout(report: AllocationReport, count: LayoutCount | None) -> dict[str, object] | None:
    if count is None:
        return None
    return {
        **layout_data(count.layout),
        "lds_bytes": count.lds_bytes,
        "conflict_cycles": count.conflict_cycles,
        "lds_cycles": report.lds_cycles(count),
    }


def _access(row: AccessRow, bank_maps: bool, sources: SourceLines) -> dict[str, object]:
    group, allocation = row.group, row.allocation
    data = _data(columns.ACCESS_COLUMNS, row)
    data["source_lines"] = [sources.line(each) for each in group.locations]
    for name, count in allocation.layouts.items():
        data[name] = None
        if count is not None:
            data[name] = {
                "conflict_cycles": group.conflict_cycles(count),
                "wavefronts": group.lds_cycles(count),
                "instructions": dict(allocation.instructions(group, count.layout)),
            }
    if bank_maps:
        data["bank_maps"] = {
            name: None
            if count is None
            else _folded(allocation.folded_map(group, count.layout), group)
            for name, count in allocation.layouts.items()
        }
    return data


def _folded(folded: FoldedMap | None, group: AccessGroup) -> dict[str, object] | None:
    """Returns the worst phase, and how many of all phases have the same map."""
    if folded is None:
        return None
    return {
        **(bank_map_data(folded.shown, "issue") or {}),
        "same": {
            "text": folding_caption(folded, group.issue_name),
            "phases": folded.phases,
            "same_phases": len(folded.same),
            "same_on_other_banks": folded.moved,
        },
    }


def _sums(sums: Sums) -> dict[str, object]:
    data: dict[str, object] = {
        name: {"conflict_cycles": cycles, "lds_bytes": size}
        for name, (cycles, size) in sums.of_layouts.items()
    }
    return {
        **data,
        "lds_cycles": sums.lds_cycles,
        "ideal_lds_cycles": sums.ideal_cycles,
        "complete": sums.complete,
    }
