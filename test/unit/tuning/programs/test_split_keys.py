# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When `bankwise-split-keys` splits keys, and into how many parts."""

from __future__ import annotations

import pytest

from bankwise.bench.gpu.timed_sets import model_attention
from bankwise.passes.base import PassOptionError
from bankwise.passes.decisions import Action
from bankwise.tuning.programs import key_splits
from bankwise.tuning.programs.program_attention import ATTENTION, ProgramAttention
from bankwise.tuning.programs.split_keys import SplitKeys

from ...functions import Parsed, PassRun, parse, run

_MMA = {
    "sm_80": "NV_MMA_SYNC_F32_16x8x16_F16",
    "sm_89": "NV_MMA_SYNC_F32_16x8x16_F16",
    "gfx942": "MFMA_F32_16x16x16_F16",
    "sm_120": "NV_MMA_SYNC_F32_16x8x16_F16",
}


def program(
    arch: str, batch: int, rows: int, head: int, keys: int, group: int = 1, mask: str = ""
) -> Parsed:
    """Returns a program for devices, as IREE has it before it forms dispatches."""
    source = model_attention(batch, rows, head, keys=keys, group=group, mask=mask).program().source
    devices = (
        f"util.global private @__device_{number} = {_device(each)}"
        for number, each in enumerate(arch.split())
    )
    return parse("\n".join(("module {", *devices, source, "}")))


def _device(arch: str) -> str:
    return (
        '#hal.device.target<"cuda", [#hal.executable.target<"cuda", "cuda-nvptx-fb", '
        f'{{iree_codegen.target_info = #iree_gpu.target<arch = "{arch}", features = "", '
        "wgp = <compute = fp32, storage = b32, subgroup = none, "
        f"mma = [<{_MMA[arch]}>], subgroup_size_choices = [32], "
        "max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, "
        "max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>}>]> "
        ": !hal.device"
    )


def split(parsed: Parsed, chosen: SplitKeys | None = None, configured: str = "") -> PassRun:
    return run(parsed, chosen or SplitKeys(), configured=configured)


@pytest.mark.parametrize(
    ("sizes", "keys", "group", "parts"),
    [
        # On 132 multiprocessors, workgroups of 64 rows are 16, and those of 32 rows 32.
        ((8, 128, 128), 8192, 1, 16),
        ((32, 16, 128), 4096, 1, 16),
        ((32, 1, 128), 4096, 1, 16),
        # Eight heads of K and V have four rows each.
        ((32, 1, 128), 8192, 4, 32),
        # 3000 keys are not divided by a higher power of two than 8.
        ((16, 2, 96), 3000, 1, 24),
    ],
)
def test_few_rows_are_split_over_the_multiprocessors(
    sizes: tuple[int, ...], keys: int, group: int, parts: int
) -> None:
    parsed = program("sm_80", *sizes, keys=keys, group=group)
    decision = split(parsed).decision
    assert decision.action is Action.SPLIT
    assert decision.detail == f"{parts} parts"
    assert not parsed.operations(ATTENTION)


@pytest.mark.parametrize(
    ("sizes", "keys", "reason"),
    [
        ((64, 2048, 128), 2048, "keys in 2 parts are predicted to take"),
        ((2, 16, 64), 8191, "8191 keys are no 2 to 32 equal parts of 32"),
        ((2, 16, 64), 48, "48 keys are no 2 to 32 equal parts of 32"),
    ],
)
def test_whatever_gains_nothing_keeps_its_keys(
    sizes: tuple[int, ...], keys: int, reason: str
) -> None:
    parsed = program("sm_80", *sizes, keys=keys)
    found = split(parsed)
    assert not found.decisions
    assert reason in found.messages[0]
    assert parsed.operations(ATTENTION)


def test_a_gpu_that_was_modelled_exactly_splits_keys_where_much_is_saved() -> None:
    assert split(program("gfx942", 8, 128, 128, keys=8192)).decision.action is Action.SPLIT


def test_a_gpu_that_was_compared_with_nothing_is_asked_for() -> None:
    parsed = program("sm_89", 8, 128, 128, keys=8192)
    (message,) = split(parsed).messages
    assert "; no time was measured on sm_89, and --bankwise-retile=on does so anyway" in message
    assert split(parsed, SplitKeys(unmeasured=True)).decision.action is Action.SPLIT


def test_a_gpu_without_a_model_keeps_its_keys() -> None:
    parsed = program("sm_120", 8, 128, 128, keys=8192)
    assert split(parsed).messages == ["keys are not split: there is no prediction for the GPU"]


def test_a_configuration_of_the_user_stands() -> None:
    parsed = program("sm_80", 8, 128, 128, keys=8192)
    assert split(parsed, configured="it is yours").messages == ["keys are not split: it is yours"]


def test_devices_of_two_kinds_have_no_common_prediction() -> None:
    message = "keys are not split: there is no prediction for the GPU"
    assert split(program("sm_80 gfx942", 8, 128, 128, keys=8192)).messages == [message]
    twice = program("sm_80 sm_80", 8, 128, 128, keys=8192)
    assert split(twice).decision.action is Action.SPLIT


def test_one_part_is_no_split() -> None:
    with pytest.raises(PassOptionError, match="expects 0, or a number above 1"):
        SplitKeys(parts=1)


def test_rows_behind_repeated_keys_are_those_of_a_group() -> None:
    parsed = parse(
        """
        func.func @f(%q: tensor<8x1x64xf16>, %k: tensor<2x128x64xf16>, %s: f16)
            -> tensor<8x1x64xf16> {
          %e = tensor.empty() : tensor<8x1x64xf16>
          %four = tensor.empty() : tensor<2x4x128x64xf16>
          %r = linalg.generic {
              indexing_maps = [affine_map<(h, g, k, d) -> (h, k, d)>,
                               affine_map<(h, g, k, d) -> (h, g, k, d)>],
              iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
              ins(%k : tensor<2x128x64xf16>) outs(%four : tensor<2x4x128x64xf16>) {
            ^bb0(%x: f16, %y: f16):
              linalg.yield %x : f16
          } -> tensor<2x4x128x64xf16>
          %c = tensor.collapse_shape %r [[0, 1], [2], [3]]
              : tensor<2x4x128x64xf16> into tensor<8x128x64xf16>
          %o = iree_linalg_ext.attention <{indexing_maps = [
              affine_map<(b, m, n, d, k) -> (b, m, d)>, affine_map<(b, m, n, d, k) -> (b, k, d)>,
              affine_map<(b, m, n, d, k) -> (b, k, n)>, affine_map<(b, m, n, d, k) -> ()>,
              affine_map<(b, m, n, d, k) -> (b, m, n)>]}>
              ins(%q, %c, %c, %s : tensor<8x1x64xf16>, tensor<8x128x64xf16>,
                  tensor<8x128x64xf16>, f16) outs(%e : tensor<8x1x64xf16>) {
            ^bb0(%x: f32):
              iree_linalg_ext.yield %x : f32
          } -> tensor<8x1x64xf16>
          return %o : tensor<8x1x64xf16>
        }"""
    )
    (operation,) = parsed.operations(ATTENTION)
    found = ProgramAttention.of(operation)
    assert found.sizes(found.order) == [2, 4, 1, 64, 64, 128]
    assert found.sizes(found.parts.rows) == [4, 1]
    assert found.sizes(found.parts.batch) == [2]
    assert found.sizes(found.inputs[1].dims) == [2, 128, 64]


_REPEATED = """
func.func @attention(%q: tensor<32x1x128xf16>, %k: tensor<8x4096x128xf16>) -> tensor<32x1x128xf16> {
  %e = tensor.empty() : tensor<8x4x4096x128xf16>
  %r = linalg.generic {
      indexing_maps = [affine_map<(a, b, c, d) -> (a, c, d)>,
                       affine_map<(a, b, c, d) -> (a, b, c, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k : tensor<8x4096x128xf16>) outs(%e : tensor<8x4x4096x128xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<8x4x4096x128xf16>
  %c = tensor.collapse_shape %r [[0, 1], [2], [3]]
      : tensor<8x4x4096x128xf16> into tensor<32x4096x128xf16>
  %scale = arith.constant 1.0 : f16
  %o = tensor.empty() : tensor<32x1x128xf16>
  %a = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>,
      affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>,
      affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}>
      ins(%q, %c, %c, %scale
          : tensor<32x1x128xf16>, tensor<32x4096x128xf16>, tensor<32x4096x128xf16>, f16)
      outs(%o : tensor<32x1x128xf16>) {
  ^bb0(%s: f32):
    iree_linalg_ext.yield %s : f32
  } -> tensor<32x1x128xf16>
  return %a : tensor<32x1x128xf16>
}
"""


def test_heads_that_are_repeated_have_the_rows_of_what_they_are_made_from() -> None:
    device = f"util.global private @__device_0 = {_device('sm_80')}"
    parsed = parse(f"module {{\n{device}\n{_REPEATED}\n}}")
    assert split(parsed).decision.detail == "32 parts"
    (attention,) = parsed.operations("iree_linalg_ext.online_attention")
    assert "ins(%" in str(attention)
    assert "tensor<8x32x128x128xf16>" in str(attention)


def test_layers_that_are_alike_are_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(key_splits, "_predicted", {})
    predict = key_splits._predict
    monkeypatch.setattr(
        key_splits, "_predict", lambda *args: asked.append(len(args[1])) or predict(*args)
    )
    for keys in (8192, 8192, 4096, 8192):
        split(program("sm_80", 8, 128, 128, keys=keys))
    split(program("sm_80", 8, 128, 128, keys=8192, mask="f16"))
    split(program("sm_89", 8, 128, 128, keys=8192))
    assert len(asked) == 4
