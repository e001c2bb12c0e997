# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a sweep measures: kernels, each for a target and in a mode."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..bank_model.families import family_of
from ..bank_model.json_text import read_json
from ..bank_model.shown_text import did_you_mean
from .swept_kernels import Attention, Matmul, swept_attentions

DTYPES = ("f16", "bf16", "f32")
"""Element types of the kernels that are made here."""

_MATMULS = ((128, 128, 128), (256, 512, 1024), (1024, 1024, 1024), (2048, 4096, 4096),
            (4096, 4096, 4096), (4096, 14336, 4096))  # fmt: skip


class KernelFileError(ValueError):
    """A file of kernels that cannot be used; the message names the file and the entry."""


@dataclass(frozen=True)
class SweptKernel:
    """A module and how to call it.

    Attributes:
        name: a name that is unique within a sweep, together with `dtype`.
        dtype: the element type; empty for a module from a file.
        source: the MLIR text.
        function: the function to call; empty for the module's only one.
        inputs: the inputs in `bankwise-run`'s notation; `4x8xf16` is a tensor of zeros.
        work: the floating-point operations of one call; 0 where they are not known.
    """

    name: str
    dtype: str
    source: str
    function: str
    inputs: tuple[str, ...]
    work: int = 0


@dataclass(frozen=True)
class Case:
    """One row to measure.

    Attributes:
        sample: how many workgroups of each dispatch to emulate, from 2.
        timing: whether the time of the whole grid is predicted.
    """

    kernel: SweptKernel
    target: str
    mode: str
    sample: int
    timing: bool = False

    @property
    def source_digest(self) -> str:
        """Returns a digest that tells modules of the same name apart."""
        call = json.dumps([self.kernel.source, self.kernel.function, self.kernel.inputs])
        return hashlib.sha256(call.encode()).hexdigest()[:12]


def target_flags(target: str) -> tuple[str, str]:
    """Returns the flags of `iree-compile` that name a target, such as `gfx942` or `sm_80`."""
    return family_of(target).flags(target)


def cases(
    kernels: Sequence[SweptKernel],
    targets: Sequence[str],
    modes: Sequence[str],
    sample: int,
    timing: bool = False,
) -> list[Case]:
    """Returns all combinations, in which the modes of one kernel follow each other."""
    return [
        Case(kernel, target, mode, sample, timing)
        for target in targets
        for kernel in kernels
        for mode in modes
    ]


def attention_kernel(attention: Attention) -> SweptKernel:
    """Returns an attention, of two products of 2 * batch * seq^2 * head_dim operations each."""
    a = attention
    tensor = f"{a.batch}x{a.seq}x{a.head_dim}x{a.dtype}"
    name = f"attention_{a.batch}x{a.seq}x{a.head_dim}"
    work = 4 * a.batch * a.seq**2 * a.head_dim
    return SweptKernel(name, a.dtype, a.source(), "attention", (tensor,) * 3, work)


def matmul_kernel(matmul: Matmul) -> SweptKernel:
    """Returns a matmul, of 2 * m * n * k operations."""
    m = matmul
    inputs = (f"{m.m}x{m.k}x{m.dtype}", f"{m.k}x{m.n}x{m.dtype}")
    name = f"matmul_{m.m}x{m.n}x{m.k}"
    return SweptKernel(name, m.dtype, m.source(), "matmul", inputs, 2 * m.m * m.n * m.k)


def named_kernels(name: str, dtypes: Sequence[str], every: int = 1) -> list[SweptKernel]:
    """Returns every `every`-th kernel of the set `attention` or `matmul`, in all `dtypes`."""
    if name == "attention":
        return [attention_kernel(a) for d in dtypes for a in swept_attentions(d)[::every]]
    return [matmul_kernel(Matmul(*shape, d)) for d in dtypes for shape in _MATMULS[::every]]


def kernels_of_file(path: Path, dtypes: Sequence[str], every: int = 1) -> list[SweptKernel]:
    """Returns the kernels that a JSON file lists.

        [{"kernel": "attention", "batch": 2, "seq": 512, "head_dim": 64},
         {"kernel": "matmul", "m": 256, "n": 256, "k": 512, "dtype": "bf16"},
         {"mlir": "softmax.mlir", "function": "main", "inputs": ["8x4096xf32=1.0"]}]

    An attention or matmul without a `dtype` stands for one in each of `dtypes`. A path is relative
    to the file; `function` may be left out where a module exports one.

    Raises:
        KernelFileError: the file, or a module that it names, cannot be read or used.
    """
    entries = _entries(path)
    found: list[SweptKernel] = []
    for number, entry in list(enumerate(entries))[::every]:
        try:
            found += _kernels_of_entry(entry, dtypes, path.parent)
        except _EntryError as error:
            raise KernelFileError(f"{path}: entry {number}: {error}") from None
    seen: set[tuple[str, str]] = set()
    for kernel in found:
        if (kernel.name, kernel.dtype) in seen:
            raise KernelFileError(f"{path}: {kernel.name} {kernel.dtype} is listed twice")
        seen.add((kernel.name, kernel.dtype))
    return found


class _EntryError(ValueError):
    pass


def _entries(path: Path) -> list[Any]:
    try:
        document = read_json(path.read_text())
    except OSError as error:
        raise KernelFileError(f"cannot read '{path}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise KernelFileError(f"{path}: is no text") from None
    except json.JSONDecodeError as error:
        raise KernelFileError(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from None
    except ValueError as error:
        raise KernelFileError(f"{path}: {error}") from None
    if not isinstance(document, list) or not document:
        raise KernelFileError(f"{path}: expects a list of kernels")
    return document


def _kernels_of_entry(entry: Any, dtypes: Sequence[str], directory: Path) -> list[SweptKernel]:
    if not isinstance(entry, dict):
        raise _EntryError(f"expects an object, not {json.dumps(entry)}")
    if "mlir" in entry:
        return [_module(entry, directory)]
    chosen = dtypes
    if "dtype" in entry:
        if entry["dtype"] not in DTYPES:
            raise _EntryError(f'"dtype" is {json.dumps(entry["dtype"])}; use {", ".join(DTYPES)}')
        chosen = [entry["dtype"]]
    kind = entry.get("kernel")
    if kind == "attention":
        batch, seq, head_dim = _extents(entry, "batch", "seq", "head_dim")
        return [attention_kernel(Attention(batch, seq, head_dim, dtype)) for dtype in chosen]
    if kind == "matmul":
        m, n, k = _extents(entry, "m", "n", "k")
        return [matmul_kernel(Matmul(m, n, k, dtype)) for dtype in chosen]
    raise _EntryError(f'"kernel" is {json.dumps(kind)}; use "attention", "matmul", or give "mlir"')


def _extents(entry: Mapping[str, Any], *names: str) -> list[int]:
    _refuse_unknown(entry, ("kernel", "dtype", *names))
    return [_extent(entry, name) for name in names]


def _extent(entry: Mapping[str, Any], name: str) -> int:
    value = entry.get(name)
    if type(value) is not int or value < 1:
        raise _EntryError(f'"{name}" is {json.dumps(value)}; expects a number from 1')
    return value


def _module(entry: Mapping[str, Any], directory: Path) -> SweptKernel:
    _refuse_unknown(entry, ("mlir", "function", "inputs"))
    function, inputs = entry.get("function", ""), entry.get("inputs", [])
    if not isinstance(entry["mlir"], str):
        raise _EntryError('"mlir" expects a path')
    if not isinstance(function, str):
        raise _EntryError('"function" expects a name')
    if not isinstance(inputs, list) or not all(isinstance(text, str) for text in inputs):
        raise _EntryError('"inputs" expects a list of values such as "4x8xf16=1.0"')
    try:
        source = (directory / entry["mlir"]).read_text()
    except OSError as error:
        raise _EntryError(f"cannot read '{entry['mlir']}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise _EntryError(f"'{entry['mlir']}' is no text") from None
    name = entry["mlir"] + (f"@{function}" if function else "")
    # Compilers are given the text, which a line break tells from a path.
    return SweptKernel(name, "", source + "\n", function, tuple(inputs))


def _refuse_unknown(entry: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in entry:
        if name not in known:
            hint = did_you_mean(name, known)
            raise _EntryError(f'unknown key "{name}"; known are {", ".join(known)}{hint}')
