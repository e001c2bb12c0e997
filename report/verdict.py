# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `--fail-on-conflicts` says: conflicts fail, and so does code that was not read.

A pass means that all GPU code is known to have no bank conflicts. A program without any GPU code
passes with a warning, because a wrong flag makes one too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..bank_model.shown_text import counted, shown_text
from .conflict_report import FunctionReport
from .contents import Sums
from .sources import A_DEVICE, ASK_FOR_A_COMPILE, how_to_name_the_gpu

FileReports = Sequence[tuple[str, FunctionReport]]
"""The functions of a report with the files that they are in."""


def why_failed(reports: FileReports, inputs: Sequence[str], *, compiled: bool) -> str:
    """Returns what `--fail-on-conflicts` objects to, in one line; empty if to nothing.

    IR without a single kernel is objected to unless it was compiled: nothing has been counted.
    """
    functions = [report for _, report in reports]
    parts = [
        *_conflicts(functions),
        *_not_counted(functions),
        *_not_read(functions),
        *([] if compiled else _without_kernel(reports, inputs)),
    ]
    return "; ".join(parts)


def warning(reports: FileReports, *, compiled: bool) -> str:
    """Returns why a compile has passed although nothing was counted, in one line; else nothing."""
    functions = [report for _, report in reports]
    if not compiled or any(not each.on_cpu for each in functions):
        return ""
    where = f", only {counted(len(functions), 'function')} for the CPU" if functions else ""
    return f"the program has no GPU code{where}; if it should have, name the device, {A_DEVICE}"


def _conflicts(functions: Sequence[FunctionReport]) -> list[str]:
    allocations = [each for report in functions for each in report.allocations]
    cycles = Sums.of(allocations).of_layouts["standing"][0]
    conflicts = counted(cycles, "conflict cycle", separator=",")
    return [f"{conflicts} in the code as it stands"] if cycles else []


def _not_counted(functions: Sequence[FunctionReport]) -> list[str]:
    nameless = [report for report in functions if report.allocations and not report.arch]
    unknown = [a for each in functions if each.arch for a in each.allocations if a.unknown]
    parts: list[str] = []
    if nameless:
        count = counted(len(nameless), "function")
        parts.append(f"{count} with LDS but no GPU; {how_to_name_the_gpu(nameless[0])}")
    if unknown:
        use = unknown[0].unknown[0]
        where = use.location or unknown[0].location
        count = counted(len(unknown), "allocation")
        parts.append(f"{count} with uses that are not known, the first at {where}: {use.reason}")
    return parts


def _not_read(functions: Sequence[FunctionReport]) -> list[str]:
    unread = [report for report in functions if report.unread]
    uncompiled = sum(report.uncompiled for report in functions)
    parts: list[str] = []
    if unread:
        count = counted(len(unread), "function")
        which = f"@{unread[0].name}" if len(unread) == 1 else f"the first is @{unread[0].name}"
        parts.append(f"{count} not read ({shown_text(which)}): {unread[0].note}")
    if uncompiled:
        parts.append(f"{counted(uncompiled, 'function')} not compiled; {ASK_FOR_A_COMPILE}")
    return parts


def _without_kernel(reports: FileReports, inputs: Sequence[str]) -> list[str]:
    """Returns an objection to the inputs that hold no kernel, each for itself.

    Whether a file passes must not depend on the files that it is given with.
    """
    with_kernel = {file for file, report in reports if _may_be_kernel(report)}
    without = [name for name in dict.fromkeys(inputs) if name not in with_kernel]
    if not without:
        return []
    if len(without) == len(set(inputs)):
        which = "the input holds" if len(without) == 1 else "the inputs hold"
    else:
        which = f"'{without[0]}' holds"
        if len(without) > 1:
            which = f"{len(without)} inputs (the first is '{without[0]}') hold"
    return [f"nothing was compiled and {which} no kernel; {ASK_FOR_A_COMPILE}"]


def _may_be_kernel(report: FunctionReport) -> bool:
    return report.is_device_code or report.unread or report.uncompiled
