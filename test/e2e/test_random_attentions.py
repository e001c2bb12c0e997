# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attentions under `fast`: right to rounding, and no access beyond the end of a tensor.

The emulator's buffers are as long as their tensors, with guards between them, and it counts what a
descriptor's end cuts off.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, note, seed, settings

from bankwise.bench.program_families.program import TOLERANCE
from bankwise.sweep.cases import target_flags
from bankwise.test.e2e.random_attentions import Case, cases, outcome_elsewhere

from .program_runs import run_again
from .test_odd_attentions import odd

Array = npt.NDArray[Any]

IREE_COMPILE = str(Path(sys.executable).parent / "iree-compile")
MOST_ERROR = TOLERANCE | {"f32": 2.0**-16}
"""Lanes sum the products of a head one after the other, which is up to ten times stock's error."""
MOST_OF_STOCK = 1.5
"""How many times stock's an error may be that is above the tolerance."""
FEW, MANY = 1 << 21, 1 << 24
"""The most multiplications of an attention, of a few examples and of many."""


@dataclass
class Tally:
    """What became of the cases; `failed` are those that plain `iree-compile` fails on, too."""

    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    def check(self, case: Case) -> None:
        """Runs a case in a process of its own, because the compiler may end that."""
        note(f"{case}\n{case.text}")
        found = outcome_elsewhere(case)
        if found is None:
            assert _stock_fails(case), "the process that runs the case has ended"
            self.failed.append(str(case.attention.sizes))
            self.counts["failed"] += 1
            return
        if not found["error"] < MOST_ERROR[case.attention.dtype]:
            # Where weighted values cancel, what is left has larger errors, in stock too.
            stock = outcome_elsewhere(case, "stock")
            assert stock is not None
            assert found["error"] < MOST_OF_STOCK * stock["error"], (found, stock)
        sizes = case.attention.sizes
        if sizes["m"] * sizes.get("g", 1) > 1:
            # IREE has matrix instructions for some itself.
            assert found["tiled"] or found["matrix"]
        if found["tiled"]:
            assert bool(found["matrix"]) != case.by_lanes
            assert found["out of range"] == 0
        self.counts["tiled" if found["tiled"] else "scalar"] += 1


def _stock_fails(case: Case) -> bool:
    """Returns whether plain `iree-compile` fails to compile a case."""
    flags = [*target_flags(case.chip), "-o", "/dev/null"]
    command = [IREE_COMPILE, "-", *flags]
    return subprocess.run(command, input=case.text, text=True, capture_output=True).returncode != 0


def check_many(number: int, seeded: int, most: int) -> Tally:
    """Checks so many random attentions, always the same ones for a seed."""
    tally = Tally()

    @seed(seeded)
    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        print_blob=False,
    )
    @given(cases(most))
    def check(case: Case) -> None:
        tally.check(case)

    check()
    print(dict(tally.counts), "iree-compile fails, too, on", tally.failed)
    return tally


@pytest.mark.nightly
def test_random_attentions() -> None:
    tally = check_many(5, 0, FEW)
    assert tally.counts["tiled"] >= 3


@pytest.mark.nightly
@pytest.mark.parametrize("seeded", range(1, 41))
def test_many_random_attentions(seeded: int) -> None:
    tally = check_many(50, seeded, MANY)
    assert tally.counts["tiled"] >= 30


@pytest.mark.sampled("what", "sizes", every=6)
@pytest.mark.parametrize("what", ["hidden rows", "large scores", "negative zeros"])
@pytest.mark.parametrize("sizes", [(18, 19, 20, 20), (33, 40, 64, 24)])
def test_extreme_numbers_give_what_stock_gives(what: str, sizes: tuple[int, int, int, int]) -> None:
    """NaN and Inf stand where stock has them, and no sum of zeros has another sign than there."""
    rows, keys, head, columns = sizes
    random = np.random.default_rng(5)
    shapes = (1, rows, head), (1, keys, head), (1, keys, columns), (1, rows, keys)
    q, k, v, mask = (random.standard_normal(each).astype(np.float16) for each in shapes)
    if what == "hidden rows":
        mask[:, ::3] = -np.inf
        mask[:, :, -1] = -np.inf
    elif what == "large scores":
        q, k = 200 * q, 200 * k
    else:
        v[:] = -0.0
    program = odd(*sizes, "f16", True, batch=1).program()
    found, stock = (
        run_again(program, mode=mode, inputs=[q, k, v, mask]).run.outputs[0]
        for mode in ("auto/fast", "stock")
    )
    assert np.array_equal(np.isnan(found), np.isnan(stock))
    assert np.array_equal(np.isinf(found), np.isinf(stock))
    finite = np.isfinite(stock)
    assert np.allclose(found[finite], stock[finite], atol=4e-3)
    if what == "negative zeros":
        assert found.tobytes() == stock.tobytes()
