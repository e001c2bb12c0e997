# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads the compiler's library while Python imports what calls it, and lets it register its passes
and dialects. Neither needs the interpreter's lock: 8 to 13 ms and 4 ms, which whoever opens the
library then has to wait no more."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec

_loading: threading.Thread | None = None
_LIBRARY = "_mlir_libs", "libIREECompiler.so"
"""Where the package `iree.compiler` has it on Linux."""


def load_library_ahead() -> None:
    """Starts to load the library in a thread, where it is found."""
    global _loading
    if sys.platform != "linux":
        return
    # Whoever needs what cannot be imported will see why.
    with contextlib.suppress(ImportError, ValueError):
        spec = find_spec("iree.compiler")
        for folder in (spec and spec.submodule_search_locations) or ():
            path = os.path.join(folder, *_LIBRARY)  # noqa: PTH118 # `pathlib` may not be loaded yet.
            if os.path.exists(path):  # noqa: PTH110
                _loading = started_thread(_load, path)
                return


def started_thread(work: Callable[..., None], *arguments: object) -> threading.Thread | None:
    """Starts a thread for what others do without it, too; returns None where the system has no more
    threads."""
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread


def wait_for_library() -> None:
    """Waits until the library has registered what it has. It must not do that twice at a time, so
    that nobody may import `iree.compiler.api` before."""
    if _loading is not None:
        _loading.join()


def _load(path: str) -> None:
    with contextlib.suppress(OSError, AttributeError):
        # `CDLL` keeps the interpreter's lock while it opens a library, and what it calls does not.
        ctypes.CDLL(None).dlopen(os.fsencode(path), os.RTLD_NOW)
        ctypes.CDLL(path).ireeCompilerGlobalInitialize()
