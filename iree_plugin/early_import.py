# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Importing the compiler's package so that a compile starts at once.

`import iree.compiler` loads MLIR's bindings and NumPy before anything else, and our passes come on
top: together as long as the compiler's first phases. These phases need the C library alone, and it
works without the interpreter's lock. So `iree.compiler.api` is imported without its package's own
body, and the body, the dialects and our passes load in a thread meanwhile. Whoever imports one of
these modules in the main thread waits until it is complete.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_PACKAGE = "iree.compiler"
_DIALECTS_IN_KERNELS = (
    *("affine", "arith", "gpu", "iree_codegen", "iree_gpu", "math", "memref", "scf", "tensor"),
    "vector",
)
_DIALECT_FOR_AMD = "amdgpu"
"""In kernels for AMD GPUs alone; its module takes 6 ms."""
_AMD_FLAGS = ("hip", "rocm")
"""What a flag has in it that names such a GPU."""


def import_beside_compiler(flags: Sequence[str] = ()) -> None:
    """Makes `iree.compiler.api` importable at once; starts to load the rest in a thread.

    Does nothing where `iree.compiler` is loaded already.

    Args:
        flags: those of the compile, which tell the GPUs that it is for.
    """
    if _PACKAGE in sys.modules:
        return
    # NumPy's BLAS is not used; its threads would spin on the compiler's cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.loader is None:
        return  # The import that follows says it better.
    package = importlib.util.module_from_spec(spec)
    sys.modules[_PACKAGE] = package
    try:
        importlib.import_module(f"{_PACKAGE}.api")
    except ImportError:
        del sys.modules[_PACKAGE]
        return
    # Modules stay. The collector would go over their classes again and again, for 50 ms.
    gc.disable()
    threading.Thread(target=_load, args=(spec, package, flags), daemon=True).start()


def _load(spec: ModuleSpec, package: ModuleType, flags: Sequence[str]) -> None:
    try:
        # Whoever needs what cannot be imported will see why.
        with contextlib.suppress(ImportError):
            assert spec.loader is not None
            spec.loader.exec_module(package)
        load_passes(flags)
    finally:
        gc.freeze()
        gc.enable()


def load_passes(flags: Sequence[str] = ()) -> None:
    """Imports our passes and the dialects of the kernels that they see.

    Args:
        flags: those of the compile, which tell the GPUs that it is for.
    """
    is_for_amd = any(name in flag for flag in flags for name in _AMD_FLAGS)
    dialects = (*_DIALECTS_IN_KERNELS, *([_DIALECT_FOR_AMD] if is_for_amd else ()))
    # MLIR's bindings import a dialect's module when they first make a view of an op of it.
    for module in (
        f"{__package__}.codegen_replay",
        *(f"{_PACKAGE}.dialects.{name}" for name in dialects),
    ):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
