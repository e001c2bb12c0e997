# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JSON of files that anybody may have written. It lies in the lowest room, so that all can ask."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def read_json(text: str | bytes) -> Any:
    """Returns what a text holds that is JSON by its standard, which has no NaN and no infinity.

    Raises:
        ValueError: it is no such text, or what it holds is nested too deeply, or its numbers have
            more digits, than anything that Bankwise reads.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
