# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what the README and `docs/results.md` say of measurements and `docs/timing.md` of
predicted times, from the records, and what `docs/chips.md` says of GPUs and
`docs/not_executed.md` of instructions, from the rows of the code.

    python -m bankwise.bench.page_figures

The records are the files in `bench/results/`. A test compares the pages with what this makes, so
that no figure on them can drift from its record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from ..iree_plugin.atomic_file import OutputError, write_output
from .pages import chips, ladder, not_executed, overview, readme, results, timing
from .pages.records import MissingRowError, Records
from .pages.regions import RegionError, with_regions

ROOT = Path(__file__).parents[1]
README, RESULTS_PAGE = ROOT / "README.md", ROOT / "docs" / "results.md"
CHIPS_PAGE, TIMING_PAGE = ROOT / "docs" / "chips.md", ROOT / "docs" / "timing.md"
NOT_EXECUTED_PAGE = ROOT / "docs" / "not_executed.md"


def made(records: Records) -> Iterator[tuple[Path, str]]:
    """Yields each file that quotes records, with the text that it is to have.

    Raises:
        OSError: a record or a page cannot be read.
        MissingRowError: a record lacks what a page quotes.
        RegionError: a page has other parts than those that are made for it.
    """
    yield ladder.PICTURE, ladder.svg(records.times)
    yield README, with_regions(README.read_text(), readme.sections(records))
    yield CHIPS_PAGE, with_regions(CHIPS_PAGE.read_text(), chips.sections(records))
    yield TIMING_PAGE, with_regions(TIMING_PAGE.read_text(), timing.sections(records))
    page = NOT_EXECUTED_PAGE
    yield page, with_regions(page.read_text(), not_executed.sections())
    tables = {**overview.sections(records), **results.sections(records)}
    yield RESULTS_PAGE, with_regions(RESULTS_PAGE.read_text(), tables)


def main() -> int:
    """Writes the files that have changed, or none; returns 1 where a page or record is amiss."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    try:
        changed = [
            (path, text)
            for path, text in made(Records())
            if not path.exists() or path.read_text() != text
        ]
        for path, text in changed:
            write_output(str(path), text.encode())
            print(f"wrote {path.relative_to(ROOT)}")
    except (OSError, OutputError, RegionError, MissingRowError) as error:
        print(f"page_figures: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
