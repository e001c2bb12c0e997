# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters: weights that a module names by scope and key, and that lie in files of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from iree.runtime import ParameterIndex, ParameterProvider

Bytes = npt.NDArray[np.uint8]

FORMATS = (".irpa", ".gguf", ".safetensors")


class ParameterError(RuntimeError):
    """A parameter file that cannot be read, or a parameter that no file holds; one line."""


class Parameters:
    """The archives of some files, by scope."""

    def __init__(self, indices: Mapping[str, ParameterIndex]) -> None:
        self._indices = indices

    @staticmethod
    def load(flags: Sequence[str]) -> Parameters:
        """Opens the files of `--parameters=` flags, each of which is `file` or `scope=file`.

        Raises:
            ParameterError: a file that cannot be read.
        """
        indices: dict[str, ParameterIndex] = {}
        for flag in flags:
            scope, separator, path = flag.rpartition("=")
            if not path.endswith(FORMATS):
                raise ParameterError(
                    f"--parameters={flag}: '{path}' is none of {', '.join(FORMATS)}"
                )
            from iree.runtime import ParameterIndex

            try:
                with Path(path).open("rb"):
                    pass
                indices.setdefault(scope if separator else "", ParameterIndex()).load(path)
            except OSError as error:
                raise ParameterError(
                    f"--parameters={flag}: cannot read '{path}': {error.strerror}"
                ) from None
            except (RuntimeError, ValueError):
                raise ParameterError(
                    f"--parameters={flag}: '{path}' is no {Path(path).suffix} file"
                ) from None
        return Parameters(indices)

    def providers(self) -> list[ParameterProvider]:
        """Returns what the runtime's own parameter module takes."""
        return [index.create_provider(scope=scope) for scope, index in self._indices.items()]

    def read(self, scope: str, key: str, offset: int, length: int) -> Bytes:
        """Reads `length` bytes of a parameter from `offset` on.

        Raises:
            ParameterError: no file holds them.
        """
        name = f"'{scope}::{key}'" if scope else f"'{key}'"
        if scope not in self._indices:
            wanted = f"--parameters={scope}=FILE" if scope else "--parameters=FILE"
            raise ParameterError(f"the module needs the parameter {name}; give its file, {wanted}")
        entry = next((e for k, e in self._indices[scope].items() if k == key), None)
        if entry is None:
            raise ParameterError(f"no parameter file holds {name}")
        if offset + length > entry.length:
            raise ParameterError(
                f"the parameter {name} has {entry.length} bytes, {offset + length} are needed"
            )
        if entry.is_file:
            return np.frombuffer(entry.file_view, np.uint8)[offset : offset + length].copy()
        pattern = np.frombuffer(bytes(entry.splat_pattern), np.uint8)
        return np.resize(pattern, entry.length)[offset : offset + length].copy()
