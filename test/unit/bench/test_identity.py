# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the comparison of the two ways takes, and what it counts as the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from bankwise.bench import identity
from bankwise.bench.identity import EXECUTABLE, Case, Row, executable_cases
from bankwise.sweep.swept_kernels import Attention


def test_all_kernels_are_taken_once() -> None:
    chosen = executable_cases(1)
    assert len({(kernel.name, target) for kernel, target, _ in chosen}) == len(chosen)
    kinds = Counter((type(kernel).__name__, kernel.dtype, target) for kernel, target, _ in chosen)
    assert kinds["Attention", "f16", "gfx942"] == kinds["Attention", "f32", "gfx942"] == 110
    assert kinds["Attention", "f16", "sm_80"] == 20
    assert sum(count for (kind, _, _), count in kinds.items() if kind == "Matmul") == 20


def test_assembly_and_module_must_both_be_the_same() -> None:
    row = Row("kernel", "gfx942", identical_assembly=True, identical_module=True)
    assert row.identical
    assert not replace(row, identical_assembly=False).identical
    assert not replace(row, identical_module=False).identical


CASE: Case = (Attention(1, 256, 64, "f16"), "gfx942", EXECUTABLE)


@pytest.mark.nightly
def test_an_executable_is_the_same_in_both_ways() -> None:
    row = Row.measure(CASE)
    assert row.identical and row.differs_from_stock and not row.failed
    assert min(row.stock_s, row.inside_s, row.bankwise_compile_s) > 0


def test_an_executable_that_comes_back_unchanged_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(identity, "HOOK", f"{identity.HOOK} --unknown")
    (error,) = Row.measure(CASE).errors.values()
    assert "warning: executable @attention_dispatch_0" in error
