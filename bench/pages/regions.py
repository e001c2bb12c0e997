# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of a page that are made from records, and how they are replaced.

Such a part stands between two comments, which Markdown does not show:

    <!-- made by python -m bankwise.bench.page_figures: NAME -->
    ...
    <!-- end of NAME -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping

COMMAND = "python -m bankwise.bench.page_figures"
_REGION = re.compile(
    rf"(?P<begin><!-- made by {re.escape(COMMAND)}: (?P<name>[\w ]+) -->\n)"
    r"(?P<text>.*?)"
    r"(?P<end><!-- end of (?P=name) -->\n)",
    re.DOTALL,
)


class RegionError(ValueError):
    """A page lacks a part that is made for it, or has one that nothing makes."""


def regions(page: str) -> dict[str, str]:
    """Returns the parts of a page that are made from records, by their names."""
    return {found["name"]: found["text"] for found in _REGION.finditer(page)}


def with_regions(page: str, made: Mapping[str, str]) -> str:
    """Returns a page whose parts are as they are made now.

    Raises:
        RegionError: the page has other parts than those that are made.
    """
    found = regions(page)
    if missing := sorted(made.keys() ^ found.keys()):
        raise RegionError(f"stands in the page or is made for it, but not both: {missing}")
    return _REGION.sub(lambda each: each["begin"] + made[each["name"]] + each["end"], page)
