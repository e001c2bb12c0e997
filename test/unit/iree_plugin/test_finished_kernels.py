# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that forks compile to machine code, and what the module becomes then."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.operations import operations_in
from bankwise.iree_plugin.compile_settings import CompileSettings
from bankwise.iree_plugin.embedding import Lost
from bankwise.iree_plugin.finished_kernels import FinishedKernels, executable_of, may_finish

# In a module of the VM names have no `$`, which those of exported programs have.
_SUM = """
func.func @sum${name}(%x: tensor<{size}xf32>, %y: tensor<{size}xf32>) -> tensor<{size}xf32> {{
  %sum = arith.addf %x, %y : tensor<{size}xf32>
  return %sum : tensor<{size}xf32>
}}
"""

_COMPILE = """
import os, sys
os.sched_getaffinity = lambda _: range(2)
from bankwise.iree_plugin import finished_kernels
put = finished_kernels._put_before
def count(*arguments):
    print("finished")
    put(*arguments)
finished_kernels._put_before = count
if "--other-launch" in sys.argv:
    sys.argv.remove("--other-launch")
    expected = finished_kernels._export_of
    finished_kernels._export_of = lambda *given: expected(*given) + str(len(given[0]))
from bankwise.tools.compile import main
sys.exit(main(sys.argv[1:]))
"""


def _compiled(
    tmp_path: Path, name: str, *flags: str, sizes: Sequence[str] = ("64", "96")
) -> tuple[bytes, int]:
    """Returns a module of a kernel for each size, and how many of them forks have finished."""
    source, made = tmp_path / "sums.mlir", tmp_path / name
    source.write_text("".join(_SUM.format(size=size, name=size.strip("?")) for size in sizes))
    run = subprocess.run(
        [sys.executable, "-c", _COMPILE, str(source), "-o", str(made), *flags],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    return made.read_bytes(), run.stdout.count("finished")


_GPUS = {
    "cuda": ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
    "hip": ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"),
}


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("gpu", _GPUS)
def test_what_forks_have_finished_is_what_would_have_become_of_it(gpu: str, tmp_path: Path) -> None:
    finished, count = _compiled(tmp_path, "finished.vmfb", *_GPUS[gpu])
    phases = f"--dump-compilation-phases-to={tmp_path / 'phases'}"
    other, none = _compiled(tmp_path, "other.vmfb", *_GPUS[gpu], phases)
    assert (count, none) == (2, 0)
    assert finished == other


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("sizes", "other_launch", "finished"),
    [
        (["64"], False, 1),
        (["64"], True, 1),
        (["?"], False, 0),
        # Shells are there before their kernels, and then with them.
        (["64", "96"], True, 4),
        (["64", "?"], False, 2),
    ],
)
def test_kernels_are_finished_beside_the_host_program(
    sizes: list[str], other_launch: bool, finished: int, tmp_path: Path
) -> None:
    """All is compiled again where a launch is not what was expected. A launch that depends on the
    sizes of a call is known with the kernel alone."""
    flags = (*_GPUS["cuda"], *(["--other-launch"] if other_launch else []))
    made, count = _compiled(tmp_path, "finished.vmfb", *flags, sizes=sizes)
    phases = f"--dump-compilation-phases-to={tmp_path / 'phases'}"
    other, none = _compiled(tmp_path, "other.vmfb", *_GPUS["cuda"], phases, sizes=sizes)
    assert (count, none) == (finished, 0)
    assert made == other


def test_linked_kernels_are_not_finished(tmp_path: Path) -> None:
    linked = "--iree-hal-link-executables=true"
    assert _compiled(tmp_path, "linked.vmfb", *_GPUS["cuda"], linked)[1] == 0


@pytest.mark.parametrize(
    ("flags", "links"),
    [
        ((), False),
        (("--iree-hal-link-executables",), True),
        (("--iree-hal-link-executables=1",), True),
        (("-iree-hal-link-executables=false",), False),
        (("--iree-hal-link-executables", "false"), False),
        (("--iree-hal-target-device=local",), True),
        (("--iree-hal-target-backends=cuda,llvm-cpu",), True),
        (("--iree-hal-target-device=hip",), False),
    ],
)
def test_each_kernel_is_an_executable_unless_somebody_asks(
    flags: tuple[str, ...], links: bool
) -> None:
    settings = CompileSettings(process_flags=flags)
    assert settings.links_executables == links
    added = [flag for flag in settings.library_flags if flag not in flags]
    asked = any("link" in flag for flag in flags)
    assert added == ([] if links or asked else ["--iree-hal-link-executables=false"])
    stock = CompileSettings(mitigation="stock", process_flags=flags)
    assert stock.library_flags == list(flags)


@pytest.mark.parametrize(
    ("settings", "may"),
    [
        (CompileSettings(), True),
        (CompileSettings(compile_to="hal"), True),
        (CompileSettings(compile_to="executable-targets"), False),
        (CompileSettings(dump_phases_to="somewhere"), False),
        (CompileSettings(process_flags=("--iree-hal-dump-executable-files-to=x",)), False),
        (CompileSettings(process_flags=("--iree-hal-substitute-executable-object=x=y",)), False),
    ],
)
def test_nothing_is_finished_where_somebody_asks_for_what_is_between(
    settings: CompileSettings, may: bool
) -> None:
    assert may_finish(settings) == may


_TEXT = b"the place of a kernel that is compiled already: " + b"f$1".hex().encode() + b"."
_SHELL = f'dense<"0x{_TEXT.hex()}"> : vector<{len(_TEXT)}xi8>'


@pytest.mark.parametrize(
    "module",
    [
        "hal.executable private @lost { hal.executable.binary public @cuda_nvptx_fb "
        f'<format = "cuda-nvptx-fb", data = {_SHELL}> }}',
        f"vm.module public @module {{ vm.rodata private @lost_cuda_nvptx_fb {_SHELL} }}",
    ],
)
def test_a_shell_without_machine_code_does_not_compile(module: str) -> None:
    with ir.Context(), ir.Location.unknown():
        parsed = ir.Module.parse(module)
        with pytest.raises(Lost):
            FinishedKernels().put_binaries(parsed.operation)


@pytest.mark.parametrize(
    ("objects", "other", "alone"),
    [
        ("", "", True),
        ('objects([#hal.executable.object<{path = "mine.bc"}>])', "", False),
        ("", "func.func @other() { return }", False),
    ],
)
def test_an_executable_with_more_than_a_kernel_is_not_finished(
    objects: str, other: str, alone: bool
) -> None:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(f"""
hal.executable private @x {{
  hal.executable.variant public @cuda target(<"cuda", "cuda-nvptx-fb">) {objects} {{
    hal.executable.export public @f ordinal(0) layout(#hal.pipeline.layout<bindings = []>)
    builtin.module {{
      func.func @f() {{ return }}
      {other}
    }}
  }}
}}
""")
        (function, *_) = operations_in(module.operation, "func.func")
        assert (executable_of(function) is not None) == alone
