# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise.decisions`: what a compile would do with each LDS allocation, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape

from iree.compiler.api import Session

from ..iree_plugin.python_compile import open_source, settings_of, takes_flags
from ..iree_plugin.stepped_compile import SteppedCompile
from ..passes.decisions import Decision, DecisionLog

_TITLES = ("function", "allocation", "action", "layout", "conflict cycles", "LDS bytes", "reason")


class CompileDecisions(DecisionLog):
    """The decisions of a compile, in order; a notebook shows those that stand as a table."""

    @property
    def standing(self) -> tuple[Decision, ...]:
        """Returns what each allocation got in the end."""
        return tuple(decision for decision in self if self.stands(decision))

    def __str__(self) -> str:
        return "\n".join(" | ".join(cells) for cells in self._rows())

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{title}</th>' for title in _TITLES)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
            for cells in self._rows()
        )
        return f"<table><tr>{head}</tr>{body}</table>"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for each in self.standing:
            cycles = _change(each.conflict_cycles_before, each.conflict_cycles_after)
            size = _change(each.lds_bytes_before, each.lds_bytes_after)
            what = (each.function, each.allocation, each.action.value, each.detail)
            yield (*what, cycles, size, each.reason)


def _change(before: int | None, after: int | None) -> str:
    """Returns two figures, of which either may not be known."""
    first, second = ("not known" if f is None else f"{f:,}" for f in (before, after))
    return first if first == second else f"{first} -> {second}"


def decisions(
    source: str | os.PathLike[str],
    flags: Sequence[str] = (),
    mode: str = "auto",
) -> CompileDecisions:
    """Returns what a compile would do with each LDS allocation, without generating code.

    Args:
        source: a path, or the MLIR text itself (recognized by a line break in it).
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip`.
        mode: a mitigation, and a level if there is one: `auto`, `auto/layout`, `pad`.

    Returns:
        Every decision in the order in which the passes made it: function, allocation, layout,
        conflict cycles and LDS bytes of one workgroup before and after, and the reason.

    Raises:
        CompileError: the input does not compile, or a flag is only known to a process of its own.
        ValueError: an unknown mitigation or level.
        OSError: the source file cannot be read.
    """
    settings = settings_of(flags, mode)
    log = CompileDecisions()
    session = Session()
    try:
        takes_flags(session, flags, alone=True)
        with SteppedCompile(session, settings, (), log, console=False) as compilation:
            compilation.replay(compilation.configured_module(open_source(session, source)))
    finally:
        session.close()
    return log
