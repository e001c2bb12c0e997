# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which mnemonics in LLVM's tables the emulator executes: all but those that the docs list."""

from __future__ import annotations

import re

import pytest

from bankwise.bench.pages.not_executed import ON_ONE, not_executed
from bankwise.emulator.emulation_errors import EmulationError, UnknownInstructionError

from .llvm_assembler import mnemonics
from .small_kernels import kernel, program_of


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("arch", ON_ONE)
def test_all_mnemonics_of_llvm_are_executed_or_listed(arch: str):
    """LLVM 19 had some mnemonics of a chip that its later versions do not have."""
    listed = not_executed(arch)
    unknown = {name for name in mnemonics(arch) if _is_unknown(name, arch)}
    assert unknown == listed.keys() & mnemonics(arch)
    assert {name for name in listed.keys() - unknown if not _is_unknown(name, arch)} == set()


def _is_unknown(name: str, arch: str) -> bool:
    """Returns whether the emulator refuses an instruction whatever its operands are."""
    try:
        program_of(kernel(f"\t{name}", arch=arch))
    except UnknownInstructionError:
        return True
    except EmulationError as error:
        return bool(re.search("no model|xf32|does not know", str(error)))
    return False
