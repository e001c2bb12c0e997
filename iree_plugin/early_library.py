# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads the compiler's library while Python imports what calls it, for which the dynamic linker
does not need the interpreter's lock: 8 to 13 ms, which whoever opens the library then has to wait
no more."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from importlib.util import find_spec

_LIBRARY = "_mlir_libs", "libIREECompiler.so"
"""Where the package `iree.compiler` has it on Linux."""


def load_library_ahead() -> None:
    """Starts to load the library in a thread, where it is found."""
    if sys.platform != "linux":
        return
    # Whoever needs what cannot be imported will see why.
    with contextlib.suppress(ImportError, ValueError):
        spec = find_spec("iree.compiler")
        for folder in (spec and spec.submodule_search_locations) or ():
            path = os.path.join(folder, *_LIBRARY)  # noqa: PTH118 # `pathlib` may not be loaded yet.
            if os.path.exists(path):  # noqa: PTH110
                threading.Thread(target=_load, args=(path,), daemon=True).start()
                return


def _load(path: str) -> None:
    with contextlib.suppress(OSError):
        ctypes.CDLL(path)
