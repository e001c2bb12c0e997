# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m bankwise.bench.architecture_picture`: draws `docs/architecture.svg` from the imports.

A box is a room, with the first sentence of its package's docstring. Every room stands above all
rooms that it imports; an arrow goes to each of them that it does not reach by other arrows.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"

_LEFT_TO_RIGHT = ("tools", "report", "dialect_utils", "bench", "runtime", "emulator")
"""The order of rooms that stand beside each other, which keeps arrows from crossing boxes."""
_WIDTH, _BOX_WIDTH, _BOX_HEIGHT, _ROW_HEIGHT, _MARGIN = 640, 300, 86, 122, 16
_HALF_A_GAP = 12
"""Half of what lies between two boxes beside each other."""
_STYLE = """\
.page { fill: #fff; } .box { fill: #f6f8fa; stroke: #1f2328; }
.room { font-size: 16px; font-weight: 600; fill: #1f2328; }
.what { font-size: 13px; fill: #59636e; }
.arrow { stroke: #59636e; stroke-width: 1.4; } .head { fill: #59636e; }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117; } .box { fill: #161b22; stroke: #9198a1; }
.room { fill: #e6edf3; } .what, .head { fill: #9198a1; } .arrow { stroke: #9198a1; }
}
"""
_CHARACTERS = 40
"""How many characters a line in a box has."""


def rooms() -> list[str]:
    """Returns the packages at the root of the repository."""
    return sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


@cache
def imported(path: Path) -> tuple[tuple[str, ...], ...]:
    """Returns the modules of this package that a file imports, as paths from its root."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[tuple[str, ...]]:
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            module = (*base, *(node.module.split(".") if node.module else ()))
            # `from . import x` names modules, or what a package itself has.
            yield from ((*module, name.name) for name in node.names)


def imports_of_rooms() -> dict[str, set[str]]:
    """Returns the rooms that each room imports."""
    names = rooms()
    return {
        room: {
            target[0]
            for path in sorted((ROOT / room).rglob("*.py"))
            for target in imported(path)
            if target[0] in names and target[0] != room
        }
        for room in names
    }


def picture() -> str:
    """Returns the picture as SVG."""
    imports = imports_of_rooms()
    centres = _centres(imports)
    height = max(y for _, y in centres.values()) + _BOX_HEIGHT // 2 + _MARGIN
    body = [
        *(_arrow(centres[a], centres[b]) for a in imports for b in _arrows(a, imports)),
        *(_box(room, *centre) for room, centre in centres.items()),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" font-family="sans-serif">',
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
            f"<style>\n{_STYLE}</style>",
            f'<rect class="page" width="{_WIDTH}" height="{height}" rx="6"/>',
            *body,
            "</svg>\n",
        ]
    )


def _levels(imports: Mapping[str, set[str]]) -> dict[str, int]:
    """Returns how many rooms lie below each, one on another."""
    levels: dict[str, int] = {}
    while len(levels) < len(imports):
        for room in imports.keys() - levels.keys():
            if imports[room] <= levels.keys():
                levels[room] = max((levels[each] + 1 for each in imports[room]), default=0)
    return levels


def _centres(imports: Mapping[str, set[str]]) -> dict[str, tuple[int, int]]:
    levels = _levels(imports)
    top = max(levels.values())
    centres: dict[str, tuple[int, int]] = {}
    for level in range(top + 1):
        row = [room for room in imports if levels[room] == level]
        row.sort(key=lambda room: room in _LEFT_TO_RIGHT and _LEFT_TO_RIGHT.index(room))
        for place, room in enumerate(row):
            x = _WIDTH * (place + 1) // (len(row) + 1)
            if len(row) == 2:
                x = (_WIDTH - _BOX_WIDTH) // 2 + place * _BOX_WIDTH + (2 * place - 1) * _HALF_A_GAP
            centres[room] = x, _MARGIN + _BOX_HEIGHT // 2 + (top - level) * _ROW_HEIGHT
    return centres


def _arrows(room: str, imports: Mapping[str, set[str]]) -> list[str]:
    """Returns the rooms that `room` imports, but those that another of them reaches."""

    def below(start: str) -> set[str]:
        return imports[start].union(*(below(each) for each in imports[start]))

    reached = set[str]().union(*(below(each) for each in imports[room]))
    return sorted(imports[room] - reached)


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x1, y1), (x2, y2) = start, end
    return (
        f'<line class="arrow" x1="{x1}" y1="{y1 + _BOX_HEIGHT // 2}" x2="{x2}" '
        f'y2="{y2 - _BOX_HEIGHT // 2}" marker-end="url(#head)"/>'
    )


def _box(room: str, x: int, y: int) -> str:
    left, top = x - _BOX_WIDTH // 2, y - _BOX_HEIGHT // 2
    lines = [
        f'<rect class="box" x="{left}" y="{top}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" '
        'rx="7"/>',
        f'<text class="room" x="{x}" y="{top + 22}" text-anchor="middle">{room}/</text>',
    ]
    for number, line in enumerate(textwrap.wrap(_sentence(room), _CHARACTERS)):
        lines.append(
            f'<text class="what" x="{x}" y="{top + 42 + 17 * number}" text-anchor="middle">'
            f"{escape(line)}</text>"
        )
    return "\n".join(lines)


def _sentence(room: str) -> str:
    """Returns the first line of the docstring of a room."""
    text = ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text())) or ""
    return text.partition("\n")[0].rstrip(".")


def main() -> None:
    """Writes the picture."""
    PICTURE.write_text(picture())
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
