# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What counts as a block of a page, and as what a page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from .documented_blocks import Command, blocks, first_difference

PAGE = """\
Text.

```
$ one \\
    --two
printed
$ three <<'END'
> four
> END
```

<!-- not run: it needs a GPU -->
```
$ five
```

<!-- file: a.json -->
```json
{}
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "page.md").write_text(PAGE)
    return tmp_path / "page.md"


def test_blocks_have_their_line_language_and_comment(page: Path) -> None:
    session, skipped, file = blocks(page)
    assert (session.line, session.language, session.is_session) == (4, "", True)
    assert skipped.reason_not_to_run == "it needs a GPU"
    assert (file.file, file.text, file.is_session) == ("a.json", "{}\n", False)


def test_commands_go_on_behind_a_backslash_and_a_prompt(page: Path) -> None:
    assert blocks(page)[0].commands() == [
        Command(4, "one \\\n    --two", ("printed",)),
        Command(7, "three <<'END'\nfour\nEND", ()),
    ]


def test_output_in_front_of_a_command_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("```\nmake demo\n```\n")
    with pytest.raises(ValueError, match="line 2: 'make demo' stands in front"):
        blocks(tmp_path / "page.md")[0].commands()


@pytest.mark.parametrize(
    ("shown", "printed", "difference"),
    [
        ("a b", "a b", None),
        ("a b", "a c", "b"),
        ("a", "a b", "(no line; printed: b)"),
        ("a ...", "a b c", None),
        ("... c", "a b c", None),
        ("... b", "a b c", "b"),
        ("a ... c", "a b c", None),
        ("a ... b ... d", "a b c d", None),
        ("a ... c ... b ... d", "a b c d", "b"),
        ("... c ... ", "a b", "c"),
        ("a b ... c", "a c", "b"),
    ],
)
def test_dots_stand_for_any_lines(shown: str, printed: str, difference: str | None) -> None:
    assert first_difference(shown.split(), printed.split()) == difference
