# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Importing the compiler's package so that a compile starts at once.

`import iree.compiler` loads MLIR's bindings and NumPy before anything else, and our passes come on
top: together as long as the compiler's first phases. These phases need the C library alone, and it
works without the interpreter's lock. So `iree.compiler.api` is imported without its package's own
body, and the bindings and our passes load in a thread meanwhile. Whoever imports one of these
modules in the main thread waits until it is complete. It has to come by `iree.compiler.ir`, as the
thread does: that copies the names of a native module, which it may see before they are all there
where somebody else has begun to load this one in another way. The body of the compiler's package,
which loads what runs the compiler's programs, waits until somebody asks for a name in it, which a
plugin may do.

At the highest level passes change the program behind the first phases, which take half as long as
the import of the bindings and NumPy. Most of these passes decide without an array. So NumPy is not
loaded before they have run, except where one of them needs it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType

from ..passes.mode import LEVELS, Mode
from .early_library import started_thread, wait_for_library
from .later_import import DeferredPackage, defer, imported_later
from .rooms import TUNING, has_tuning, rooms_of

_PACKAGE = "iree.compiler"
_BINDINGS, _DIALECTS = f"{_PACKAGE}._mlir_libs", f"{_PACKAGE}.dialects"
_DEFERRED = (
    *("affine", "amdgpu", "arith", "builtin", "cf", "func", "gpu", "hal", "iree_codegen"),
    *(
        "iree_gpu",
        "iree_tensor_ext",
        "linalg",
        "llvm",
        "math",
        "memref",
        "nvgpu",
        "nvvm",
        "rocdl",
        "scf",
    ),
    *("tensor", "vector"),
)
"""Dialects in kernels of whose Python modules our passes use nothing. They have the attributes of
IREE's dialects from the native module that these wrap."""

NUMPY = "numpy"
_DOCUMENTATION = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
"""What gives NumPy's functions their docstrings when it is imported, which takes an eighth of that.
Nobody asks for them in a compile."""
_TYPING = "numpy._typing"
"""What NumPy loads for the types of fields, which nobody asks for in a compile, in a sixth of the
time of its import."""
_SYSTEM = {"system": lambda: "Linux"} if sys.platform == "linux" else {}
"""What `iree.compiler.api` calls in `platform`. With `logging` that takes half of its time."""
_INSPECT: dict[str, Callable[..., object]] = {"cleandoc": str, "signature": lambda _: None}
"""What NumPy calls in `inspect` when it is imported, for those who ask what its functions are.
Without that module, and `ast`, it is imported in four fifths of the time."""
_SECONDS_OF_A_TURN = 0.0005
_KEPT_BYTES = {-1: 1 << 30, -3: 1 << 25}
"""glibc's `M_TRIM_THRESHOLD` and `M_MMAP_THRESHOLD`, and what they become: from how many bytes on
memory is given back. The second can be no larger (`malloc.c`, `DEFAULT_MMAP_THRESHOLD_MAX`)."""

_importing: threading.Thread | None = None
_begun = threading.Event()
_program_changed = threading.Event()
_program_changed.set()
_enough = threading.Event()
_turn = threading.RLock()
"""Held by the thread while it loads a pass."""


def import_beside_compiler(mode: Mode | None = None) -> None:
    """Makes `iree.compiler.api` importable at once; a thread loads the rest.

    Args:
        mode: the passes of this mode are loaded last, until `load_no_more`, and nothing before
            `begin_loading`, and what no pass over the whole program needs not before
            `program_changed`; without a mode the rest is loaded at once.

    Does nothing where `iree.compiler` is loaded already. Without a thread, each module is loaded by
    whoever needs it.
    """
    wait_for_library()
    if _PACKAGE in sys.modules:
        return
    # NumPy's BLAS is not used; its threads would spin on the compiler's cores.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    defer(_PACKAGE, DeferredPackage)
    if _PACKAGE not in sys.modules:
        return  # The import that follows says it better.
    # The package of MLIR's bindings, whose body loads them, is asked where the library lies.
    bindings = importlib.util.find_spec(_BINDINGS)
    places = {} if bindings is None else vars(importlib.util.module_from_spec(bindings))
    # Modules stay. The collector would go over their classes again and again.
    collects = gc.isenabled()
    gc.disable()
    # Whoever comes back from the compiler's library waits for the lock that long.
    sys.setswitchinterval(_SECONDS_OF_A_TURN)
    _keep_freed_memory()
    try:
        # It says to `logging` where it has found the library, and asks for the system.
        said = imported_later("logging", debug=lambda *_: None)
        asked = imported_later("platform", **_SYSTEM)
        with imported_later(_BINDINGS, **places), said, asked:
            importlib.import_module(f"{_PACKAGE}.api")
    except ImportError:
        del sys.modules[_PACKAGE]
        if collects:
            gc.enable()
        return
    if mode is None:
        _begun.set()
    else:
        _program_changed.clear()
    global _importing
    # Not before: both would have the interpreter's lock by turns, and the phases begin later.
    _importing = started_thread(_load, mode, collects)
    if _importing is None and collects:
        gc.enable()


def _keep_freed_memory() -> None:
    """Lets the C library keep what is freed, where it can.

    It gives large arrays back to the system, which clears each page of the next one: of what counts
    the conflicts of a convolution's copies, that was a third of the time.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        for parameter, size in _KEPT_BYTES.items():
            library.mallopt(parameter, size)


@contextlib.contextmanager
def loading_paused() -> Iterator[None]:
    """Lets the thread load no further passes while the body works in Python.

    Both would have the interpreter's lock by turns. The compiler's phases do without it.
    """
    with _turn:
        yield


def begin_loading() -> None:
    """Lets the thread load, because the compiler's phases begin, which need no lock."""
    _begun.set()


def program_changed() -> None:
    """Lets the thread load what no pass over the whole program needs."""
    _program_changed.set()


def load_no_more() -> None:
    """Lets the thread load no further passes: who runs them loads those that it needs."""
    _enough.set()


def wait_for_imports() -> None:
    """Waits until the thread that loads the rest has ended."""
    _begun.set()
    _program_changed.set()
    if _importing is not None:
        _importing.join()


def _load(mode: Mode | None, collects: bool) -> None:
    _begun.wait()
    for name in _DOCUMENTATION:
        sys.modules.setdefault(name, ModuleType(name))
    try:
        load_passes(mode)
    finally:
        gc.freeze()
        if collects:
            gc.enable()


def load_passes(mode: Mode | None = None) -> None:
    """Imports what runs our passes, and those of a mode.

    Args:
        mode: None imports no passes.

    The Python modules of most dialects of the kernels are left out.

    MLIR's bindings import a dialect's module when they first make a view of an op of it. Our passes
    need no such views. So these modules wait until somebody asks for a name in
    them, which an installed plugin may do.
    """
    for name in _DEFERRED:
        with contextlib.suppress(ImportError):
            defer(f"{_DIALECTS}.{name}")
    # What shows errors is loaded when `logging`, which the bindings import, has one to show.
    shown = imported_later("traceback")
    # Whoever needs what cannot be imported will see why.
    with contextlib.suppress(ImportError), imported_later(NUMPY), shown:
        # A program may be changed when this is there, and waits for it.
        importlib.import_module(f"{__package__}.replay")
        if mode is not None and mode.level == [*LEVELS][-1] and has_tuning():
            importlib.import_module(f"{TUNING}.programs.program_steps")
            # Most programs have products, and other passes need much of what this one loads.
            importlib.import_module(f"{TUNING}.programs.split_sums")
    _program_changed.wait()
    with contextlib.suppress(ImportError):
        unread = imported_later("inspect", **_INSPECT), imported_later("ast")
        with imported_later(_TYPING, __path__=[], NDArray=list), unread[0], unread[1]:
            importlib.import_module(NUMPY)
        with _turn:
            importlib.import_module(f"{__package__}.codegen_replay")
        rooms_of()
        if mode is not None:
            # To look for them in a folder of many distributions takes as long as five passes.
            plugins = importlib.import_module(f"{__package__}.plugins")
            plugins.may_be_installed(plugins.PLUGIN_GROUP)
            _read_recordings()
            _load_passes_of(mode)


def _read_recordings() -> None:
    """Reads the pipelines of the package. Whoever needs what fails will see why."""
    from .embedding import compiler_version
    from .recording import packaged_recordings

    with contextlib.suppress(OSError, LookupError, ValueError):
        packaged_recordings(compiler_version())


def _load_passes_of(mode: Mode) -> None:
    """Imports the passes of a mode one by one, until somebody asks to stop."""
    from ..passes.pipeline_edit import TILING, PassClass
    from .mitigation import steps

    # Those that a pipeline runs first; the others may be loaded while it runs (`passes_ahead`).
    for step in sorted(steps(), key=lambda each: each.place.anchor != TILING):
        if _enough.is_set():
            break
        if isinstance(step.kind, PassClass) and step.is_part_of(mode):
            with _turn:
                step.kind.loaded()
    else:
        if has_tuning():
            importlib.import_module(f"{TUNING}.advice")
