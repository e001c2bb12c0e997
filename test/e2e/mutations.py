# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files as they are after accidents, or as somebody makes them who means harm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

_DEEP = "<nested a hundred thousand deep>"
_LONG = "<a number of five thousand digits>"
_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2**31, 10**30, 0.5, -0.0, 1e308, float("nan"), float("inf")),
    *("", "x", "0", "\ud800", "\x1b[31m", "a\nb", "|", "9" * 5000, "<svg>", "$x^{$", "é" * 300),
    *([], [[]], {}, {"": None}, _DEEP, _LONG),
)
_PIECES = (
    *(
        '"',
        ",",
        "\n",
        "\0",
        "9" * 5000,
        "-5",
        "1_000",
        "1e308",
        "nan",
        "²",
        "(",
        ")",
        "\r",
        "\x1b[",
    ),
    *("[" * 5000, "{", "}", "]", ":", "\ud800", "\ufeff", "Counter_Name", "\\u0000", "٣"),
)


def mutated_text(text: str, random: Random) -> bytes:
    """Returns a text with some pieces cut out, doubled, or replaced, or with other bytes."""
    for _ in range(random.randint(1, 6)):
        at, end = sorted(random.choices(range(len(text) + 1), k=2))
        end = min(end, at + random.choice((0, 1, 8, 200)))
        new = random.choice((*_PIECES, "", text[at:end] * 2, text[: at // 4]))
        text = text[:at] + new + text[end:]
    data = bytearray(text.encode(errors="surrogatepass"))
    for _ in range(random.choice((0, 0, 3))):
        data[random.randrange(len(data) + 1) - 1 :][:1] = bytes([random.randrange(256)])
    return bytes(data)


def mutated_json(document: Any, random: Random) -> bytes:
    """Returns JSON in which some values are of another type, missing, or doubled."""
    changed = deepcopy(document)
    for _ in range(random.choice((1, 1, 1, 4))):
        places = [*_places(changed)]
        if places:
            holder, key = random.choice(places)
            _change(holder, key, random)
    text = json.dumps(changed)
    text = text.replace(json.dumps(_DEEP), "[" * 100_000 + "]" * 100_000)
    return text.replace(json.dumps(_LONG), "9" * 5000).encode()


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yields every list and dict in each other, with each of its places."""
    keys: Any = ()
    if isinstance(document, dict):
        keys = list(document)
    elif isinstance(document, list):
        keys = range(len(document))
    for key in keys:
        yield document, key
        yield from _places(document[key])


def _change(holder: Any, key: Any, random: Random) -> None:
    how = random.randrange(6)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[random.choice(("x", "", "\x1b", f"{key} "))] = holder[key]
    elif how == 1:
        holder.append(deepcopy(holder[key]))
    else:
        holder[key] = deepcopy(random.choice(_VALUES))


def mutated_files(text: str, count: int, seed: int) -> Iterator[bytes]:
    """Yields mutations of a text, of which every second one, if it is JSON, stays JSON."""
    random = Random(seed)
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    for number in range(count):
        if document is not None and number % 2:
            yield mutated_json(document, random)
        else:
            yield mutated_text(text, random)


def unexpected(
    files: Iterator[bytes], read: Callable[[bytes], object], refusals: tuple[type[Exception], ...]
) -> tuple[dict[str, int], list[tuple[str, bytes]]]:
    """Reads files; returns how many were read and how many refused, and what else came of others.

    Args:
        refusals: the errors that the reader's documentation names.
    """
    counts = {"read": 0, "refused": 0}
    faults: list[tuple[str, bytes]] = []
    for data in files:
        try:
            read(data)
            counts["read"] += 1
        except refusals:
            counts["refused"] += 1
        except Exception as error:
            last = error.__traceback__
            while last is not None and last.tb_next is not None:
                last = last.tb_next
            place = "" if last is None else f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}"
            faults.append((f"{type(error).__name__}: {str(error)[:200]} at {place}", data))
    return counts, faults
