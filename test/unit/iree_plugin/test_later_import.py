# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`iree_plugin/later_import.py`, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from bankwise.iree_plugin import later_import

_LATER = """
import sys
from bankwise.iree_plugin.later_import import imported_later

with imported_later("colorsys"):
    import colorsys
print(colorsys.__name__, "colorsys" in sys.modules)
import colorsys as behind
print(behind is not colorsys, colorsys.ONE_THIRD == behind.ONE_THIRD, type(colorsys) is type(sys))
with imported_later("colorsys"):
    import colorsys as loaded
print(loaded is behind)
"""

_KNOWN = """
import sys
from bankwise.iree_plugin.later_import import imported_later

with imported_later("xml", __path__=[], dom="known"):
    from xml import dom
print(dom, [name for name in ("xml", "xml.dom") if name in sys.modules])
from xml import dom
print(dom.Node.TEXT_NODE)
"""

_ASKED = """
import sys
from bankwise.iree_plugin.later_import import imported_later

with imported_later("xml"):
    import xml
    import xml.dom
    print(xml.dom.Node.TEXT_NODE, sys.modules["xml"] is xml, xml.dom is sys.modules["xml.dom"])
    try:
        xml.nothing
    except AttributeError as error:
        print(error)
print("xml" in sys.modules)
"""

_TWO_THREADS = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import slow
from bankwise.iree_plugin.later_import import defer

defer("slow.module")
seen = []


def ask():
    slow.begun.wait()
    slow.asked.set()
    seen.append(slow.module.last)


thread = threading.Thread(target=ask)
thread.start()
seen.append(slow.module.first)
thread.join()
print(sorted(seen))
"""

_SLOW = """
import sys, time
from slow import asked, begun

first = "first"
# The body itself sees which names it has so far.
assert not hasattr(sys.modules[__name__], "last")
begun.set()
asked.wait()
time.sleep(0.1)
last = "last"
"""

_TOOL = """
import sys
sys.argv = ["bankwise-compile", "--bankwise-level=none"]
sys.stderr = sys.stdout
from bankwise.tools.commands import _work

print(_work("compile", "bankwise-compile"), "inspect" in sys.modules, "dataclasses" in sys.modules)
"""


_FLAGS = """
import sys
from bankwise.tools.compile_arguments import parse_arguments
from bankwise.iree_plugin.described_target import DescribedTarget

for backend, target in ("rocm", "gfx942"), ("cuda", "sm_80"), ("cuda", "h100"):
    settings = parse_arguments(["x.mlir", f"--iree-{backend}-target={target}"])
    gpu = DescribedTarget.of_flags(settings.process_flags)
    print(gpu and gpu.lds.arch, "bankwise.bank_model.lds_tables" in sys.modules)
"""


def _printed(program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", program, *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.stderr == ""
    return run.stdout.splitlines()


def test_a_module_is_loaded_when_a_name_in_it_is_asked_for() -> None:
    assert _printed(_LATER) == ["colorsys False", "True True True", "True"]


def test_names_that_are_known_load_nothing() -> None:
    assert _printed(_KNOWN) == ["known []", "3"]


def test_a_module_may_be_asked_for_at_once() -> None:
    no_name = "module 'xml' has no attribute 'nothing'"
    assert _printed(_ASKED) == ["3 True True", no_name, "True"]


def test_threads_wait_for_the_names_of_a_module_whose_body_runs(tmp_path: Path) -> None:
    package = tmp_path / "slow"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from threading import Event\nasked, begun = Event(), Event()\n"
    )
    (package / "module.py").write_text(_SLOW)
    assert _printed(_TWO_THREADS, str(tmp_path)) == ["['first', 'last']"]


def test_threads_that_need_the_module_at_once_load_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    class Modules(dict[str, ModuleType]):
        """Another thread has its turn when one has looked at what is in the module's place."""

        def get(self, name: str) -> ModuleType | None:  # pyright: ignore[reportIncompatibleMethodOverride]
            found = super().get(name)
            if not threads:
                threads.append(threading.Thread(target=load))
                threads[0].start()
                threads[0].join(0.1)
            return found

    def load() -> None:
        later_import._make_room(later)
        loaded.add(modules.setdefault("x", ModuleType("x")))

    later = later_import._Later("x")
    modules, loaded = Modules(x=later), set[ModuleType]()
    monkeypatch.setattr(later_import, "sys", SimpleNamespace(modules=modules))
    load()
    threads[0].join()
    assert len(loaded) == 1


def test_a_compile_does_not_load_what_looks_at_source_code() -> None:
    assert _printed(_TOOL)[-1] == "1 False True"


def test_targets_that_iree_describes_need_no_table_of_gpus_before_the_compiler_begins() -> None:
    assert _printed(_FLAGS) == ["None False", "None False", "sm_90a True"]
