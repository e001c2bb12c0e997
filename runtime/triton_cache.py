# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Triton's cache says of a kernel: how it is launched, and what its arguments are.

Triton 3 keeps each kernel that it has compiled in a folder of its cache, `TRITON_CACHE_DIR` or
`~/.triton/cache`, with files for all stages:

    TF62BC.../matmul.json         the options and what the compiler found out
    TF62BC.../matmul.ttir         the kernel as MLIR; its parameters have names and types.
                                  Gluon's is `matmul.glir`
    TF62BC.../matmul.amdgcn       the assembly
    TF62BC.../__grp__matmul.json  a list of these files

A kernel has parameters for what is no constant. Behind them its assembly has pointers to memory
that the compiler may want for each program: `global_scratch` and `profile_scratch`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..bank_model.json_text import read_json

_SOURCES = (".ttir", ".glir", ".ttgir")
"""How the names of files end that have a kernel's parameters: Triton's, and Gluon's of two ages."""
SUFFIX = ".amdgcn"
"""How the names of the assembly files end."""


class TritonCacheError(ValueError):
    """A cache, or a file of it, that does not say what is asked; the message names it."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Attributes:
        element: the type of a number, or of what a pointer points to, as MLIR writes it: `f16`.
    """

    name: str
    element: str
    pointer: bool


@dataclass(frozen=True)
class TritonKernel:
    """What the cache says of one kernel.

    Attributes:
        path: the `.json` file.
        arch: the chip.
        block: the work items of a workgroup.
        shared: the bytes of dynamic LDS of a workgroup.
        scratch: the bytes of `global_scratch` and of `profile_scratch` for each program.
        parameters: those of the kernel; None where the cache does not say, as where a parameter is
            a descriptor that becomes several arguments.
    """

    path: Path
    name: str
    arch: str
    block: int
    shared: int
    scratch: tuple[int, int]
    parameters: tuple[Parameter, ...] | None

    @property
    def assembly(self) -> Path:
        """Returns the path of the assembly."""
        return self.path.with_suffix(SUFFIX)


def kernel_beside(assembly: Path) -> TritonKernel | None:
    """Returns what the cache says of an assembly file; None where it is in no cache of Triton's.

    Raises:
        TritonCacheError: the `.json` beside it is Triton's, but cannot be used.
    """
    path = assembly.with_suffix(".json")
    if assembly.suffix != SUFFIX or not path.is_file():
        return None
    document = _document(path)
    return _kernel(path, document) if document is not None else None


def find_kernel(cache: Path, name: str = "", arch: str = "") -> TritonKernel:
    """Returns the only kernel for an AMD GPU that a cache holds.

    Args:
        cache: Triton's cache, one folder of it, or a kernel's `.json`.
        name: the kernel's name; empty for any.
        arch: the chip; empty for any.

    Raises:
        TritonCacheError: there is no such kernel, or there are several; the message lists them.
        OSError: the folder cannot be read.
    """
    found = [_kernel(path, document) for path, document in _documents(cache)]
    fitting = [each for each in found if name in ("", each.name) and arch in ("", each.arch)]
    if len(fitting) == 1:
        return fitting[0]
    if not found:
        raise TritonCacheError(f"{cache}: no kernel for an AMD GPU, a .json with an .amdgcn beside")
    wanted = " ".join(word for word in (name and f"'{name}'", arch and f"for {arch}") if word)
    if not fitting:
        raise TritonCacheError(f"{cache}: no kernel {wanted}; there are {_listed(found)}")
    raise TritonCacheError(
        f"{cache}: several kernels {wanted}".rstrip() + f": {_listed(fitting)}; choose by "
        "--kernel, by --target, or by the path of a .json"
    )


def _listed(kernels: Iterable[TritonKernel]) -> str:
    texts = [f"{each.name} for {each.arch} ({each.path})" for each in kernels]
    more = f" and {len(texts) - _MOST_LISTED} more" if len(texts) > _MOST_LISTED else ""
    return ", ".join(texts[:_MOST_LISTED]) + more


_MOST_LISTED = 10


def _documents(cache: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yields the `.json` files of kernels for AMD GPUs, and what they hold."""
    paths = [cache]
    if cache.suffix != ".json" or cache.is_dir():
        next(cache.iterdir(), None)  # A folder that cannot be read is an OSError.
        paths = sorted([*cache.glob("*.json"), *cache.glob("*/*.json")])
    for path in paths:
        document = _document(path)
        if document is not None and path.with_suffix(SUFFIX).is_file():
            yield path, document


_NEEDED = ("name", "target", "num_warps", "shared")


def _document(path: Path) -> Mapping[str, Any] | None:
    """Returns what Triton has written of a kernel for an AMD GPU; None for any other file.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        document = read_json(path.read_text())
    except ValueError:
        return None
    if not isinstance(document, dict) or not all(key in document for key in _NEEDED):
        return None
    target = document["target"]
    return document if isinstance(target, dict) and target.get("backend") == "hip" else None


def _kernel(path: Path, document: Mapping[str, Any]) -> TritonKernel:
    def number(key: str, default: int | None = None) -> int:
        value = document.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise TritonCacheError(f"{path}: '{key}' is {value!r}, where a number is expected")
        return value

    target, name = document["target"], document["name"]
    arch, lanes = target.get("arch"), target.get("warp_size")
    if not isinstance(name, str) or not isinstance(arch, str) or not isinstance(lanes, int):
        raise TritonCacheError(f"{path}: it does not say for which chip which kernel is")
    clusters = max(1, number("num_ctas", 1))
    return TritonKernel(
        path=path,
        name=name,
        arch=arch,
        block=number("num_warps") * lanes,
        shared=number("shared"),
        scratch=(
            number("global_scratch_size", 0) * clusters,
            number("profile_scratch_size", 0) * clusters,
        ),
        parameters=next(
            filter(None, (_parameters(path.with_suffix(s), name) for s in _SOURCES)), None
        ),
    )


# -- parameters ------------------------------------------------------------------------------------

_PARAMETER = re.compile(r"%([\w.$-]+): (?:!tt\.ptr<(\w+)(?:, \d+)?>|(\w+))(?= |$)")


def _parameters(path: Path, name: str) -> tuple[Parameter, ...] | None:
    """Returns the parameters of a kernel that a `.ttir` file holds; None where it does not say."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError):
        return None
    start = text.find(f"tt.func public @{name}(")
    if start < 0:
        return None
    found: list[Parameter] = []
    for part in _between_brackets(text, text.index("(", start)):
        match = _PARAMETER.match(part)
        if match is None:
            return None
        found.append(Parameter(match[1], match[2] or match[3], match[2] is not None))
    return tuple(found)


def _between_brackets(text: str, start: int) -> list[str]:
    """Returns what stands between the commas of a bracket that opens at `start`."""
    parts, depth, quoted = [""], 0, False
    for char in text[start:]:
        quoted ^= char == '"'
        if not quoted and char in "([{<":
            depth += 1
        elif not quoted and char in ")]}>":
            depth -= 1
        if depth == 0:
            break
        if char == "," and depth == 1 and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    stripped = [part.removeprefix("(").strip() for part in parts]
    return [part for part in stripped if part]
