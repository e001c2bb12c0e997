# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m bankwise.bench.architecture_picture`: draws `docs/architecture.svg` from the imports.

A box is a room, with the first sentence of its package's docstring. Every room stands above all
rooms that it imports; an arrow goes to each of them that it does not reach by other arrows.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"

_LEFT_TO_RIGHT = ("tools", "report", "dialect_utils", "bench", "runtime", "emulator")
"""The order of rooms that stand beside each other, which keeps arrows from crossing boxes."""
_WIDTH, _BOX_WIDTH, _BOX_HEIGHT, _ROW_HEIGHT, _MARGIN = 920, 350, 66, 104, 20
_CHARACTERS = 50
"""How many characters a line in a box has."""


def rooms() -> list[str]:
    """Returns the packages at the root of the repository."""
    return sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """Yields the modules of this package that a file imports, as paths from its root."""
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
            'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#59636e"/></marker>'
            "</defs>",
            f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
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
                x = (_WIDTH - _BOX_WIDTH) // 2 + place * _BOX_WIDTH + (2 * place - 1) * 35
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
        f'<line x1="{x1}" y1="{y1 + _BOX_HEIGHT // 2}" x2="{x2}" y2="{y2 - _BOX_HEIGHT // 2}" '
        'stroke="#59636e" stroke-width="1.4" marker-end="url(#head)"/>'
    )


def _box(room: str, x: int, y: int) -> str:
    left, top = x - _BOX_WIDTH // 2, y - _BOX_HEIGHT // 2
    lines = [
        f'<rect x="{left}" y="{top}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="7" '
        'fill="#f6f8fa" stroke="#1f2328"/>',
        f'<text x="{x}" y="{top + 20}" text-anchor="middle" font-size="15" font-weight="bold" '
        f'fill="#1f2328">{room}/</text>',
    ]
    for number, line in enumerate(textwrap.wrap(_sentence(room), _CHARACTERS)):
        lines.append(
            f'<text x="{x}" y="{top + 39 + 16 * number}" text-anchor="middle" font-size="12" '
            f'fill="#59636e">{escape(line)}</text>'
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
