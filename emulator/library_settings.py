# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries that look for a settings file in the current folder, imported so that they find none.

numba looks for `.numba_config.yaml` when it is imported and before each function that it compiles;
matplotlib looks for `matplotlibrc` when it is imported. Neither can be told not to. The folder that
a tool is started in may be a stranger's, whose settings are not the user's. Another current folder
during the import would be one for all threads of the process. So these names are replaced in the
libraries' code before it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, ModuleType
from typing import Any

_LOOKUPS = {
    "numba.core.config": ("<module>", ".numba_config.yaml"),
    "matplotlib": ("gen_candidates", "matplotlibrc"),
}
"""By the module that looks for a file: the code object that names the file, and the name."""


@contextmanager
def no_settings_of_the_folder() -> Iterator[None]:
    """Keeps the libraries that are imported meanwhile from settings in the current folder.

    A library that the process has imported before stays as it is: that was somebody else's choice.
    """
    sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        sys.meta_path.remove(_FINDER)


class _Finder:
    """Finds the modules of `_LOOKUPS`, and loads them with their code changed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in _LOOKUPS else None
        if spec is not None and hasattr(spec.loader, "get_code"):
            loader: Any = spec.loader
            code_of = loader.get_code
            loader.get_code = lambda module: _without_lookup(code_of(module), *_LOOKUPS[name])
        return spec


_FINDER = _Finder()


def _without_lookup(code: CodeType, scope: str, name: str) -> CodeType:
    """Returns code that looks for the null device where it would look for the file `name`.

    Both libraries take the null device for a file without settings.
    """
    return code.replace(
        co_consts=tuple(
            _without_lookup(each, scope, name)
            if isinstance(each, CodeType)
            else os.devnull
            if each == name and code.co_name == scope
            else each
            for each in code.co_consts
        )
    )
