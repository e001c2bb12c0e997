# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-report`: the bank conflicts of every LDS allocation and access of a kernel."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import __version__
from ..iree_plugin.atomic_file import OutputError, check_distinct, check_output, write_output
from ..report.formats import rendered
from ..report.measured.dispatches import MeasuredFileError
from ..report.measured.reading import read_measured
from .endings import fail, warn
from .report_arguments import ReportSettings, help_text, parse_report_arguments
from .usage import UsageError, check_target

if TYPE_CHECKING:
    from ..report.conflict_report import FunctionReport
    from ..report.contents import Contents
    from ..report.measured.comparison import Measurements

PROGRAM = "bankwise-report"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if any(word in ("--help", "-help", "-h") for word in arguments):
            print(help_text(), end="")
            return 0
        if any(word in ("--version", "-version") for word in arguments):
            print(f"{PROGRAM} {__version__}")
            return 0
        settings = parse_report_arguments(arguments)
        if settings.target is not None:
            check_target("--target", settings.target)
        check_distinct([*settings.inputs, *settings.measured], {"-o": settings.output})
        check_output(settings.output)
        for file in settings.measured:  # Before a compile that may take long.
            read_measured(file)
        return _run(settings, arguments)
    except (MeasuredFileError, UsageError, OutputError) as error:
        return fail(PROGRAM, str(error))


def _run(settings: ReportSettings, arguments: Sequence[str]) -> int:
    # The compiler's library is loaded only now: usage errors answer at once.
    from ..iree_plugin import embedding

    flags = settings.compile.process_flags if settings.compile else ()
    embedding.set_process_flags(PROGRAM, list(flags))

    from ..iree_plugin.stepped_compile import CompileError, DriverError
    from ..passes.pipeline_edit import PipelineEditError
    from ..report.contents import Contents, SelectionError, number_report

    try:
        reports = _reports(settings)
        if settings.check_proofs:
            from ..report.proofs import with_checked_proofs

            reports = [(file, with_checked_proofs(report)) for file, report in reports]
        contents = Contents(
            inputs=settings.inputs,
            command=(PROGRAM, *arguments),
            mitigation=settings.compile.mitigation if settings.compile else "",
            functions=number_report(
                reports, settings.inputs, settings.allocations, settings.accesses
            ),
            bank_maps=settings.bank_map,
            measured=_measured(settings, [report for _, report in reports]),
        )
        write_output(settings.output, _rendered(contents, settings).encode(errors="replace"))
    except CompileError:
        return 1
    except (DriverError, MeasuredFileError, PipelineEditError, SelectionError) as error:
        return fail(PROGRAM, str(error))
    found = [report for _, report in reports]
    if settings.check_proofs:
        from ..report.proofs import why_not_proven

        reason = why_not_proven(found)
        if reason:
            return fail(PROGRAM, f"--check-proofs: {reason}")
    return _verdict(settings, reports) if settings.fail_on_conflicts else 0


def _verdict(settings: ReportSettings, reports: list[tuple[str, FunctionReport]]) -> int:
    """Says what `--fail-on-conflicts` objects to; returns the exit code."""
    from ..report.verdict import warning, why_failed

    compiled = settings.compile is not None
    reason = why_failed(reports, settings.inputs, compiled=compiled)
    if reason:
        return fail(PROGRAM, f"--fail-on-conflicts: {reason}")
    notice = warning(reports, compiled=compiled)
    if notice:
        warn(PROGRAM, f"--fail-on-conflicts: {notice}")
    return 0


def _reports(settings: ReportSettings) -> list[tuple[str, FunctionReport]]:
    """Returns the file and the report of every function."""
    if settings.compile is None:
        from ..report.sources import report_files

        given = (settings.inputs, settings.target)
        return report_files(*given, block=settings.block, split_input=settings.split_input)
    from ..report.observed_compile import observe_compile

    found = observe_compile(settings.compile)
    return [(settings.inputs[0], report) for report in found]


def _measured(settings: ReportSettings, reports: list[FunctionReport]) -> Measurements | None:
    if not settings.measured:
        return None
    from ..report.measured.comparison import compare

    return compare(settings.measured, reports)


def _rendered(contents: Contents, settings: ReportSettings) -> str:
    if settings.output == "-" and sys.stdout.isatty():
        width = shutil.get_terminal_size((100, 24)).columns
        colour = "NO_COLOR" not in os.environ
        return rendered(contents, settings.format, terminal_width=width, colour=colour)
    return rendered(contents, settings.format)


if __name__ == "__main__":
    from .commands import report_command

    report_command()
