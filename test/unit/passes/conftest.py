# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tests of this room parse and change IR, all in a context that they need not name."""

from __future__ import annotations

import pytest
from iree.compiler import ir


@pytest.fixture(scope="module", autouse=True)
def in_context(context: ir.Context) -> ir.Context:
    """Enters a context for all tests of a module."""
    return context
