# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a plugin may be installed, found out before `importlib.metadata` is asked.

Importing that module and letting it look through all distributions takes 20 ms, of a compile that
takes 800; and as a rule no plugin is installed.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_METADATA = (".dist-info", ".egg-info")


def may_be_installed(group: str) -> bool:
    """Returns whether a distribution may declare entry points of a group.

    False is certain: each distribution that `importlib.metadata` finds in a folder of `sys.path`
    has a folder for its metadata there, and none of these names the group. It is True where that
    module finds distributions in other ways: in archives and eggs, or by finders of their own.
    """
    others = [finder for finder in sys.meta_path if finder is not PathFinder]
    if any(hasattr(finder, "find_distributions") for finder in others):
        return True
    return any(_may_hold(Path(path), group.encode()) for path in sys.path)


def _may_hold(path: Path, group: bytes) -> bool:
    if not path.is_dir():
        return path.exists()
    if path.name.lower().endswith(".egg"):
        return True
    try:
        with os.scandir(path) as children:
            metadata = [each.path for each in children if each.name.lower().endswith(_METADATA)]
        return any(group in _entry_points(Path(each)) for each in metadata)
    except OSError:
        return True


def _entry_points(metadata: Path) -> bytes:
    try:
        return (metadata / "entry_points.txt").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
