# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits of plugins, and whether one may be installed, beside what `importlib.metadata` finds."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from iree.compiler import ir

from bankwise.iree_plugin import plugins
from bankwise.iree_plugin.native_passes import read_pipeline
from bankwise.iree_plugin.plugins import (
    PLUGIN_GROUP,
    check_anchors,
    contribute_plugin_passes,
    installed_plugins,
    may_be_installed,
)
from bankwise.passes import registry
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.pipeline_edit import NativePass, PipelineEdit, PipelineEditError
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from bankwise.tools.opt import main, pass_list

ENTRY = f"[console_scripts]\na = b:c\n[{PLUGIN_GROUP}]\nexample = some_module:edits\n"


def installed(folder: Path, name: str, entry_points: str | None) -> None:
    """Puts a distribution into a folder."""
    path = folder / name
    path.mkdir(parents=True)
    (path / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1\n")
    if entry_points is not None:
        (path / "entry_points.txt").write_text(entry_points)


def found() -> bool:
    """Returns whether `importlib.metadata` finds a plugin."""
    return bool(metadata.entry_points(group=PLUGIN_GROUP))


@pytest.mark.parametrize(
    ("name", "entry_points", "is_plugin"),
    [
        ("example-1.dist-info", ENTRY, True),
        ("Example-1.DIST-INFO", ENTRY, True),
        ("example-1.egg-info", ENTRY, True),
        ("example-1.dist-info", "[console_scripts]\na = b:c\n", False),
        ("example-1.dist-info", None, False),
        ("example-1", ENTRY, False),
    ],
)
def test_plugins_in_folders_are_found_as_importlib_finds_them(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    entry_points: str | None,
    is_plugin: bool,
) -> None:
    installed(tmp_path, name, entry_points)
    monkeypatch.setattr(sys, "meta_path", [each for each in sys.meta_path if is_standard(each)])
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path)])
    assert may_be_installed(PLUGIN_GROUP) == found() == is_plugin


def test_an_archive_and_an_egg_may_hold_plugins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "meta_path", [each for each in sys.meta_path if is_standard(each)])
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("example-1.dist-info/entry_points.txt", ENTRY)
    egg = tmp_path / "example.egg"
    installed(egg, "EGG-INFO", ENTRY)
    for path in (archive, egg):
        monkeypatch.setattr(sys, "path", [str(path)])
        assert may_be_installed(PLUGIN_GROUP)


def test_other_finders_of_distributions_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_distributions(self, context: object) -> list[object]:
            return []

        def find_spec(self, *unused: object) -> None:
            return None

    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [each for each in sys.meta_path if is_standard(each)])
    assert not may_be_installed(PLUGIN_GROUP)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert may_be_installed(PLUGIN_GROUP)


def is_standard(finder: object) -> bool:
    """Returns whether a finder is Python's own, or finds no distributions."""
    return not hasattr(finder, "find_distributions") or isinstance(finder, type)


def install(monkeypatch: pytest.MonkeyPatch, load: Callable[[], object]) -> None:
    entry = SimpleNamespace(name="example", load=load)
    monkeypatch.setattr(plugins, "may_be_installed", lambda group: True)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])


def test_installed_plugins_contribute_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    edit = PipelineEdit.after("a", NativePass("new"))
    install(monkeypatch, lambda: lambda: [edit])
    assert installed_plugins() == [edit]


@dataclass(frozen=True)
class Theirs(FunctionPass):
    """A plugin's pass."""

    name: ClassVar[str] = "their-pass"
    summary: ClassVar[str] = "do what they want"

    times: int = 1
    """How often."""
    found: dict[str, int] = field(default_factory=dict, compare=False)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Does nothing."""


class Hijacker(Theirs):
    name: ClassVar[str] = "canonicalize"


class Usurper(Theirs):
    name: ClassVar[str] = "bankwise-layouts"


@pytest.fixture
def registry_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_contributed", dict(registry._contributed))


@pytest.mark.usefixtures("registry_of_the_test")
class TestPassesOfPlugins:
    def test_pipelines_can_name_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(
            monkeypatch, lambda: lambda: [PipelineEdit.after("a", Theirs(2), SwizzleLdsAllocs())]
        )
        contribute_plugin_passes()
        text = "builtin.module(func.func(their-pass{times=3}))"
        ((step, path),) = read_pipeline(text)[1]
        assert (step, path) == (Theirs(3), ("func.func",))
        listed = pass_list().partition("Passes of plugins:\n")[2].splitlines()
        assert [" ".join(each.split()) for each in listed[:2]] == [
            "--their-pass - do what they want",
            "--times=<int> - how often; default: 1",
        ]

    @pytest.mark.parametrize("kind", [Hijacker, Usurper])
    def test_none_takes_the_name_of_another(
        self, kind: type[Theirs], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(monkeypatch, lambda: lambda: [PipelineEdit.after("a", kind())])
        with pytest.raises(PipelineEditError, match=f"'{kind.name}'.* is the name of a"):
            contribute_plugin_passes()
        assert kind.name not in registry.registered_passes()


def test_a_broken_plugin_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> object:
        raise ImportError("no such module")

    install(monkeypatch, load)
    message = (
        r"plugin 'example' failed to load: ImportError at test_plugins\.py:\d+: no such module"
    )
    with pytest.raises(PipelineEditError, match=message):
        installed_plugins()


def test_a_plugin_that_cannot_be_called_is_named_without_our_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, lambda: 5)
    message = r"plugin 'example' failed to load: TypeError: 'int' object is not callable$"
    with pytest.raises(PipelineEditError, match=message):
        installed_plugins()


def test_a_plugin_that_exits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda: lambda: sys.exit(0))
    with pytest.raises(PipelineEditError, match="plugin 'example' failed to load: it asks to exit"):
        installed_plugins()


@pytest.mark.parametrize(
    ("yielded", "named"),
    [(["canonicalize"], "str"), (None, "NoneType"), (NativePass("cse"), "NativePass")],
)
def test_a_plugin_that_yields_no_edit_is_named(
    yielded: object, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lambda: lambda: yielded)
    with pytest.raises(PipelineEditError, match=f"plugin 'example' yields {named}, expected Pipe"):
        installed_plugins()


class NoPass:
    """Has all that a pass has, and is none."""

    name, summary = "no-pass", "does nothing"


class Nameless(FunctionPass):
    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Does nothing."""


class Blank(Nameless):
    name, summary = "two words", "has no name that a pipeline can have"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (NoPass(), "a pipeline edit holds a NoPass, which is no pass: the class of a pass derives"),
        (Theirs, r"a pipeline edit holds the class Theirs; make a pass of it: Theirs\(\)"),
        (Nameless(), "the pass Nameless has no name: give its class a text `name`"),
        (Blank(), "'two words' is no name of a pass"),
    ],
)
def test_a_plugin_whose_edit_holds_no_pass_is_named(
    step: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lambda: lambda: [PipelineEdit.after("a", step)])
    with pytest.raises(PipelineEditError, match=f"plugin 'example': {reason}"):
        installed_plugins()


@dataclass(frozen=True)
class Misspelled(Theirs):
    name: ClassVar[str] = "misspelled"
    more: Imt = 1  # pyright: ignore[reportUndefinedVariable]  # noqa: F821


@pytest.mark.usefixtures("registry_of_the_test")
@pytest.mark.parametrize("word", ["--list-passes", "--misspelled"])
def test_options_whose_type_there_is_not_are_an_error_in_one_line(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, lambda: lambda: [PipelineEdit.after("a", Misspelled())])
    assert main([word, os.devnull]) == 1
    assert capsys.readouterr().err == (
        "bankwise-opt: error: misspelled: the types of its options cannot be read: NameError: "
        "name 'Imt' is not defined\n"
    )


def test_an_edit_names_passes_that_there_are() -> None:
    names = {"cse", "memref-fold", "theirs"}
    # In these pipelines, of the compiler's in others, and of ours.
    anchors = ("theirs", "canonicalize", SwizzleLdsAllocs.name)
    check_anchors([PipelineEdit.before(each, beside="cse") for each in anchors], names)
    with pytest.raises(PipelineEditError, match=r"anchor 'memref-fodl' of .* 'memref-fold'\?$"):
        check_anchors([PipelineEdit.after("memref-fodl")], names)
    with pytest.raises(PipelineEditError, match="beside 'csee' of a pipeline edit is no pass"):
        check_anchors([PipelineEdit.after("cse", beside="csee")], names)
    with pytest.raises(PipelineEditError, match="without 'csee' of a pipeline edit is no pass"):
        check_anchors([PipelineEdit.after("cse", without="csee")], names)
