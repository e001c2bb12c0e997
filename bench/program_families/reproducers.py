# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that once showed a defect of this project, each with what NumPy makes of it.

What is not made by the class of a family has its MLIR in `sources/reproducers/`; the first line of
each file says what it showed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .attention import Attention, plain_sizes
from .convolutions import NCHW, Windowed
from .matmuls import Contraction
from .program import (
    TIMED_CHIPS,
    TOLERANCE,
    Array,
    Input,
    Program,
    Reference,
    file_source,
    integers,
    normal,
)


def _program(
    name: str,
    inputs: Sequence[Input],
    reference: Reference,
    precision: str,
    *,
    source: str = "",
    flags: tuple[str, ...] = (),
    targets: tuple[str, ...] = TIMED_CHIPS,
    race: str = "",
) -> Program:
    return Program(
        name=f"reproducer_{name}",
        source=source or file_source(f"reproducers/{name}"),
        inputs=tuple(inputs),
        reference=reference,
        tolerance=TOLERANCE[precision],
        flags=flags,
        # The flags of reproducers are such that a compiler's session does not take.
        needs_process=bool(flags),
        targets=targets,
        race=race,
    )


def _attention(
    name: str, sizes: dict[str, int], dtype: str = "f16", mask: str = "", scale: float = 0.1
) -> Program:
    name = f"reproducer_{name}"
    return Attention(name, dtype, sizes, mask=mask, mask_dtype=dtype, scale=scale).program()


def _matmul(name: str, m: int, n: int, k: int, flags: tuple[str, ...] = ()) -> Program:
    """Returns a matmul of A and the transposed B."""
    dims = Contraction("", "f16", {"m": m, "n": n, "k": k}, right="n k")
    return _program(name, dims.inputs(), dims.reference, "f32", flags=flags)


SPARSE_8_ROWS = """attrs = {compilation_info = #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{
        mma_kind = #iree_gpu.virtual_mma_layout<VDMFMA_F32_8x16x64x2_F16>,
        promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [1, 2, 0],
        workgroup = [8, 64, 0]}>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>
        workgroup_size = [128, 1, 1] subgroup_size = 64, {
          gpu_pipeline_options = #iree_gpu.pipeline_options<
            prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false,
            use_igemm_convolution = false>}>>} """
"""The tile that IREE 3.13 gives products of 8 rows for gfx942."""


def _with_epilogue(
    name: str, m: int, n: int, k: int, right: str = "k n", configured: str = "",
    targets: tuple[str, ...] = TIMED_CHIPS,
) -> Program:  # fmt: skip
    """Returns a matmul with bias, GELU and residual; `configured` says how it is to be tiled."""
    steps = ("bias", "gelu", "residual")
    dims = Contraction("", "f16", {"m": m, "n": n, "k": k}, right=right, epilogue=steps)
    shape = "x".join(map(str, dims.shape(right)))
    places = {"m": m, "n": n, "k": k, "right": shape, "map": right.replace(" ", ",")}
    text = file_source("reproducers/mm_epilogue", configured=configured, **places)
    return _program(name, dims.inputs(), dims.reference, "f32", source=text, targets=targets)


def _dequantized(x: Array, weights: Array, scales: Array) -> Array:
    """Returns [m, g, k] by [n, g, k], in which each group of weights is times its scale."""
    # The scaled weights are rounded to f16 before they are multiplied.
    scaled = (weights * scales[..., None]).astype(np.float16).astype(np.float64)
    return np.einsum("mgk,ngk->mn", x, scaled)


def _packed_product(a: Array, b: Array) -> Array:
    """Returns the sum over k and c of a[m, k, r, c] b[n, k, s, c], as `linalg.mmt4d`."""
    return np.einsum("mkrc,nksc->mnrs", a, b, optimize=True)


def _largest_four(x: Array) -> Array:
    return -np.sort(-x, axis=1)[:, :4]


def _square_transposed(x: Array) -> Array:
    return x.reshape(32, 32).T.reshape(-1)


def _square_swizzled_transposed(x: Array) -> Array:
    """Returns a square's transpose as seen by reads that do not go through the hint.

    The square has rows of 32, whose groups of four stand where `xor_shuffle<32, 4>` has put them.

    The stores go through the hint and the reads do not, so the reads see group g of row r where
    the hint has put it, at g ^ (r % 8).
    """
    rows, groups = np.indices((32, 8))
    return x.reshape(32, 8, 4)[rows, groups ^ rows % 8].reshape(32, 32).T.reshape(-1)


def _overlapping_fours(x: Array) -> Array:
    return np.concatenate([x[6 * lane + 2 :][:4] for lane in range(128)])


def _eights_by_table(x: Array, table: Array) -> Array:
    """Returns, from each half of `x`, eight values at each place of the table."""
    return np.concatenate([x[half + at :][:8] for half in (0, 512) for at in table])


def _table_of_eights(random: np.random.Generator) -> Array:
    return (8 * random.permutation(64)).astype(np.int32)


def _grouped_convolution(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(3, 4))
    return np.einsum("ngchwyx,gfcyx->ngfhw", windows, w, optimize=True)


def programs() -> list[Program]:
    """Returns all of them."""
    return [*_attentions(), *_matmuls(), *_others(), *_hand_written()]


def _attentions() -> list[Program]:
    eight_waves = Attention("", "f16", plain_sizes(2, 128, 96), scale=0.1)
    return [
        # Decoding: eight heads with one query row each.
        _attention("at_decode_f16", plain_sizes(8, 1, 128, 512)),
        # LLVM sets the MODE register in some waves only.
        _attention("at_f16_h80", plain_sizes(1, 128, 80)),
        # The late reduction across subgroups got a padding with conflicts.
        _attention("at_f16_h160", plain_sizes(1, 128, 160)),
        # Sequence and head are odd: LLVM clears half of an undefined register.
        _attention("at_f16_65x63", plain_sizes(1, 65, 63), scale=8.838834765e-02),
        # MODE of some waves, and a late padding with conflicts.
        _attention("at_f32_h80", plain_sizes(1, 128, 80), "f32"),
        # The swizzled layout took many more LDS instructions.
        _attention("at_maskf32_f32", plain_sizes(2, 128, 64, 256), "f32", mask="b m k2"),
        _program("atcfg_8w", eight_waves.inputs(), eight_waves.reference, "f16"),
    ]


def _matmuls() -> list[Program]:
    dynamic = Contraction("", "f16", {"m": 100, "n": 72, "k": 64}, dynamic="m n k")
    scale = normal("f16", 128, 2, scale=0.1)
    return [
        _matmul("cfg_48x80", 192, 240, 128),
        _matmul("cfg_promoteC", 128, 128, 128),
        # Dynamic sizes: idle lanes of a load are undefined until a select drops them.
        replace(dynamic.program(), name="reproducer_dyn_mm_f16"),
        _matmul("fl_igemm", 256, 256, 256, ("--iree-codegen-llvmgpu-use-igemm=false",)),
        # Its partial loads leave undefined lanes.
        _with_epilogue("mm_narrowN", 512, 8, 256),
        # Moves of registers in pairs.
        _with_epilogue("mm_skinny", 1, 512, 512, "n k"),
        # With sparse matrix instructions, as IREE configures it for gfx942.
        _with_epilogue("mm_skinny8", 8, 256, 512, configured=SPARSE_8_ROWS, targets=("gfx942",)),
        _program("mmt4d_f16", [normal("f16", 4, 8, 16, 16)] * 2, _packed_product, "f32"),
        _program("mmt4d_f32", [normal("f32", 8, 16, 8, 1)] * 2, _packed_product, "f32"),
        _program("deq_i4_f16", [normal("f16", 128, 2, 64),
                                integers("ui4", 128, 2, 64, low=0, high=16), scale], _dequantized,
                 "f32", source=file_source("reproducers/deq_f16", bits=4, sign="u")),
        _program("deq_i8_f16", [normal("f16", 128, 2, 64),
                                integers("i8", 128, 2, 64, low=-128, high=128),
                                normal("f16", 128, 2, scale=0.01)], _dequantized,
                 "f32", source=file_source("reproducers/deq_f16", bits=8, sign="s")),
    ]  # fmt: skip


def _others() -> list[Program]:
    nchw = {"n": 1, "h": 18, "w": 18, "c": 64, "f": 64, "y": 3, "x": 3}
    bias = np.array([1, 2, 3, 4, 5, 6, 7, 9])
    return [
        _program("const_bias", [normal("f32", 8)], lambda x: x + bias, "f32"),
        # The decision said that conflicts remain, and none did.
        Windowed("reproducer_conv_nchw_f16", "conv_2d_nchw_fchw", "f16", *NCHW, nchw).program(),
        _program("conv_grouped_f16",
                 [normal("f16", 1, 4, 32, 18, 18), normal("f16", 4, 32, 32, 3, 3)],
                 _grouped_convolution, "f32"),
        _program("topk_f32", [normal("f32", 8, 64)], _largest_four, "exact",
                 race="its two waves share LDS without a barrier: lane 0 initializes what lanes "
                      "of both have read already, and then all lanes store to one address"),
    ]  # fmt: skip


def _hand_written() -> list[Program]:
    row, direct = [normal("f32", 1024)], ("gfx950",)

    def square(view: str, stored: str, read: str) -> str:
        return file_source("reproducers/transposed_square", view=view, stored=stored, read=read)

    hint = "%h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<32, 4>]"
    return [
        # A promise of alignment between the allocation and its accesses.
        _program("hint_assume_alignment", row, _square_transposed, "exact",
                 source=square("%m = memref.assume_alignment %a, 16", "%m", "%m")),
        # An allocation that is stored to through a hint and read without one.
        _program("hint_used_beside_plain", row, _square_swizzled_transposed, "exact",
                 source=square(hint, "%h", "%a")),
        _program("unaligned_vector_loads", row, _overlapping_fours, "exact"),
        _program("frame_smaller_than_period", [normal("f16", 1024)], lambda x: x, "exact",
                 targets=direct),
        _program("offsets_from_a_table", [normal("f16", 1024), _table_of_eights],
                 _eights_by_table, "exact", targets=direct),
    ]  # fmt: skip
