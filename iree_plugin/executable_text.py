# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the text of a `hal.executable` says to whoever has not loaded the compiler.

Part of it works around IREE 3.13
(`docs/for_iree.md#resources-and---iree-hal-preprocess-executables-with`).
"""

from __future__ import annotations

import re

# `device_functions` has the same backends, and knows more.
_GPU = re.compile(rb'target\(<"(rocm|cuda)"')
_NAME = re.compile(rb'hal\.executable (?:\w+ )?(@(?:"[^"]*"|[\w$.-]+))')


def may_change(executable: bytes) -> bool:
    """Returns whether the text names a backend whose functions our passes run on."""
    return _GPU.search(executable) is not None


def holds_resources(executable: bytes) -> bool:
    """Returns whether a constant in the text is a resource, whose data the text does not hold."""
    return b"dense_resource<" in executable


def name_of(executable: bytes) -> str:
    """Returns the executable's symbol with its `@`, or words that stand for it."""
    name = _NAME.search(executable)
    return name[1].decode(errors="replace") if name else "on standard input"
