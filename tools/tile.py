# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-tile`: the bank conflicts of one tile, and its best layouts, without a kernel."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from ..bank_model.errors import ProofError
from ..tiles.tile_errors import TileArgumentError
from .endings import fail
from .tile_arguments import TileSettings, parse_arguments
from .usage import UsageError

PROGRAM = "bankwise-tile"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool; returns its exit code."""
    try:
        settings = parse_arguments(list(sys.argv[1:] if argv is None else argv))
        print(_answer(settings), end="")
    except UsageError as error:
        return fail(PROGRAM, str(error))
    except TileArgumentError as error:
        return fail(PROGRAM, f"--{error.argument.replace('_', '-')}: {error.reason}")
    except ProofError as error:
        return fail(PROGRAM, f"the proof of the answer does not hold: {error}")
    return 0


def _answer(settings: TileSettings) -> str:
    # Everything heavy is imported only now: usage errors answer at once.
    from ..tiles.answer_formats import rendered
    from ..tiles.solve import count, patterns, rules, solve

    if settings.rules:
        return "\n".join(rules(settings.target)) + "\n"
    if settings.list_patterns:
        return "\n".join(patterns(settings.target)) + "\n"
    if settings.layout is None:
        answer = solve(
            settings.target,
            settings.tile,
            write=settings.write,
            read=settings.read,
            threads=settings.threads,
            max_lds_bytes=settings.max_lds_bytes,
        )
    else:
        answer = count(
            settings.target,
            settings.tile,
            write=settings.write,
            read=settings.read,
            threads=settings.threads,
            layout=settings.layout,
        )
    on_terminal = sys.stdout.isatty()
    return rendered(
        answer,
        settings.format,
        maps=settings.bank_maps,
        picture=settings.picture,
        terminal_width=shutil.get_terminal_size((100, 24)).columns if on_terminal else 0,
        colour=on_terminal and "NO_COLOR" not in os.environ,
    )


if __name__ == "__main__":
    from .commands import tile_command

    tile_command()
