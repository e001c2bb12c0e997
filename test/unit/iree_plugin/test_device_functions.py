# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that stock keeps for itself: an error only where they use LDS."""

from __future__ import annotations

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.iree_plugin.device_functions import report_unverified_lds


def module_text(space: int, backend: str = "rocm") -> str:
    return f"""
      hal.executable private @e {{
        hal.executable.variant public @v target(<"{backend}", "code">) {{
          builtin.module {{
            llvm.mlir.global private @array() {{addr_space = {space} : i32}} : !llvm.array<64 x f32>
            llvm.func @kernel() {{
              llvm.return
            }}
          }}
        }}
      }}"""


@pytest.mark.parametrize(
    ("space", "backend", "verified", "clean"),
    [
        (3, "rocm", set(), False),
        (3, "rocm", {"kernel"}, True),
        (1, "rocm", set(), True),
        (3, "cuda", set(), False),
        (3, "llvm-cpu", set(), True),
    ],
)
def test_lds_that_was_not_seen(space: int, backend: str, verified: set[str], clean: bool) -> None:
    session = Session()
    with session.context as context, ir.Location.unknown():
        errors: list[str] = []

        def note(diagnostic: ir.Diagnostic) -> bool:
            errors.append(diagnostic.message)
            return True

        handler = context.attach_diagnostic_handler(note)
        module = ir.Module.parse(module_text(space, backend))
        assert report_unverified_lds(module.operation, verified) == clean
        handler.detach()
    assert bool(errors) != clean
    assert all("@kernel cannot be verified: its pipeline is left" in error for error in errors)
