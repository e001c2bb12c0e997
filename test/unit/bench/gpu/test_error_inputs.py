# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/error_inputs: what the inputs do to the scores of each attention."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bench.gpu.elements import F64, STORAGE, values
from bankwise.bench.gpu.error_inputs import ERROR_INPUTS, kinds_of, made_inputs
from bankwise.bench.gpu.error_kernels import sources
from bankwise.bench.gpu.kernels import TimedKernel

KERNELS = [kernel for kernel in sources() if "x1024x" not in kernel.name]
EACH = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.label)
PLAIN = [kernel for kernel in KERNELS if len(kernel.operands) == 3]
EACH_PLAIN = pytest.mark.parametrize("kernel", PLAIN, ids=lambda kernel: kernel.label)


def scores(kernel: TimedKernel, kind: str) -> F64:
    assert kernel.scale is not None
    q, k = (values(each) for each in made_inputs(kernel, kind)[:2])
    return q @ k.transpose(0, 2, 1) * kernel.scale


@EACH
def test_operands_have_the_shapes_and_the_type_of_the_kernel(kernel: TimedKernel):
    for kind in kinds_of(kernel):
        operands = made_inputs(kernel, kind)
        assert tuple(each.shape for each in operands) == kernel.shapes
        assert {each.dtype for each in operands} == {np.dtype(STORAGE[kernel.dtype])}
        assert not any(np.isnan(values(each)).any() for each in operands)
        again = made_inputs(kernel, kind)
        assert all(np.array_equal(a, b) for a, b in zip(operands, again, strict=True))


def test_every_kind_is_used():
    assert {kind for kernel in KERNELS for kind in kinds_of(kernel)} == {*ERROR_INPUTS}


@EACH_PLAIN
def test_one_large_score_dominates(kernel: TimedKernel):
    found = scores(kernel, "large")
    assert 300 < np.abs(found).max() < 1000
    most = np.partition(found, -2)[..., -2:]
    weights = 1 / (1 + np.exp(most[..., 0] - most[..., 1]))
    assert np.median(weights) > 0.999


@EACH_PLAIN
def test_equal_scores_are_equal(kernel: TimedKernel):
    q, k, v = map(values, made_inputs(kernel, "equal"))
    assert (k == k[:, :1]).all() and k[:, 0].std() > 0.8
    assert kernel.shapes[0][0] == 1 or not (k[0] == k[1]).all()
    assert q.std() > 0.9 and v.std() > 0.9


@EACH_PLAIN
def test_tiny_weights_reach_subnormal_numbers(kernel: TimedKernel):
    found = scores(kernel, "tiny")
    found -= found.max(-1, keepdims=True)
    spreads = -found.min(-1)
    assert (spreads > 75).all() and (spreads < 115).all()
    smallest = {"f16": 2.0**-14, "f32": 2.0**-126}
    assert ((np.exp(found) < smallest["f16"]).sum(-1) > kernel.shapes[0][1] / 2).all()
    assert (np.exp(found) < smallest["f32"]).any(-1).mean() > 0.2
    # In even rows each part of the keys has high scores, in odd rows the later the higher.
    even, odd = (found[:, start::2].mean((0, 1)) for start in (0, 1))
    places = np.arange(len(even))
    assert abs(np.corrcoef(even, places)[0, 1]) < 0.2
    assert np.corrcoef(odd, places)[0, 1] > 0.99


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k not in PLAIN], ids=lambda k: k.label)
def test_masks_hide_keys(kernel: TimedKernel):
    mask = values(made_inputs(kernel, "masked")[3])
    assert {*np.unique(mask)} == {0, -np.inf}
    seen = (mask == 0).sum(-1)
    keys = mask.shape[-1]
    assert 0.01 < (seen == 0).mean() < 0.06
    assert 0.08 < (seen == 1).mean() < 0.17
    half = seen[seen > 1]
    assert half.min() > 0.35 * keys and half.max() < 0.65 * keys
    # The one key that a row sees is not always in the same tile.
    only = mask[seen == 1].argmax(-1)
    assert only.min() < keys / 4 and only.max() > 3 * keys / 4
