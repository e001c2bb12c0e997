# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes for NVIDIA GPUs that any GPU can run: on the emulator their outputs keep every bit."""

from __future__ import annotations

import numpy as np
import pytest
from ml_dtypes import bfloat16

from bankwise.bench.program_families.attention import Attention
from bankwise.emulator.counters import Counted
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.passes.swizzles.hint_vector_allocs import HintVectorAllocs
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.tuning.arithmetic.native_exp2 import NativeExp2
from bankwise.tuning.attention.peel_last_step import PeelLastStep
from bankwise.tuning.copies.share_copies import ShareCopies
from bankwise.tuning.registers.transpose_tiles import TransposeTiles
from bankwise.tuning.shapes.restore_shapes import RestoreShapes

from .program_runs import run_again
from .test_odd_attentions import source

# As there, tiles are no memory with hints yet when copies are shared, and lanes copy rows of V.
PLAIN = (PipelineEdit.replace(HintVectorAllocs.name), PipelineEdit.replace(TransposeTiles.name))
SHARED = PipelineEdit.before(RestoreShapes.name, ShareCopies())
PEELED = PipelineEdit.before(NativeExp2.name, PeelLastStep())


@pytest.mark.nightly
@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("sizes", "dtype", "mask", "ends_inside"),
    [
        # Rows begin at multiples of 8 bytes; all keys are one step.
        ((33, 77, 100, 20), "f16", True, False),
        # Rows are 9 and 11 times 16 bytes long, and rows of the tile in the LDS are longer.
        ((128, 256, 72, 72), "f16", False, False),
        ((64, 300, 88, 40), "bf16", True, True),
        # Keys end inside a step. A row of the tile is 12 copies long, of which the 128 lanes of two
        # warps do not make whole rows at once; the 192 of three do, and are left alone.
        ((32, 200, 80, 80), "f16", False, True),
        # Rows begin at multiples of 2 bytes; all keys are several steps.
        ((20, 150, 75, 41), "f16", False, True),
    ],
)
def test_shared_copies_and_peeled_steps_keep_every_bit(
    sizes: tuple[int, int, int, int], dtype: str, mask: bool, ends_inside: bool
) -> None:
    rows, keys, head, columns = sizes
    random = np.random.default_rng(3)
    shapes = [(1, rows, head), (1, keys, head), (1, keys, columns), (1, rows, keys)]
    kind = np.dtype(np.float16) if dtype == "f16" else np.dtype(bfloat16)
    inputs = [random.standard_normal(each).astype(kind) for each in shapes[: 3 + mask]]
    text, flags = source(*sizes, dtype, mask, batch=1), target_flags("gfx942")
    before, shared, peeled = (
        run_emulated(text, flags, "auto/fast/off", inputs, edits=edits)
        for edits in (PLAIN, (*PLAIN, SHARED), (*PLAIN, PEELED))
    )
    for other in (shared, peeled):
        assert other.outputs[0].tobytes() == before.outputs[0].tobytes()
    # Of odd rows each of fewer loads, by words, touches several blocks.
    fewer, shorter = Counted.LDS if head % 2 else Counted.TRANSACTIONS, Counted.VALU
    assert shared.counters[fewer] < before.counters[fewer]
    assert (peeled.counters[shorter] < before.counters[shorter]) == ends_inside


@pytest.mark.nightly
@pytest.mark.parametrize("keys", [0, 20, 150, 256])
def test_peeled_steps_of_a_dynamic_number_of_keys_keep_every_bit(keys: int) -> None:
    sizes = {"b": 1, "m": 20, "n": 64, "k1": 64, "k2": keys}
    program = Attention("", "f16", sizes, dynamic="m k2").program()
    random = np.random.default_rng(3)
    inputs = [random.standard_normal((1, each, 64)).astype(np.float16) for each in (20, keys, keys)]
    before, peeled = (
        run_again(program, mode="auto/fast/off", inputs=inputs, edits=edits)
        for edits in (PLAIN, (*PLAIN, PEELED))
    )
    assert peeled.bits == before.bits
    if keys == 256:
        assert peeled.run.counters[Counted.VALU] < before.run.counters[Counted.VALU]
