# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an executable's text says to whoever has not loaded the compiler."""

from __future__ import annotations

import pytest

from bankwise.iree_plugin.device_functions import GPU_BACKENDS
from bankwise.iree_plugin.executable_text import may_change, name_of


@pytest.mark.parametrize("backend", [*GPU_BACKENDS, "llvm-cpu", "vmvx", "vulkan-spirv"])
def test_only_backends_that_are_replayed_may_change(backend: str) -> None:
    text = f'hal.executable private @e {{ hal.executable.variant public @v target(<"{backend}", "x"'
    assert may_change(text.encode()) == (backend in GPU_BACKENDS)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" hal.executable private @attention_dispatch_0 {", "@attention_dispatch_0"),
        ("hal.executable @m$async_dispatch.1 {", "@m$async_dispatch.1"),
        ('hal.executable public @"a b" {', '@"a b"'),
        ("no executable", "on standard input"),
    ],
)
def test_the_name_is_the_symbol(text: str, name: str) -> None:
    assert name_of(text.encode()) == name
