# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the textual options of passes mean, as the sources of the passes say it.

An option is a field of a dataclass. What it means stands behind its name under `Attributes:` in the
docstring of the class, or right behind the field:

    padding_bits: int = 64
    \"\"\"The bits behind every row.\"\"\"

Python forgets the latter, so it is read from the source, for a list of passes alone.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap

_ATTRIBUTE = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n     .*)*)", re.MULTILINE)


def option_descriptions(kind: type) -> dict[str, str]:
    """Returns what each field of a dataclass means, in one line; without those of no text."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        found |= _described_in(each)
    return found


def _described_in(kind: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):  # It has no source, as `object` has none.
        return {}
    (definition,) = tree.body
    assert isinstance(definition, ast.ClassDef)
    _, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")
    found: dict[str, str] = {}
    for names, text in _ATTRIBUTE.findall(attributes):
        found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            found[field.target.id] = " ".join(text.value.value.split())
    return found
