# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The variables of a kernel's file: `__device__`, `__constant__`, and all of `.data` and `.bss`.

They begin as the file says, or as the caller does, which is what a program does by
`hipMemcpyToSymbol`, and live as long as the run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..emulator.assembly import Kernel
from ..emulator.data_sections import Variable
from ..emulator.global_memory import GlobalMemory
from ..emulator.symbol_names import source_names
from .argument_values import ArgumentError, Array
from .dtypes import packed, unpacked


class FileVariables:
    """The variables of a kernel's file in the memory of a run.

    Args:
        given: the values at the start of some, by their symbols or their names in a C++ source.

    Raises:
        ArgumentError: there is no such variable, or it has another size.
    """

    def __init__(self, kernel: Kernel, memory: GlobalMemory, given: Mapping[str, Array]) -> None:
        self.kernel, self.memory = kernel, memory
        self._types: dict[str, Array] = {}
        known = kernel.data.variables
        if not known and not given:
            return
        self._base = memory.place(kernel.data)
        for name, value in given.items():
            symbol = variable_symbol(kernel, name)
            contents = packed(np.asarray(value))
            if contents.size != known[symbol].size:
                raise ArgumentError(
                    f"{kernel.source}: the variable '{name}' has {known[symbol].size} bytes, and "
                    f"its value {contents.size}"
                )
            memory.write(self._base + known[symbol].place, contents)
            self._types[symbol] = np.asarray(value)
        self._before = {name: self._bytes(variable) for name, variable in known.items()}

    def values(self) -> dict[str, Array]:
        """Returns the values of all variables by their symbols.

        A variable has the type and the shape of the value that it was given, and otherwise is a row
        of i32, or of i8 where its size is no multiple of 4.
        """
        found: dict[str, Array] = {}
        for symbol, variable in self.kernel.data.variables.items():
            like = self._types.get(symbol)
            if like is None:
                words, rest = divmod(variable.size, 4)
                like = np.zeros(variable.size if rest else words, np.int8 if rest else np.int32)
            found[symbol] = unpacked(self._bytes(variable), like.dtype, like.shape)
        return found

    def changed(self) -> tuple[str, ...]:
        """Returns the symbols of the variables that are not what they were at the start."""
        return tuple(
            symbol
            for symbol, variable in self.kernel.data.variables.items()
            if not np.array_equal(self._bytes(variable), self._before[symbol])
        )

    def check_defined(self, symbol: str) -> None:
        """Refuses a variable with undefined bytes; raises UndefinedReadError."""
        variable = self.kernel.data.variables[symbol]
        address = self._base + variable.place
        self.memory.check_defined(address, variable.size, f"The variable '{symbol}'")

    def _bytes(self, variable: Variable) -> Array:
        return self.memory.read(self._base + variable.place, variable.size)


def variable_symbol(kernel: Kernel, name: str) -> str:
    """Returns the symbol of the variable that a name denotes.

    Raises:
        ArgumentError: there is not one such variable in the kernel's file.
    """
    known = kernel.data.variables
    if name in known:
        return name
    found = [symbol for symbol in known if name in source_names(symbol)]
    if len(found) == 1:
        return found[0]
    if found:
        what = f"several variables '{name}': {', '.join(found)}"
    else:
        what = f"no variable '{name}'; it has {', '.join(known) or 'none'}"
    raise ArgumentError(f"{kernel.source}: the file of kernel '{kernel.name}' has {what}")
