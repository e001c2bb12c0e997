# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of a compute unit is compiled once for all runs of the tests."""

from __future__ import annotations

from bankwise.emulator.timing.kept_code import keep_code_in
from bankwise.iree_plugin.user_cache import UserCache

keep_code_in(UserCache())
