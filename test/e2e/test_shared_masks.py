# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions with copies of a mask for all heads, as exporters write them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.python_compile import compile
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

_SEQUENCES, _HEADS, _ROWS, _KEYS, _HEAD = 2, 3, 40, 72, 64
_SHAPE = (_SEQUENCES, _HEADS, _ROWS, _KEYS)
_LOOPS = "bhmk"


def _attention(read: str, element: str) -> str:
    """Returns an attention whose mask is computed for some of its loops, and copied for the others.

    A key with a number below 0.5 is there where the mask is of i1; else that is added to its score.
    """
    sizes = dict(zip(_LOOPS, _SHAPE, strict=True))
    shape = "x".join(str(sizes[each]) for each in read)
    source, dims = f"{shape}x{element}", ", ".join(read)
    body = {
        "i1": "%h = arith.constant 0.5 : f16\n    %z = arith.cmpf olt, %x, %h : f16",
        "f16": "%z = arith.addf %x, %x : f16",
    }[element]
    copied = "x".join([*map(str, _SHAPE), element])
    heads = _SEQUENCES * _HEADS
    mask, q, k = (f"{heads}x{each}" for each in (f"{_ROWS}x{_KEYS}x{element}", _ROWS, _KEYS))
    return f"""
func.func @main(%q: tensor<{q}x{_HEAD}xf16>, %k: tensor<{k}x{_HEAD}xf16>,
                %v: tensor<{k}x{_HEAD}xf16>, %bias: tensor<{shape}xf16>)
    -> tensor<{q}x{_HEAD}xf16> {{
  %scale = arith.constant 0.125 : f16
  %c = tensor.empty() : tensor<{source}>
  %mask = linalg.generic {{
      indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ({dims})>],
      iterator_types = [{", ".join(['"parallel"'] * len(read))}]}}
      ins(%bias : tensor<{shape}xf16>) outs(%c : tensor<{source}>) {{
  ^bb0(%x: f16, %y: {element}):
    {body}
    linalg.yield %z : {element}
  }} -> tensor<{source}>
  %e = tensor.empty() : tensor<{copied}>
  %copies = linalg.generic {{
      indexing_maps = [affine_map<(b, h, m, k) -> ({dims})>,
                       affine_map<(b, h, m, k) -> (b, h, m, k)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%mask : tensor<{source}>) outs(%e : tensor<{copied}>) {{
  ^bb0(%x: {element}, %y: {element}):
    linalg.yield %x : {element}
  }} -> tensor<{copied}>
  %m = tensor.collapse_shape %copies [[0, 1], [2], [3]] : tensor<{copied}> into tensor<{mask}>
  %o = tensor.empty() : tensor<{q}x{_HEAD}xf16>
  %r = iree_linalg_ext.attention <{{indexing_maps = [
      affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>,
      affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>,
      affine_map<(b, m, k1, k2, n) -> (b, m, k2)>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}}>
      ins(%q, %k, %v, %scale, %m : tensor<{q}x{_HEAD}xf16>, tensor<{k}x{_HEAD}xf16>,
          tensor<{k}x{_HEAD}xf16>, f16, tensor<{mask}>) outs(%o : tensor<{q}x{_HEAD}xf16>) {{
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  }} -> tensor<{q}x{_HEAD}xf16>
  return %r : tensor<{q}x{_HEAD}xf16>
}}
"""


def _expected(
    q: npt.NDArray[np.float16],
    k: npt.NDArray[np.float16],
    v: npt.NDArray[np.float16],
    bias: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    scores = q.astype(float) @ k.astype(float).transpose(0, 2, 1) * 0.125
    scores += np.broadcast_to(bias, _SHAPE).reshape(scores.shape)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights @ v.astype(float) / weights.sum(-1, keepdims=True)


@pytest.mark.sampled("read", "element", "target", every=4)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("element", ["i1", "f16"])
@pytest.mark.parametrize("read", ["bmk", "hmk", "mk"])
def test_outputs_are_those_of_the_copies(read: str, element: str, target: str) -> None:
    random = np.random.default_rng(12)
    heads = _SEQUENCES * _HEADS
    shapes = ((heads, size, _HEAD) for size in (_ROWS, _KEYS, _KEYS))
    q, k, v = (random.standard_normal(each).astype(np.float16) for each in shapes)
    shape = tuple(_SHAPE[_LOOPS.index(each)] for each in read)
    bias = random.standard_normal(shape).astype(np.float16)
    ran = run_emulated(
        _attention(read, element), target_flags(target), "auto/fast", [q, k, v, bias]
    )
    assert ran.counters[Counted.MFMA] > 0
    added = np.where(bias < 0.5, 0.0, -np.inf) if element == "i1" else 2 * bias.astype(float)
    where = [slice(None) if each in read else np.newaxis for each in _LOOPS]
    expected = _expected(q, k, v, added[tuple(where)])
    np.testing.assert_allclose(ran.outputs[0], expected, rtol=4e-3, atol=4e-3)


def test_no_copy_is_written_at_fast() -> None:
    attention, flags = _attention("bmk", "i1"), target_flags("sm_80")
    with pytest.warns(UserWarning, match="scalar instructions"):
        assert b"elementwise_broadcast_2x3x2880_" in compile(attention, flags, "auto/exact")
    assert b"elementwise_5760_" in compile(attention, flags, "auto/fast")
