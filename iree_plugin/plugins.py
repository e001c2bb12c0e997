# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits that distributions contribute through the entry-point group `bankwise.plugins`.

Each entry point names a callable without arguments that returns an iterable of `PipelineEdit`.

Whether a plugin may be installed is found out before `importlib.metadata` is asked. Importing that
module and letting it look through all distributions takes a fortieth of a small compile; and as a
rule no plugin is installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from ..bank_model.shown_text import did_you_mean
from ..dialect_utils.diagnostics import raised
from ..passes.base import FunctionPass
from ..passes.pipeline_edit import PipelineEdit, PipelineEditError
from ..passes.registry import PassNameError, contribute_passes, registered_passes
from .native_passes import is_native_pass
from .rooms import rooms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGIN_GROUP = "bankwise.plugins"
_METADATA = (".dist-info", ".egg-info")


def installed_plugins() -> list[PipelineEdit]:
    """Returns the edits of every installed distribution's `bankwise.plugins` entry points.

    Raises:
        PipelineEditError: a plugin cannot be loaded or yields something else than edits.
    """
    if not may_be_installed(PLUGIN_GROUP):
        return []
    from importlib.metadata import entry_points

    from .early_import import wait_for_imports

    # They may import what the compiler's package itself has.
    wait_for_imports()
    return [edit for entry in entry_points(group=PLUGIN_GROUP) for edit in _edits_of(entry)]


def _edits_of(entry: EntryPoint) -> list[PipelineEdit]:
    try:
        contributed = entry.load()()
        edits = [*contributed] if isinstance(contributed, Iterable) else [contributed]
    except (Exception, SystemExit) as error:
        # An exit without a word would be that of the compile.
        reason = (
            f"it asks to exit with {error.code}"
            if isinstance(error, SystemExit)
            else raised(error, besides=(__file__, "importlib"))
        )
        raise PipelineEditError(f"plugin '{entry.name}' failed to load: {reason}") from error
    for edit in edits:
        if not isinstance(edit, PipelineEdit):
            raise PipelineEditError(
                f"plugin '{entry.name}' yields {type(edit).__name__}, expected PipelineEdit"
            )
        try:
            edit.check()
        except PipelineEditError as error:
            raise PipelineEditError(f"plugin '{entry.name}': {error}") from None
    return edits


def check_anchors(edits: Sequence[PipelineEdit], names: Collection[str]) -> None:
    """Makes sure that edits of others name passes that there are.

    An edit is left out silently where a pipeline does not have its anchor, because another one may.
    A name that no pass has is none of any.

    Args:
        names: those of the passes of some pipelines, and of what is spliced into them.

    Raises:
        PipelineEditError: an anchor, or what it is to stand beside or without, is no pass.
    """
    for edit in edits:
        named = (("anchor", edit.anchor), ("beside", edit.beside), ("without", edit.without))
        for what, name in named:
            if not name or name in names or name in registered_passes() or is_native_pass(name):
                continue
            hint = did_you_mean(name, names)
            raise PipelineEditError(f"{what} '{name}' of a pipeline edit is no pass{hint}")


def contribute_plugin_passes() -> None:
    """Lets pipelines name our passes, and those of all installed plugins.

    Raises:
        PipelineEditError: a plugin cannot be loaded, or a pass of one has the name of another.
    """
    rooms_of()
    steps = [step for edit in installed_plugins() for step in edit.passes]
    kinds = dict.fromkeys(type(step) for step in steps if isinstance(step, FunctionPass))
    try:
        for kind in kinds:
            if is_native_pass(kind.name):
                raise PassNameError(f"'{kind.name}' is the name of a pass of the compiler's own")
        contribute_passes(kinds)
    except PassNameError as error:
        raise PipelineEditError(f"a plugin's pass cannot be named: {error}") from error


def may_be_installed(group: str) -> bool:
    """Returns whether a distribution may declare entry points of a group.

    False is certain: each distribution that `importlib.metadata` finds in a folder of `sys.path`
    has a folder for its metadata there, and none of these names the group. It is True where that
    module finds distributions in other ways: in archives and eggs, or by finders of their own.
    """
    others = [finder for finder in sys.meta_path if finder is not PathFinder]
    if any(hasattr(finder, "find_distributions") for finder in others):
        return True
    return any(_may_hold(path, group.encode()) for path in sys.path)


@cache
def _may_hold(folder: str, group: bytes) -> bool:
    path = Path(folder)
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
