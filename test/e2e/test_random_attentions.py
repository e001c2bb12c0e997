# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attentions under `fast`: right to rounding, and no access beyond the end of a tensor.

The emulator's buffers are as long as their tensors, with guards between them, and it counts what a
descriptor's end cuts off.
"""

from __future__ import annotations

import faulthandler
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

from bankwise.bench.program_families.attention import Attention
from bankwise.bench.program_families.program import TOLERANCE, largest_error
from bankwise.emulator.assembly import Kernel
from bankwise.emulator.chips import EMULATED_CHIPS
from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.forked_work import run_forked
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.tiles.tile_by_lanes import TileByLanes
from bankwise.passes.tiles.use_matrix_instructions import UseMatrixInstructions
from bankwise.runtime.dtypes import dtype_of
from bankwise.runtime.emulated_device import EmulatedDevice
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

from .test_lane_tiled_attentions import EDITS
from .test_odd_attentions import source

Array = npt.NDArray[Any]

IREE_COMPILE = str(Path(sys.executable).parent / "iree-compile")
FEW, MANY = 1 << 21, 1 << 24
"""The most multiplications of an attention, of a few examples and of many."""
EPILOGUE = """  %wide = tensor.empty() : {wide}
  %twice = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>,
      affine_map<({dims}) -> ({dims})>], iterator_types = [{parallel}]}}
      ins(%out : {narrow}) outs(%wide : {wide}) {{
    ^bb0(%x: {dtype}, %unused: f32):
      %y = arith.extf %x : {dtype} to f32
      %z = arith.addf %y, %y : f32
      linalg.yield %z : f32
  }} -> {wide}
  return %twice : {wide}"""


@dataclass(frozen=True)
class Case:
    """A random attention.

    Attributes:
        doubled: whether the kernel doubles the result, in f32.
        by_lanes: whether lanes multiply in the place of matrix instructions, as on CUDA.
    """

    chip: str
    attention: Attention
    doubled: bool
    by_lanes: bool

    @property
    def text(self) -> str:
        text = self.attention.program().source
        if not self.doubled:
            return text
        sizes, dims = self.attention.sizes, self.attention.output.split()
        shape, dtype = "x".join(str(sizes[dim]) for dim in dims), self.attention.dtype
        narrow, wide = f"tensor<{shape}x{dtype}>", f"tensor<{shape}xf32>"
        tail = EPILOGUE.format(narrow=narrow, wide=wide, dtype=dtype, dims=", ".join(dims),
                               parallel=", ".join(['"parallel"'] * len(dims)))  # fmt: skip
        head, _, end = text.rpartition(f"  return %out : {narrow}")
        return head.replace(f" -> {narrow} {{\n", f" -> {wide} {{\n", 1) + tail + end

    def inputs(self) -> list[Array]:
        """Returns normal values, and masks that show each row a key."""
        random, attention = np.random.default_rng(7), self.attention
        operands = [(each, attention.dtype) for each in self.operands]
        if attention.mask:
            operands.append((attention.mask, attention.mask_dtype))
        drawn = [self._draw(random, *each) for each in operands]
        if attention.mask_dtype == "i1" and attention.mask:
            drawn[-1][..., 0] = True
        return drawn

    @property
    def operands(self) -> tuple[str, str, str]:
        return self.attention.query, self.attention.key, self.attention.value

    def _draw(self, random: np.random.Generator, dims: str, dtype: str) -> Array:
        shape = tuple(self.attention.sizes[dim] for dim in dims.split())
        if dtype == "i1":
            return random.random(shape) < 0.7
        return random.standard_normal(shape).astype(dtype_of(dtype))

    def expected(self, inputs: list[Array]) -> Array:
        wide = [
            np.where(each, 0.0, -np.inf) if each.dtype.kind == "b" else each.astype(np.float64)
            for each in inputs
        ]
        return self.attention.reference(*wide) * (2.0 if self.doubled else 1.0)


@st.composite
def cases(draw: st.DrawFn, most: int) -> Case:
    """Draws attentions of at most so many multiplications."""
    size = st.one_of(
        st.integers(1, 300),
        st.integers(1, 16),
        st.sampled_from([8, 16, 32, 48, 64, 72, 80, 96, 128, 160, 192, 256]),
    )
    batch = draw(st.sampled_from([{"b": 1}, {"b": 3}, {"b": 2, "h": 2}, {"h": 2, "g": 3}]))
    if "g" in batch:
        batch["g"] = draw(st.integers(1, 8))
    rows, keys, head = (draw(size) for _ in range(3))
    # iree-compile crashes on attentions with one key.
    keys = max(keys, 2)
    columns = head if draw(st.booleans()) else draw(size)
    left = max(1, most // (int(np.prod([*batch.values()])) * rows * keys))
    sizes = {**batch, "m": rows, "n": min(columns, left), "k1": min(head, left), "k2": keys}
    shared = [dim for dim in batch if dim != "g"]
    outer = [*batch]
    beside = draw(st.booleans())
    key_dims, value_dims = ("k2", "k1"), ("k2", "n")
    if draw(st.sampled_from([False, False, True])):
        value_dims = ("n", "k2")
    dtype = draw(st.sampled_from(["f16", "bf16", "f32"]))
    mask = draw(st.sampled_from(["", *[" ".join([*outer, "m k2"]), "m k2"]]))
    attention = Attention(
        "",
        dtype,
        sizes,
        query=_joined(outer, ("m", "k1"), beside),
        key=_joined(shared, key_dims, beside),
        value=_joined(shared, value_dims, beside and value_dims[0] == "k2"),
        output=_joined(outer, ("m", "n"), beside),
        mask=mask,
        mask_dtype=draw(st.sampled_from(["i1", dtype])),
    )
    chip, doubled = draw(st.sampled_from(EMULATED_CHIPS)), draw(st.integers(0, 3)) == 0
    return Case(chip, attention, doubled, dtype == "f32" and draw(st.booleans()))


def _joined(batch: list[str], dims: tuple[str, str], beside: bool) -> str:
    """Returns the dimensions of an operand; heads lie beside columns, or before rows."""
    if beside and len(batch) > 1:
        first = [] if "g" in batch or batch == ["h"] else batch[:1]
        return " ".join([*first, dims[0], *batch[len(first) :], dims[1]])
    return " ".join([*batch, *dims])


@dataclass
class Tally:
    """What became of the cases; `failed` are those that plain `iree-compile` fails on, too."""

    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    def check(self, case: Case) -> None:
        """Runs a case in a process of its own, because the compiler may end that."""
        note(f"{case}\n{case.text}")
        work = run_forked(lambda: json.dumps(_outcome(case)).encode())
        if work.failure:
            assert _stock_fails(case), f"{work.failure}: {work.messages}"
            self.failed.append(str(case.attention.sizes))
            self.counts["failed"] += 1
            return
        found = json.loads(work.output)
        assert found["error"] < TOLERANCE[case.attention.dtype], found
        sizes = case.attention.sizes
        if sizes["m"] * sizes.get("g", 1) > 1:
            assert found["tiled"], work.messages
        if found["tiled"]:
            assert bool(found["matrix"]) != case.by_lanes
            assert found["out of range"] == 0
        self.counts["tiled" if found["tiled"] else "scalar"] += 1


def _outcome(case: Case) -> dict[str, float]:
    """Returns what a run of a case shows."""
    faulthandler.disable()
    devices: list[EmulatedDevice] = []

    def device(kernels: Mapping[str, Kernel]) -> EmulatedDevice:
        devices.append(EmulatedDevice(kernels))
        return devices[-1]

    inputs, log = case.inputs(), DecisionLog()
    done = run_emulated(
        case.text,
        target_flags(case.chip),
        "auto/fast",
        inputs,
        edits=EDITS if case.by_lanes else (),
        decisions=log,
        device=device,
    )
    tiling = {TileByLanes.name, UseMatrixInstructions.name}
    return {
        "error": largest_error(done.outputs[0], case.expected(inputs)),
        "matrix": done.counters[Counted.MFMA],
        "tiled": sum(each.pass_name in tiling for each in log if each.action is Action.RETILE),
        "out of range": devices[0].memory.out_of_range,
    }


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


def test_random_attentions() -> None:
    tally = check_many(8, 0, FEW)
    assert tally.counts["tiled"] >= 5


@pytest.mark.nightly
@pytest.mark.parametrize("seeded", range(1, 41))
def test_many_random_attentions(seeded: int) -> None:
    tally = check_many(50, seeded, MANY)
    assert tally.counts["failed"] <= 5


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
    text = source(*sizes, "f16", True, batch=1)
    found, stock = (
        run_emulated(text, target_flags("gfx942"), mode, [q, k, v, mask]).outputs[0]
        for mode in ("auto/fast", "stock")
    )
    assert np.array_equal(np.isnan(found), np.isnan(stock))
    assert np.array_equal(np.isinf(found), np.isinf(stock))
    finite = np.isfinite(stock)
    assert np.allclose(found[finite], stock[finite], atol=4e-3)
    if what == "negative zeros":
        assert found.tobytes() == stock.tobytes()
