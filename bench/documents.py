# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records as JSON and back, by the standard library alone."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Document:
    """A record that a file keeps as JSON."""

    def write(self, path: Path) -> None:
        """Writes the record; an interruption leaves the old file or the new one."""
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(json.dumps(asdict(self), indent=1) + "\n")
        partial.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Returns the record that `write` wrote.

        Raises:
            OSError: the file cannot be read.
        """
        return of_document(cls, json.loads(path.read_text()))


@dataclass(frozen=True)
class Listing(Document):
    """A record of the files in a directory, which lies beside them.

    Attributes:
        file_name: the name of the record's file.
        made_by: what makes it, as an error says.
    """

    file_name: ClassVar[str]
    made_by: ClassVar[str]

    def write_list(self, directory: Path) -> None:
        """Writes the list beside the files."""
        self.write(directory / self.file_name)

    @classmethod
    def is_in(cls, directory: Path) -> bool:
        """Returns whether a directory has such a list."""
        return (directory / cls.file_name).exists()

    @classmethod
    def of_directory(cls, directory: Path) -> Self:
        """Returns the list in a directory.

        Raises:
            RuntimeError: there is none.
        """
        try:
            return cls.read(directory / cls.file_name)
        except FileNotFoundError:
            raise RuntimeError(f"{directory} has no {cls.file_name}: {cls.made_by}") from None


def of_document(kind: Any, document: Any) -> Any:
    """Returns what JSON holds as a value of a type: dataclasses, tuples and dicts in each other."""
    arguments = get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        types = _types(kind)
        fields = {name: of_document(types.get(name), each) for name, each in document.items()}
        return kind(**fields)
    if get_origin(kind) is tuple:
        return tuple(of_document(arguments[0], each) for each in document)
    if get_origin(kind) is dict:
        return {name: of_document(arguments[1], each) for name, each in document.items()}
    if NoneType in arguments and document is not None:
        return of_document(arguments[0], document)
    return document


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
