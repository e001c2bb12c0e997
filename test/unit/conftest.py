# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of several rooms share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from iree.compiler import ir
from iree.compiler.api import Session


@pytest.fixture(scope="module")
def context() -> Iterator[ir.Context]:
    """Enters a context with the dialects of IREE, for all tests of a module."""
    with Session().context as entered:
        yield entered
