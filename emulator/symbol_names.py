# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names that C++ kernels have in the source, of which an assembly file has the mangled ones.

`_ZN4math9transposeILi4EEEvPf` is `math::transpose<4>(float*)`. Only the names are read, which the
Itanium C++ ABI writes with their lengths before them (chapter "Mangling"); what they are
parameterized with is not.
"""

from __future__ import annotations

import re

_PREFIX = re.compile(r"_Z(N?)[rVK]*L?")
_LENGTH = re.compile(r"\d+")
_ANONYMOUS = "_GLOBAL__N_1"


def source_names(symbol: str) -> set[str]:
    """Returns what a symbol may be called: with its namespaces, and without.

    The set is empty for a symbol that is not mangled, or in a way that is not known here.
    """
    prefix = _PREFIX.match(symbol)
    if prefix is None:
        return set()
    names: list[str] = []
    at = prefix.end()
    while length := _LENGTH.match(symbol, at):
        end = length.end() + int(length[0])
        names.append(symbol[length.end() : end])
        at = end
        if not prefix[1]:
            break
    named = [name for name in names if name != _ANONYMOUS]
    return {named[-1], "::".join(named)} if named else set()
