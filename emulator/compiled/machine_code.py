# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM as it is installed with numba: from the text of a module to a function that runs."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from functools import cache
from typing import Any

from ..library_settings import no_settings_of_the_folder

_X86 = ("x86_64", "AMD64")
_FIRST_LLVM = 17
"""The first version of LLVM whose text the code is written for."""


@cache
def _binding() -> Any:
    """Returns llvmlite, ready for this machine's processor; None where code is not made for it.

    Which NaN an operation gives depends on the processor, and is known of x86-64.
    """
    if platform.machine() not in _X86 or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    with no_settings_of_the_folder():
        import llvmlite.binding as llvm
    if llvm.llvm_version_info[0] < _FIRST_LLVM:
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def available() -> bool:
    """Returns whether functions can be compiled here."""
    return _binding() is not None


class CompiledFunction:
    """A function of two numbers in machine code.

    Args:
        text: the module, which defines `@region`.
    """

    def __init__(self, text: str) -> None:
        llvm = _binding()
        module = llvm.parse_assembly(text)
        target = llvm.Target.from_default_triple()
        features = llvm.get_host_cpu_features().flatten()
        machine = target.create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=features, opt=1
        )
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
        passes = llvm.create_pass_builder(machine, options)
        passes.getModulePassManager().run(module, passes)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        address = self._engine.get_function_address("region")
        kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
        self.call: Callable[[int, int], int] = kind(address)


CALLBACK = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
"""What code calls where an instruction has none: a function of the instruction and a number."""
