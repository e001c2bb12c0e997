# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tests of this room parse and change IR as those of `dialect_utils` do."""

from ..dialect_utils.conftest import in_context as in_context
