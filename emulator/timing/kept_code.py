# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that numba compiles, whose machine code is kept from one process to the next.

Compiling the model of a compute unit takes seconds. numba has a cache of its own, but it unpickles,
which means that it runs, what lies in the folder that `NUMBA_CACHE_DIR`, a settings file of the
current folder or the place of the source names. Code is kept here in a place that whoever asks for
a prediction vouches for, and nowhere else.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..library_settings import no_settings_of_the_folder

with no_settings_of_the_folder():
    import numba
    from numba.core.caching import NullCache
    from numba.core.compiler import CompileResult
    from numba.core.dispatcher import Dispatcher
    from numba.core.serialize import dumps


class CodeStore(Protocol):
    """Where code is kept. What is read must be what this user has kept: it will run."""

    def read_bytes(self, name: str, key: str) -> bytes | None:
        """Returns what is kept under a key; None where there is none."""
        ...

    def keep_bytes(self, name: str, key: str, data: bytes) -> None:
        """Keeps bytes under a key, where that is possible."""
        ...


_NAME = "timing"
_store: CodeStore | None = None


def keep_code_in(store: CodeStore) -> None:
    """Sets where code is kept from now on; before, each process compiles it anew."""
    global _store
    _store = store


def compiled(function: Callable[..., Any]) -> Any:
    """Returns a function that numba compiles when another compiled one first calls it."""
    return numba.njit(nogil=True)(function)


def kept(function: Callable[..., Any]) -> Any:
    """Returns a function that numba compiles, with all that it calls, unless its code is kept.

    What it calls stands in the same file: the code is looked up by a digest of that file and by the
    types of the arguments.
    """
    found = compiled(function)
    if isinstance(found, Dispatcher):  # With NUMBA_DISABLE_JIT it is the function itself.
        found._cache = _KeptCode(function)  # pyright: ignore[reportAttributeAccessIssue]
    return found


class _KeptCode(NullCache):
    """What numba asks for the code of a function before it compiles it, and hands the code after.

    Attributes:
        function: the function in Python.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        data = None
        if _store is not None:
            data = _store.read_bytes(_NAME, self._key(sig, target_context.codegen()))
        if data is not None:
            # It is as it was written, and perhaps by a Python that was built in another way.
            with contextlib.suppress(Exception):
                return CompileResult._rebuild(target_context, *pickle.loads(data))
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        if _store is not None:
            _store.keep_bytes(_NAME, self._key(sig, cres.codegen), dumps(cres._reduce()))

    def _key(self, sig: Any, codegen: Any) -> str:
        code = self.function.__code__
        versions = (sys.version, numba.__version__, np.__version__)
        return repr(
            (*versions, codegen.magic_tuple(), _digest(code.co_filename), code.co_name, str(sig))
        )


@cache
def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
