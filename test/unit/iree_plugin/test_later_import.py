# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`iree_plugin/later_import.py`, in processes of their own."""

from __future__ import annotations

import subprocess
import sys

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


def _printed(program: str) -> list[str]:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stderr == ""
    return run.stdout.splitlines()


def test_a_module_is_loaded_when_a_name_in_it_is_asked_for() -> None:
    assert _printed(_LATER) == ["colorsys False", "True True True", "True"]


def test_names_that_are_known_load_nothing() -> None:
    assert _printed(_KNOWN) == ["known []", "3"]


def test_a_module_may_be_asked_for_at_once() -> None:
    no_name = "module 'xml' has no attribute 'nothing'"
    assert _printed(_ASKED) == ["3 True True", no_name, "True"]


def test_a_compile_does_not_load_what_looks_at_source_code() -> None:
    assert _printed(_TOOL)[-1] == "1 False True"


def test_targets_that_iree_describes_need_no_table_of_gpus_before_the_compiler_begins() -> None:
    assert _printed(_FLAGS) == ["None False", "None False", "sm_90a True"]
