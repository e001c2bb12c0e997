# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the `.amdgpu_metadata` document of an assembly file says of its kernels.

The document is YAML, and its keys are those of code object version 3 and later ("User Guide for
AMDGPU Backend", Code Object Metadata).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

Size = tuple[int, int, int]
"""A number of work items or of workgroups in x, y and z."""

MAX_WORKGROUP_SIZE = 1024
"""The most work items of a workgroup, where the metadata states no smaller number."""

# Of the sizes and places of arguments; more than any runtime passes.
_LARGEST = 1 << 20

HIDDEN = "hidden_"
"""How the kinds of the arguments begin that the runtime passes, and not the caller."""


class MetadataError(ValueError):
    """Metadata that cannot be read; the message says of which kernel and key."""


@dataclass(frozen=True)
class KernelArgument:
    """A kernel argument: its place and size in the kernarg segment, and its kind.

    Attributes:
        kind: the metadata's `.value_kind`, such as `global_buffer`, `by_value`, `hidden_none`.
        name: the metadata's `.name`; empty where it has none.
        alignment: the alignment of what a pointer into the LDS points to, in bytes.
        line: the line of the file that describes the argument, counted from 1.
    """

    offset: int
    size: int
    kind: str
    name: str = ""
    alignment: int = 1
    line: int = 1

    @property
    def hidden(self) -> bool:
        """Returns whether the runtime passes the argument, and not the caller."""
        return self.kind.startswith(HIDDEN)


@dataclass(frozen=True)
class KernelMetadata:
    """What the document says of one kernel.

    Attributes:
        arguments: in the order of the document, hidden ones among them.
        kernarg_bytes: the size of the kernarg segment.
        required_size: the only workgroup size that the kernel may have; None where it has the
            choice.
        max_work_items: the most work items that a workgroup may have.
        line: the line of the file that describes the kernel, counted from 1.
    """

    arguments: tuple[KernelArgument, ...]
    kernarg_bytes: int
    required_size: Size | None
    max_work_items: int
    line: int


@dataclass(frozen=True)
class Metadata:
    """A file's metadata.

    Attributes:
        target: the target identifier; empty where the document names none.
        kernels: the kernels by the names of their symbols, in the order of the document.
    """

    target: str
    kernels: Mapping[str, KernelMetadata]


ARCH = re.compile(r"-(gfx\w[\w-]*)(?::.*)?$")
"""Finds the chip in a target identifier, such as `amdgcn-amd-amdhsa--gfx942:xnack-`."""


def parse_metadata(text: str, line: int) -> Metadata:
    """Returns what the YAML `text` between the directives says.

    Args:
        line: the line of the file in which the text begins, counted from 1.

    Raises:
        MetadataError: the text is no metadata of kernels.
    """
    try:
        document, *others = _Loader.documents(text)
        entries = document["amdhsa.kernels"]
        symbols = [str(entry.get(".symbol") or entry[".name"]) for entry in entries]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f", in its line {mark.line + 1}" if mark else ""
        raise MetadataError(f"the metadata is no YAML: {error.problem}{where}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise MetadataError("the metadata is no YAML") from None
    except (KeyError, TypeError, AttributeError):
        raise MetadataError("the metadata is no list of kernels with names") from None
    # What ends the document may be the start of an empty one.
    if any(others):
        raise MetadataError("the metadata is more than one document")
    names = [symbol.removesuffix(".kd") for symbol in symbols]
    kernels = dict(zip(names, entries, strict=True))
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise MetadataError(f"the metadata names two kernels '{twice}'")
    return Metadata(
        str(document.get("amdhsa.target", "")),
        {name: _kernel(name, entry, line) for name, entry in kernels.items()},
    )


_LINE = object()


class _Loader(yaml.SafeLoader):
    """Notes in each mapping, under the key `_LINE`, how many lines of the text stand before it.

    It also knows the tag `!str`, which LLVM puts before names that could be read otherwise: `n`.
    """

    @classmethod
    def documents(cls, text: str) -> list[Any]:
        """Returns the contents of each document of a text, and None for an empty text."""
        return list(yaml.load_all(text, cls)) or [None]

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found = super().construct_mapping(node, deep=deep)
        return {**found, _LINE: node.start_mark.line}


_Loader.add_constructor("!str", _Loader.construct_yaml_str)


def _kernel(name: str, entry: Mapping[Any, Any], first: int) -> KernelMetadata:
    """Reads the entry of a kernel; `first` is the line of the file in which the text begins."""
    what = f"kernel '{name}'"
    arguments = entry.get(".args") or []
    if not isinstance(arguments, list) or not all(isinstance(each, dict) for each in arguments):
        raise MetadataError(f"the metadata of {what}: .args is no list of arguments")
    return KernelMetadata(
        arguments=tuple(
            _argument(f"{what}, argument {number}", each, first)
            for number, each in enumerate(arguments)
        ),
        kernarg_bytes=_integer(what, entry, ".kernarg_segment_size", 0),
        required_size=_required_size(what, entry),
        max_work_items=_integer(what, entry, ".max_flat_workgroup_size", MAX_WORKGROUP_SIZE),
        line=first + entry[_LINE],
    )


def _required_size(what: str, entry: Mapping[Any, Any]) -> Size | None:
    size = entry.get(".reqd_workgroup_size")
    if size is None:
        return None
    sizes = size if isinstance(size, list) else []
    if len(sizes) != 3 or not all(type(number) is int and number > 0 for number in sizes):
        raise MetadataError(f"the metadata of {what}: .reqd_workgroup_size is no list of 3 sizes")
    return size[0], size[1], size[2]


def _argument(what: str, entry: Mapping[Any, Any], first: int) -> KernelArgument:
    kind = entry.get(".value_kind")
    if not isinstance(kind, str):
        raise MetadataError(f"the metadata of {what}: no .value_kind")
    return KernelArgument(
        offset=_integer(what, entry, ".offset"),
        size=_integer(what, entry, ".size"),
        kind=kind,
        name=str(entry.get(".name", "")),
        alignment=max(1, _integer(what, entry, ".pointee_align", 1)),
        line=first + entry[_LINE],
    )


def _integer(what: str, entry: Mapping[Any, Any], key: str, default: int | None = None) -> int:
    """Returns the number under a key; raises MetadataError where there is none, and no default."""
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise MetadataError(f"the metadata of {what}: {key} is no number")
    if value > _LARGEST:
        raise MetadataError(f"the metadata of {what}: {key} is {value}, more than {_LARGEST}")
    return value
