# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attentions, each run in a process of its own, which the compiler may end.

Such a process imports this module, so that tests import it by its full name.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from bankwise.bench.program_families.attention import Attention
from bankwise.bench.program_families.program import largest_error
from bankwise.emulator.assembly import Kernel
from bankwise.emulator.counters import Counted
from bankwise.emulator.timing.constants import TIMED_CHIPS
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.emulated_device import EmulatedDevice
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.tuning.attention.tile_by_lanes import TileByLanes
from bankwise.tuning.attention.use_matrix_instructions import UseMatrixInstructions
from bankwise.tuning.programs import program_steps
from bankwise.tuning.programs.pad_heads import PadHeads
from bankwise.tuning.programs.split_keys import SplitKeys

from .test_lane_tiled_attentions import EDITS

Array = npt.NDArray[Any]

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])
SECONDS = 200
"""The longest that a case may take."""
REPETITION = """  %{name}_empty = tensor.empty() : {many}
  %{name}_many = linalg.generic {{indexing_maps = [affine_map<(h, g, x, y) -> (h, x, y)>,
      affine_map<(h, g, x, y) -> (h, g, x, y)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%{name}_few : {few}) outs(%{name}_empty : {many}) {{
    ^bb0(%x: {dtype}, %unused: {dtype}):
      linalg.yield %x : {dtype}
  }} -> {many}
  %{name} = tensor.collapse_shape %{name}_many [[0, 1], [2], [3]] : {many} into {all}
"""
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
        doubled: whether the kernel doubles the result in f32, which it is not itself in.
        by_lanes: whether lanes multiply in the place of matrix instructions, as on CUDA.
        parts: into how many parts the keys are split; 0 where the prediction decides on that.
        padded: of how many elements heads become multiples; 0 where they stay.
        repeated: how many heads share one of K and V, which the program repeats for them; 1 where
            none do.
    """

    chip: str
    attention: Attention
    doubled: bool
    by_lanes: bool
    parts: int = 0
    padded: int = 0
    repeated: int = 1

    @property
    def text(self) -> str:
        text = self.attention.program().source
        if self.repeated > 1:
            text = self._with_repetition(text, "k", self.attention.key)
            text = self._with_repetition(text, "v", self.attention.value)
        if not self.doubled:
            return text
        sizes, dims = self.attention.sizes, self.attention.output.split()
        shape, dtype = "x".join(str(sizes[dim]) for dim in dims), self.attention.dtype
        narrow, wide = f"tensor<{shape}x{dtype}>", f"tensor<{shape}xf32>"
        tail = EPILOGUE.format(narrow=narrow, wide=wide, dtype=dtype, dims=", ".join(dims),
                               parallel=", ".join(['"parallel"'] * len(dims)))  # fmt: skip
        head, _, end = text.rpartition(f"  return %out : {narrow}")
        return head.replace(f" -> {narrow} {{\n", f" -> {wide} {{\n", 1) + tail + end

    def _with_repetition(self, text: str, name: str, dims: str) -> str:
        """Returns MLIR that makes K or V of fewer heads, each of which it repeats."""
        heads, *outer = (self.attention.sizes[dim] for dim in dims.split())
        dtype, groups = self.attention.dtype, heads // self.repeated
        kinds = {
            kind: f"tensor<{'x'.join(map(str, (*shape, *outer)))}x{dtype}>"
            for kind, shape in (
                ("few", (groups,)),
                ("many", (groups, self.repeated)),
                ("all", (heads,)),
            )
        }
        made = REPETITION.format(name=name, dtype=dtype, **kinds)
        argument = f"%{name}: {kinds['all']}"
        assert text.count(argument) == 1
        head, _, body = text.replace(argument, f"%{name}_few: {kinds['few']}").partition("{\n")
        return f"{head}{{\n{made}{body}"

    def inputs(self) -> list[Array]:
        """Returns normal values, and masks that show each row a key."""
        drawn = self.attention.program().draw_inputs()
        drawn[1:3] = [each[: len(each) // self.repeated] for each in drawn[1:3]]
        if self.attention.mask_dtype == "i1" and self.attention.mask:
            drawn[-1][..., 0] = True
        return drawn

    def expected(self, inputs: list[Array]) -> Array:
        query, key, value, *mask = inputs
        many = [each.repeat(self.repeated, axis=0) for each in (key, value)]
        (output,) = self.attention.program().expected([query, *many, *mask])
        return output * (2.0 if self.doubled else 1.0)


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
    repeated = draw(st.sampled_from([1, 2, 3, 4])) if len(batch) == 1 else 1
    batch |= {"b": batch["b"] * repeated} if repeated > 1 else {}
    rows, keys, head = (draw(size) for _ in range(3))
    parts = draw(st.sampled_from([0, 0, 2, 3, 4, 7]))
    # iree-compile crashes on attentions with one key.
    keys = max(keys, 2) if not parts else parts * max(keys // parts, 2)
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
    chip, coin = draw(st.sampled_from(TIMED_CHIPS)), draw(st.booleans())
    padded = draw(st.sampled_from([0, 0, 8, 16]))
    by_lanes = coin and dtype == "f32"
    parts = 0 if by_lanes else parts
    return Case(chip, attention, coin and dtype != "f32", by_lanes, parts, padded, repeated)


def _joined(batch: list[str], dims: tuple[str, str], beside: bool) -> str:
    """Returns the dimensions of an operand; heads lie beside columns, or before rows."""
    if beside and len(batch) > 1:
        first = [] if "g" in batch or batch == ["h"] else batch[:1]
        return " ".join([*first, dims[0], *batch[len(first) :], dims[1]])
    return " ".join([*batch, *dims])


def outcome_elsewhere(case: Case, mode: str = "auto/fast") -> dict[str, float] | None:
    """Returns what a run in another process shows; None if it ends that.

    The process is no copy of this one, whose compiler may have threads that hold locks.
    """
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=_send_outcome, args=(case, mode, sender))
    process.start()
    sender.close()
    try:
        assert receiver.poll(SECONDS), "the case does not end"
        return receiver.recv()
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def _send_outcome(case: Case, mode: str, sender: Connection) -> None:
    sender.send(_outcome(case, mode))


def _outcome(case: Case, mode: str) -> dict[str, float]:
    """Returns what a run of a case shows."""
    devices: list[EmulatedDevice] = []

    def device(kernels: Mapping[str, Kernel]) -> EmulatedDevice:
        devices.append(EmulatedDevice(kernels))
        return devices[-1]

    inputs, log = case.inputs(), DecisionLog()
    is_stock = mode == "stock"
    padding = (PadHeads(multiple=case.padded),) if case.padded else ()
    passes = (*padding, SplitKeys(parts=case.parts))
    changing = patch.object(program_steps, "program_passes", lambda mode: passes)
    with nullcontext() if is_stock else changing:
        done = run_emulated(
            case.text,
            target_flags(case.chip),
            mode,
            inputs,
            edits=EDITS if case.by_lanes and not is_stock else (),
            decisions=log,
            device=device,
        )
    splits = sum(each.action is Action.SPLIT for each in log)
    # Where the prediction decides, it may split the keys on these chips, too.
    assert splits in ((0,) if is_stock else (1,) if case.parts else (0, 1))
    tiling = {TileByLanes.name, UseMatrixInstructions.name}
    return {
        "error": largest_error(done.outputs[0], case.expected(inputs)),
        "matrix": done.counters[Counted.MFMA],
        "tiled": sum(each.pass_name in tiling for each in log if each.action is Action.RETILE),
        "out of range": devices[0].memory.out_of_range,
    }
