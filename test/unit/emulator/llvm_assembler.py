# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What LLVM's assembler says of lines of assembly, as the compiler's wheel has it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from iree.compiler._mlir_libs import __file__ as libraries

_LIBRARY = Path(libraries).with_name("libIREECompiler.so")
_COMPILER = Path(libraries).with_name("iree-compile")
_ERROR = re.compile(r"<inline asm>:(\d+):\d+: (?:error: )?(.*)")
_PROGRAM = """
hal.executable public @e {{
  hal.executable.variant public @v target(<"rocm", "rocm-hsaco-fb", {{abi = "hip",
      iree_codegen.target_info = #iree_gpu.target<arch = "{chip}", features = "", wgp = <
      compute = fp32, storage = b32, subgroup = none, dot = none, mma = [],
      subgroup_size_choices = [{lanes}], max_workgroup_sizes = [1024, 1024, 1024],
      max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536,
      max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>, ukernels = "none"}}>) {{
    hal.executable.export public @k ordinal(0)
      layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>)
    builtin.module {{
      llvm.func @k() attributes {{rocdl.kernel}} {{
        llvm.inline_asm has_side_effects "{lines}", "" : () -> ()
        llvm.return
      }}
    }}
  }}
}}
"""


def refused(chip: str, lines: Sequence[str], lanes: int = 32) -> dict[int, str]:
    """Returns what the assembler has against lines, by their indices; nothing of those it takes."""
    text = _PROGRAM.format(chip=chip, lanes=lanes, lines="\\0A".join(["s_nop 0", *lines]))
    command = [
        *(str(_COMPILER), "-", "-o", "/dev/null", "--iree-hal-target-backends=rocm"),
        *("--compile-from=executable-targets", "--compile-mode=hal-executable"),
        f"--iree-rocm-target={chip}",
    ]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    found = {int(match[1]) - 2: match[2] for match in reversed(list(_ERROR.finditer(done.stderr)))}
    if not found and done.returncode:
        raise AssertionError(done.stderr[-2000:])
    return found


@cache
def mnemonics(chip: str, lanes: int = 64) -> frozenset[str]:
    """Returns the mnemonics that the assembler has for a chip."""
    names = sorted(set(_all_mnemonics()))
    messages = refused(chip, names, lanes)
    unknown = ("instruction not supported on this GPU", "invalid instruction")
    return frozenset(
        name
        for index, name in enumerate(names)
        if not any(text in messages.get(index, "") for text in unknown)
    )


def _all_mnemonics() -> Iterator[str]:
    """Yields the names in LLVM's table of AMD's mnemonics, each of which follows its length.

    The table is in alphabetical order, and has no names of other processors.
    """
    data = _LIBRARY.read_bytes()
    at = data.index(b"\x11buffer_atomic_add\x15buffer_atomic_add_f32")
    while found := re.match(rb"[a-z][a-z0-9_.]+", data[at + 1 : at + 1 + data[at]]):
        if len(found[0]) != data[at]:
            return
        yield found[0].decode()
        at += 1 + data[at]
