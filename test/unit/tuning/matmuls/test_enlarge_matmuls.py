# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tiles matmuls get whose sizes no tile divides, and whether they keep them."""

from __future__ import annotations

import re

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.copy_slots import noted_slots
from bankwise.dialect_utils.described_tiles import has_described_tile
from bankwise.tuning.costs.tile_cost import MatmulTile, matmul_work
from bankwise.tuning.matmuls.dynamic_matmuls import ScalarLoops, fastest, predicted_logarithms
from bankwise.tuning.matmuls.enlarge_matmuls import EnlargeMatmuls
from bankwise.tuning.matmuls.enlarged_tiles import best_enlarged
from bankwise.tuning.matmuls.lane_matmuls import lane_tilings
from bankwise.tuning.matmuls.matmul_tiles import padded_matmul as padded
from bankwise.tuning.matmuls.matmul_tiles import warp_tiled_matmul
from bankwise.tuning.retile import Retile
from bankwise.tuning.tiles.tiled_operation import Circumstances

from ...functions import PassRun, gpu_target, launched, parse, run

Shape = tuple[int, int, int]


def padded_matmul(shape: Shape, *, arch: str, transposed: bool) -> str:
    """Returns a matmul A (m, k) * B (k, n), or B (n, k), as IREE pads it for a GPU of NVIDIA."""
    m, n, k = shape
    b_shape, b_map = ((n, k), "(n, k)") if transposed else ((k, n), "(k, n)")
    shapes = {"a": ((m, k), "f16"), "b": (b_shape, "f16"), "c": ((m, n), "f32")}
    types = {name: f"{'x'.join(map(str, dims))}x{kind}" for name, (dims, kind) in shapes.items()}
    binding = "#hal.pipeline.binding<storage_buffer>"
    layout = f"#hal.pipeline.layout<bindings = [{binding}, {binding}, {binding}]>"
    bindings = "\n".join(
        f"  %b{name} = hal.interface.binding.subspan layout({layout}) binding({number}) "
        f"offset(%zero) : memref<{types[name]}>"
        for number, name in enumerate(types)
    )
    loads = "\n".join(
        f"  %{name} = iree_codegen.load_from_buffer %b{name} : memref<{types[name]}> "
        f"-> tensor<{types[name]}>"
        for name in "ab"
    )
    maps = ", ".join(f"affine_map<(m, n, k) -> {each}>" for each in ("(m, k)", b_map, "(m, n)"))
    config = (
        "convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, "
        "padding = [64, 64, 128], promote_operands = [0, 1], reduction = [0, 0, 8], "
        "subgroup = [2, 4, 0], workgroup = [64, 64, 0]"
    )
    a, b, c = (f"tensor<{types[name]}>" for name in "abc")
    lds_bytes = 232448 if arch == "sm_90a" else 166912
    return f"""
func.func @f() attributes {{{gpu_target(arch, lds_bytes)},
    {launched("128, 1, 1", 32, pipeline="TileAndFuse")}}} {{
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
{bindings}
{loads}
  %empty = tensor.empty() : {c}
  %fill = linalg.fill ins(%none : f32) outs(%empty : {c}) -> {c}
  %r = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {a}, {b}) outs(%fill : {c})
      attrs = {{lowering_config = #iree_gpu.lowering_config<{{{config}}}>}} {{
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  }} -> {c}
  iree_codegen.store_to_buffer %r, %bc : {c} into memref<{types["c"]}>
  return
}}"""


def tiled(shape: Shape, *, arch: str, transposed: bool) -> tuple[MatmulTile, bool, PassRun]:
    """Returns the tile that both passes give a matmul, with its slots, whether it was chosen for
    descriptors, and what the passes recorded."""
    parsed = parse(padded_matmul(shape, arch=arch, transposed=transposed))
    found = run(parsed, EnlargeMatmuls(), Retile())
    matmul = warp_tiled_matmul(parsed.function)
    assert matmul is not None and matmul.tile.slots == noted_slots(parsed.function)
    return matmul.tile, has_described_tile(parsed.function), found


@pytest.mark.parametrize(("arch", "rows"), [("sm_90a", 128), ("sm_80", 96)])
def test_whole_tiles_of_fewer_rows_are_enlarged_for_descriptors(arch: str, rows: int) -> None:
    """f16 96x3072x8192 takes 49 us on an H200 in 32 x 128 by `mma.sync`, and no tile of 64 rows
    divides it."""
    text = padded_matmul((96, 3072, 8192), arch=arch, transposed=True)
    text = text.replace("padding = [64, 64, 128], ", "").replace("[64, 64, 0]", "[32, 64, 0]")
    parsed = parse(text.replace("subgroup = [2, 4, 0]", "subgroup = [1, 4, 0]"))
    run(parsed, EnlargeMatmuls(), Retile())
    matmul = warp_tiled_matmul(parsed.function)
    assert matmul is not None and matmul.rows == rows
    assert has_described_tile(parsed.function) == (arch == "sm_90a")
    assert matmul.tile.slots == noted_slots(parsed.function)


GELU = """%g = tensor.empty() : TYPE
  %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%r : TYPE) outs(%g : TYPE) {
  ^bb0(%v: f32, %w: f32):
    %0 = math.erf %v : f32
    %1 = arith.mulf %v, %0 : f32
    linalg.yield %1 : f32
  } -> TYPE
  iree_codegen.store_to_buffer %y,"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("shape", [(25088, 384, 96), (8192, 2048, 256), (12544, 768, 192)])
def test_a_lane_has_fewer_results_where_it_computes_much_with_each(arch: str, shape: Shape) -> None:
    """f16 25088x384x96 with GELU takes 83.9 us on an H200 with 128 results a lane, and 41.8 with
    32; without GELU 18.8 and 16.9."""
    text = padded_matmul(shape, arch=arch, transposed=True).replace("padding = [64, 64, 128], ", "")
    kind = f"tensor<{shape[0]}x{shape[1]}xf32>"
    gelu = text.replace("iree_codegen.store_to_buffer %r,", GELU.replace("TYPE", kind))
    parsed = parse(gelu.replace("reduction = [0, 0, 8]", "reduction = [0, 0, 2]"))
    run(parsed, EnlargeMatmuls(), Retile())
    matmul = warp_tiled_matmul(parsed.function)
    assert matmul is not None
    assert matmul.tile.rows * matmul.tile.columns <= 48 * 32 * matmul.tile.warps


SHAPES = [
    (333, 2048, 5632),
    (100, 4096, 4096),
    (500, 3072, 768),
    (200, 768, 3072),
    (65, 1024, 4096),
]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", SHAPES[:4])
def test_few_and_ragged_rows_are_multiplied_by_descriptors(shape: Shape, transposed: bool) -> None:
    """Each of these takes less time by `wgmma` on an H200, in rows of 64, than by `mma.sync`."""
    tile, described, _ = tiled(shape, arch="sm_90a", transposed=transposed)
    assert described and tile.column_warps == 1 and tile.warp_rows == 16
    # One workgroup for each of 132 multiprocessors at most: a second one would wait for the first.
    workgroups = -(-shape[0] // tile.rows) * -(-shape[1] // tile.columns)
    assert workgroups <= 132
    assert tile.slots >= 3


def test_what_is_about_as_fast_by_lanes_goes_by_descriptors() -> None:
    """f16 72x5120x5120 takes 39.6 us on an H200 by `mma.sync` in 32 x 128, and 33.3 in 64 x 128."""
    tile, described, _ = tiled((72, 5120, 5120), arch="sm_90a", transposed=False)
    assert described and tile.rows == 64


IMAGES = {
    # 64 channels of 8 images of 58 x 58, in windows of 3 x 3.
    (64, 25088, 576): "[64, 3364, 3, 58, 3, 1], [8, 215296, 56, 58, 56, 1]",
    # 1280 channels of 3002 places, in windows of 3, of which every second one is taken.
    (1280, 1500, 3840): "[1280, 3002, 3, 1], [1500, 2]",
    # 256 channels of 8 images of 16 x 16, in windows of 3 x 3.
    (256, 1568, 2304): "[256, 256, 3, 16, 3, 1], [8, 65536, 14, 16, 14, 1]",
    # 512 channels of 8 images of 28 x 28, of which every second row and column is taken.
    (1024, 1568, 512): "[512, 784], [8, 401408, 14, 56, 14, 2]",
    # 256 channels of 8 images of 56 x 56, as the last ones.
    (512, 6272, 256): "[256, 3136], [8, 802816, 28, 112, 28, 2]",
}
"""Convolutions as matmuls, and how the elements of their images lie."""


def of_image(shape: Shape, arch: str) -> str:
    """Returns a matmul whose B is an image that a convolution of f16 multiplies by."""
    dims = IMAGES[shape].replace("[", "array<i64: ").replace("]", ">")
    elements = {64: 1722368, 1280: 3842560, 256: 524288, 1024: 3211264, 512: 6422528}[shape[0]]
    strided = (
        f"{{bankwise.strided = {{dims = [{dims}], elements = {elements} : i64, offset = 0 : i64}}}}"
    )
    text = padded_matmul(shape, arch=arch, transposed=False)
    return text.replace(
        "binding(1) offset(%zero)", f"binding(1) alignment(64) offset(%zero) {strided}"
    )


@pytest.mark.parametrize(
    ("shape", "slow", "fast"),
    [
        # Microseconds on an H200: 479 and 158, 33 and 22 with single elements, 49 and 31.
        ((1280, 1500, 3840), (64, 256, 64, 4, 1), (128, 64, 64, 8, 1)),
        ((64, 25088, 576), (64, 256, 64, 4, 1), (64, 64, 64, 4, 1)),
        ((256, 1568, 2304), (64, 64, 64, 4, 1), (64, 32, 128, 4, 1)),
    ],
)
def test_tiles_whose_images_fill_registers_are_predicted_to_be_slow(
    context: ir.Context, shape: Shape, slow: tuple[int, ...], fast: tuple[int, ...]
) -> None:
    parsed = parse(of_image(shape, "sm_90a"))
    matmul = padded(parsed.function)
    known = Circumstances.of(parsed.function, None, other_order=False, overlap=True)
    assert matmul is not None and known is not None
    tiles = (matmul.enlarged(MatmulTile(*each)) for each in (slow, fast))
    times = [known.time(known.work(each, each.tile)) for each in tiles]
    assert times[0] > 1.05 * times[1]


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        # Microseconds on an H200: 97 and, with 256 x 32 and 64 a step by `mma.sync`, 120.
        ((1280, 1500, 3840), (128, 64, 64, 8, 1)),
        # 18.8, with 128 x 64 and 128 a step 22.2, and with 128 x 32 by `mma.sync` 20.9.
        ((1024, 1568, 512), (128, 128, 128, 8, 1)),
        # 18.1, with 128 summed elements a step 20.1, and with code for sm_80 19.9.
        ((512, 6272, 256), (128, 192, 64, 8, 1)),
        # 26.4 to 27.9, and by `mma.sync` 33.1 at best.
        ((256, 1568, 2304), (128, 32, 128, 8, 1)),
    ],
)
def test_images_get_the_tile_that_is_not_slower_than_code_for_sm_80(
    shape: Shape, tile: tuple[int, ...]
) -> None:
    parsed = parse(of_image(shape, "sm_90a"))
    run(parsed, EnlargeMatmuls())
    matmul = warp_tiled_matmul(parsed.function)
    assert matmul is not None and matmul.tile == MatmulTile(*tile)


@pytest.mark.parametrize("shape", IMAGES)
def test_images_are_put_together_in_registers(shape: Shape) -> None:
    """No `cp.async` copies what begins anywhere, so that there are no slots."""
    parsed = parse(of_image(shape, "sm_90a"))
    run(parsed, EnlargeMatmuls())
    assert noted_slots(parsed.function) == 1


@pytest.mark.parametrize(("rows", "described"), [(7, False), (17, False), (33, True)])
def test_rows_that_fill_a_third_of_a_tile_are_multiplied_by_descriptors(
    rows: int, described: bool
) -> None:
    """f16 7x3584x18944 takes 55.9 us on an H200 by `wgmma`, and 54.5 us by `mma.sync`; 33x4096x4096
    takes 14.3 and 21.1 us."""
    assert tiled((rows, 4096, 4096), arch="sm_90a", transposed=True)[1] is described


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_tile_that_was_chosen_with_its_slots_is_kept(
    shape: Shape, arch: str, transposed: bool
) -> None:
    """f16 333x2048x5632, B transposed, takes 42 us on an H200 with 96 x 64 and 4 slots, and 57 us
    with 128 x 64, which was taken because 2 slots were counted."""
    tile, _, found = tiled(shape, arch=arch, transposed=transposed)
    (decision,) = found.decisions
    assert decision.pass_name == EnlargeMatmuls.name
    assert decision.detail == str(tile)


@pytest.mark.parametrize(
    ("shape", "transposed"),
    [
        # Rows of 1,012 and 1,556 bytes are copied by 4 bytes: 20.2 us by `wgmma`, 17.7 otherwise.
        ((1002, 778, 506), False),
        # One step of 64: 7.0 us in 12 batches by `wgmma`, 6.0 otherwise.
        ((197, 197, 64), True),
    ],
)
def test_narrow_copies_and_single_steps_are_not_for_descriptors(
    shape: Shape, transposed: bool
) -> None:
    tile, described, found = tiled(shape, arch="sm_90a", transposed=transposed)
    assert not described
    (decision,) = found.decisions
    assert decision.detail == str(tile)


@pytest.mark.parametrize(("sums", "described"), [(64, False), (96, False), (128, True)])
def test_few_sums_are_not_for_descriptors(sums: int, described: bool) -> None:
    """f16 8192x1024x96 takes 17.3 us on an H200 by `wgmma` and 16.7 otherwise, 6272x512x128 9.1 and
    10.1."""
    assert tiled((6272, 512, sums), arch="sm_90a", transposed=False)[1] is described


def test_warps_that_are_predicted_to_be_equal_multiply_wide_parts() -> None:
    """f16 200x768x3072, B transposed, takes 17.4 us on an H200 by 4 x 1 warps, 21.7 by 2 x 2."""
    tile, _, _ = tiled((200, 768, 3072), arch="sm_80", transposed=True)
    assert str(tile) == "64 x 32, 128 a step, 4 x 1 warps"


def predicted_times(found: PassRun) -> list[float]:
    """Returns the predicted microseconds of the tiles that `bankwise-retile` has kept."""
    stays = "".join(each for each in found.messages if "stays" in each)
    return [float(each) for each in re.findall(r"fastest: ([\d.]+) us", stays)]


@pytest.mark.parametrize("shape", SHAPES)
def test_code_for_sm_90a_is_predicted_to_take_no_longer_than_for_sm_80(shape: Shape) -> None:
    times = [
        predicted_times(tiled(shape, arch=arch, transposed=True)[2]) for arch in ("sm_90a", "sm_80")
    ]
    ((hopper,), (ampere,)) = times
    assert hopper <= ampere


@pytest.mark.parametrize(("shape", "asks"), [((333, 2048, 5632), False), ((333, 2048, 5600), True)])
def test_copies_ask_in_each_step_only_where_the_summed_elements_end(
    shape: Shape, asks: bool
) -> None:
    """5,632 summed elements are 88 steps of 64. Where rows end is known before the first one."""
    parsed = parse(padded_matmul(shape, arch="sm_90a", transposed=False))
    run(parsed, EnlargeMatmuls())
    matmul = warp_tiled_matmul(parsed.function)
    circumstances = Circumstances.of(parsed.function, None, other_order=False, overlap=True)
    assert matmul is not None and circumstances is not None
    assert matmul.rows > shape[0]
    sizes = matmul.rows, matmul.columns, matmul.summed
    for warps, of_copy, of_step in ((4, 7, 42), (2, 5, 0)):
        tile = matmul.tile._replace(rows=64, row_warps=warps, column_warps=4 // warps)
        work = matmul.work(tile, circumstances)
        assert work.described is (warps == 4)
        plain = matmul_work(sizes, tile, circumstances.processor, columns_along_rows=True)
        asked = work.instructions - plain.instructions
        assert asked == (of_copy * work.copies + of_step if asks else 0)


@pytest.mark.parametrize(
    ("shape", "best"),
    [
        # Microseconds on an H200, and with the best other tile that was measured.
        ((140, 12288, 4096), (192, 96, 128, 12, 3)),  # 47.3; 57.0 with 128 x 192
        ((384, 12288, 4096), (192, 192, 128, 12, 2)),  # 75.6; 92.4 with 64 x 192
        ((3000, 3000, 3000), (192, 192, 64, 12, 4)),  # 132.0; 147.5 with 128 x 192
        ((1200, 1200, 1200), (128, 96, 64, 8, 4)),  # 17.9; 18.5 with 64 x 64
        ((333, 2048, 5632), (64, 128, 128, 4, 4)),  # 33.3; 34.3 with 64 x 96
    ],
)
def test_matmuls_by_descriptors_get_the_best_tile_that_was_measured(
    shape: Shape, best: tuple[int, int, int, int, int]
) -> None:
    tile, described, _ = tiled(shape, arch="sm_90a", transposed=False)
    assert described
    assert (tile.rows, tile.columns, tile.summed, tile.warps, tile.slots) == best


def test_copies_write_half_a_cycle_of_the_lds_where_rows_are_narrow() -> None:
    """f16 1536x8960x1536, 128 x 128 by 8 warps, takes 114.8 us on an H200 with 32 summed elements a
    step and 6 slots, 98.6 with 64 and 3."""
    for transposed in (False, True):
        parsed = parse(padded_matmul((1536, 8960, 1536), arch="sm_90a", transposed=transposed))
        run(parsed, EnlargeMatmuls())
        matmul = warp_tiled_matmul(parsed.function)
        circumstances = Circumstances.of(parsed.function, None, other_order=False, overlap=True)
        assert matmul is not None and circumstances is not None
        cut = matmul.tile._replace(rows=128, columns=128, row_warps=8, column_warps=1)
        narrow, wide = (
            matmul.work(cut._replace(summed=summed, slots=slots), circumstances)
            for summed, slots in ((32, 6), (64, 3))
        )
        # Of 64 bytes each 128 rows of A take 64 cycles more, and as many of B that lie so.
        rows = 256 if transposed else 128
        assert narrow.lds_cycles == wide.lds_cycles / 2 + rows / 2
        assert circumstances.time(wide) < 0.95 * circumstances.time(narrow)
        assert circumstances.counted(matmul, narrow) == 1.05 * circumstances.time(narrow)
        assert circumstances.counted(matmul, wide) == circumstances.time(wide)
        # GELU was measured by 8 warps at most, and then by narrow rows, too.
        for warps, doubted in ((8, 1), (12, 1.05)):
            work = narrow._replace(later=2000.0, warps=warps)
            assert circumstances.counted(matmul, work) == doubted * circumstances.time(work)


@pytest.mark.parametrize("rows", [384, 3000])
def test_steps_are_long_only_where_rows_begin_with_sectors(rows: int) -> None:
    """Of 192 x 192, 128 a step takes 0.97 times as long as 64 on an H200 in f16 384x12288x4096, and
    1.28 times in 3000x3000x3000, whose rows have 6,000 bytes."""
    shape = (384, 12288, 4096) if rows == 384 else (3000, 3000, 3000)
    parsed = parse(padded_matmul(shape, arch="sm_90a", transposed=False))
    run(parsed, EnlargeMatmuls())
    matmul = warp_tiled_matmul(parsed.function)
    circumstances = Circumstances.of(parsed.function, None, other_order=False, overlap=True)
    assert matmul is not None and circumstances is not None
    works = [
        matmul.work(
            matmul.tile._replace(
                rows=192, columns=192, summed=summed, slots=slots, row_warps=12, column_warps=1
            ),
            circumstances,
        )
        for summed, slots in ((128, 2), (64, 4))
    ]
    assert [work.within_sectors for work in works] == [rows == 3000] * 2
    long, short = map(circumstances.time, works)
    assert (long < short) == (rows == 384)


@pytest.mark.parametrize(
    ("shape", "transposed"),
    [
        # Microseconds on an H200 by `wgmma`, by `mma.sync`, and with code for sm_80:
        ((385, 1152, 4304), False),  # 23.6, 32.5, 29.3
        ((385, 1152, 4304), True),  # 25.3, 30.0, 31.1
        ((250, 2048, 3000), True),  # 22.2, 26.2, 25.4
        ((512, 2000, 1100), False),  # 15.7, 18.3, 18.3
        ((1000, 3000, 1500), True),  # 42.4, 61.4, 54.1
    ],
)
def test_ragged_sums_are_multiplied_by_descriptors(shape: Shape, transposed: bool) -> None:
    assert tiled(shape, arch="sm_90a", transposed=transposed)[1]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("shape", [(1000, 3072, 768), (77, 768, 3000), (197, 300, 100)])
def test_the_best_tile_is_that_of_all_of_which_times_are_predicted(shape: Shape, arch: str) -> None:
    parsed = parse(padded_matmul(shape, arch=arch, transposed=False))
    matmul = padded(parsed.function)
    circumstances = Circumstances.of(parsed.function, None, other_order=False, overlap=True)
    assert matmul is not None and circumstances is not None
    time, best = best_enlarged(matmul, circumstances)
    tiles = (*matmul.described_candidates(circumstances), *matmul.enlarging_candidates())
    enlarged = [each for each in map(matmul.enlarged, tiles) if each.takes(each.tile)]
    all_of_them = [*reversed(enlarged), matmul.enlarged(matmul.tile)]
    slotted = [circumstances.in_slots(each) for each in all_of_them]
    works = [circumstances.work(each, each.tile) for each in slotted]
    times = [circumstances.counted(*each) for each in zip(slotted, works, strict=True)]
    first = times.index(min(times))
    assert best.tile == slotted[first].tile
    assert time == circumstances.time(works[first])


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("shape", [(1000, 3072, 768), (77, 768, 3000)])
def test_the_fastest_tile_is_that_of_all_tiles(shape: Shape, arch: str) -> None:
    parsed = parse(padded_matmul(shape, arch=arch, transposed=False))
    matmul = padded(parsed.function)
    circumstances = Circumstances.of(parsed.function, None, other_order=False, overlap=True)
    assert matmul is not None and circumstances is not None
    tiles = [matmul.enlarged(each) for each in matmul.enlarging_candidates()]
    loops = ScalarLoops.of(parsed.function, matmul.operation)
    by_lanes = lane_tilings(matmul.operation, loops, matmul.launch, (1, 4))
    for every in (tiles, by_lanes):
        best, _ = min(
            predicted_logarithms(every, 2, circumstances, ()), key=lambda each: sum(each[1])
        )
        found = fastest(every, 2, circumstances)
        assert found is not None
        assert (found.tile, found.extents) == (best.tile, best.extents)
