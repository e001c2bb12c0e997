# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that are timed: in every mode, and attentions of the shapes that models have."""

from __future__ import annotations

import re
from dataclasses import replace

from ...runtime.dtypes import dtype_of
from ...sweep.swept_kernels import Attention, Kernel, Matmul
from ..program_families.attention import Attention as ModelAttention
from ..program_families.attention import plain_sizes
from .inputs import operand_type
from .modes import EXACT, FAST, INEXACT_MODES, MODES, STOCK
from .products import products
from .timed_kernels import ATTENTION, MATMUL, TimedKernel

_ATTENTIONS = (
    (16, 4096, 128),
    (64, 2048, 64),
    (4, 2048, 256),
    (2, 1024, 128),
    (8, 1024, 64),
    (32, 1024, 128),
    (128, 512, 64),
    (1, 16384, 128),
    (1, 1024, 128),
)
_SCALAR_ATTENTIONS = ((16, 2048, 64), (8, 1024, 128), (12, 512, 32), (4, 1024, 96))
"""Those in f32, for which an NVIDIA GPU has no matrix instructions that IREE knows."""
_MATMULS = (
    Matmul(4096, 4096, 4096, "f16"),
    Matmul(4096, 4096, 4096, "f16", transposed=True),
    Matmul(2048, 2048, 2048, "f16"),
    Matmul(2048, 2048, 2048, "f16", transposed=True),
    Matmul(8192, 1024, 4096, "f16", transposed=True),
    Matmul(4096, 4096, 64, "f16", transposed=True),
    Matmul(1000, 1000, 1000, "f16"),
    Matmul(1000, 1000, 1000, "f16", transposed=True),
    Matmul(3000, 3000, 3000, "f16"),
    Matmul(3000, 3000, 3000, "f16", transposed=True),
    Matmul(1001, 777, 503, "bf16"),
    Matmul(2048, 2048, 2048, "bf16"),
    Matmul(4096, 4096, 4096, "i8", transposed=True),
    Matmul(4096, 4096, 4096, "i8"),
    Matmul(2048, 2048, 2048, "f32"),
    Matmul(2048, 2048, 2048, "f32", transposed=True),
)


_ODD_ATTENTIONS = (
    (24, 2048, 96),
    (40, 2048, 80),
    (32, 1000, 128),
    (2, 512, 160),
    (64, 4096, 40),
    (20, 1500, 64),
    (12, 197, 64),
    (16, 77, 64),
    (16, 577, 64),
    (16, 1024, 72),
    (40, 1024, 88),
    (16, 1024, 100),
    (16, 1024, 75),
    (16, 333, 100),
    (4, 50, 320),
    (16, 2048, 192),
)
"""Batch, sequence and head of attentions for which stock has no matrix instructions: those of
Phi, Stable Diffusion, Whisper, ViT, CLIP and others."""
_ODD_BF16_ATTENTIONS = ((24, 2048, 96), (32, 1000, 128), (12, 197, 64))
_ODD_F32_ATTENTIONS = ((16, 2048, 64), (8, 1024, 128))


def model_attention(
    batch: int,
    rows: int,
    head: int,
    dtype: str = "f16",
    *,
    keys: int = 0,
    columns: int = 0,
    group: int = 1,
    mask: str = "",
) -> ModelAttention:
    """Returns an attention whose name says what it has beside its queries.

    Args:
        batch: how many heads Q has.
        keys: the rows of K and V, which are those of Q by default.
        columns: the size of a row of V, which is that of K by default.
        group: how many heads of Q share a head of K and V.
        mask: the type of a mask [batch, rows, keys], or nothing.
    """
    sizes = plain_sizes(batch, rows, head, keys) | ({"n": columns} if columns else {})
    parts = {"keys": keys, "columns": columns, "group": group if group > 1 else 0, "mask_": mask}
    added = "".join(f"_{part}{value}" for part, value in parts.items() if value)
    name = f"attention_{batch}x{rows}x{head}_{dtype}{added}"
    model = ModelAttention(
        name, dtype, sizes, mask="b m k2" if mask else "", mask_dtype=mask or dtype
    )
    if group == 1:
        return model
    # Exporters write grouped queries as two loops over the heads.
    return replace(
        model,
        sizes={"b": 1, "h": batch // group, "g": group} | {**sizes, "b": 1},
        query="b h g m k1",
        key="b h k2 k1",
        value="b h k2 n",
        output="b h g m n",
        mask="b h g m k2" if mask else "",
    )


def kernels() -> dict[TimedKernel, str]:
    """Returns attentions and matmuls of round sizes, in every mode, with their MLIR."""
    attentions = [Attention(*shape, dtype) for dtype in ("f16", "bf16") for shape in _ATTENTIONS]
    scalar = [Attention(*shape, "f32") for shape in _SCALAR_ATTENTIONS]
    return {timed(each): each.source() for each in (*attentions, *scalar, *_MATMULS)}


def attentions_of_models() -> list[ModelAttention]:
    """Returns 47 f16 attentions as models have them and some in other types.

    Sizes are odd or round, V has other columns than K, other rows than Q or fewer heads, and scores
    have masks.
    """
    return [*_with_matrix_instructions(), *_without_matrix_instructions()]


def _with_matrix_instructions() -> list[ModelAttention]:
    """Returns those for which stock has matrix instructions on an NVIDIA GPU."""
    return [
        *(model_attention(*shape) for shape in _ATTENTIONS),
        model_attention(32, 2048, 128, group=4),
        model_attention(16, 1024, 128, group=2),
        model_attention(14, 512, 64, group=7),
        model_attention(8, 128, 128, keys=8192),
        model_attention(32, 16, 128, keys=4096),
        model_attention(8, 64, 128, keys=32768),
        model_attention(2, 512, 64, keys=8192),
        *(
            model_attention(*shape, mask=mask)
            for shape in ((12, 512, 64), (32, 1024, 128))
            for mask in ("f16", "i1")
        ),
    ]


def _without_matrix_instructions() -> list[ModelAttention]:
    return [
        *(model_attention(*shape) for shape in _ODD_ATTENTIONS),
        model_attention(16, 2048, 192, columns=128),
        model_attention(32, 1, 128, keys=4096),
        model_attention(8, 1, 128, keys=32768),
        model_attention(32, 4, 128, keys=4096),
        model_attention(32, 1, 128, keys=8192, group=4),
        model_attention(16, 4, 64, keys=4096, group=8, mask="i1"),
        model_attention(16, 2, 96, keys=3000),
        model_attention(8, 4096, 40, keys=77),
        model_attention(20, 1024, 64, keys=77),
        *(model_attention(16, 577, 64, mask=mask) for mask in ("f16", "i1")),
        *(model_attention(*shape, "bf16") for shape in _ODD_BF16_ATTENTIONS),
        *(model_attention(*shape, "f32") for shape in _ODD_F32_ATTENTIONS),
    ]


def model_attentions() -> dict[TimedKernel, str]:
    """Returns the attentions of models, with their MLIR.

    At `exact` those are compiled for which stock has matrix instructions: others keep stock's code
    there, which takes up to 500 times as long.
    """
    found = {timed_model(each, (STOCK, EXACT, FAST)): each for each in _with_matrix_instructions()}
    found |= {timed_model(each, (STOCK, FAST)): each for each in _without_matrix_instructions()}
    return {kernel: each.program().source for kernel, each in found.items()}


_DYNAMIC_ATTENTIONS = (Attention(16, 2048, 128, "f16"), Attention(32, 1000, 64, "f16"))
_DYNAMIC_MATMULS = tuple(
    Matmul(rows, 4096, 4096, "f16", transposed)
    for rows in (1, 16, 100, 512, 2048)
    for transposed in (False, True)
)


def dynamic_kernels() -> dict[TimedKernel, str]:
    """Returns attentions and matmuls whose numbers of rows only the program knows, with their MLIR.

    Stock compiles no such attention.
    """
    made = {timed(each, (FAST,)): with_dynamic_rows(each, 1) for each in _DYNAMIC_ATTENTIONS}
    made |= {timed(each, (STOCK, FAST)): with_dynamic_rows(each, 0) for each in _DYNAMIC_MATMULS}
    return {replace(kernel, name=f"{kernel.name}_dynamic"): text for kernel, text in made.items()}


def with_dynamic_rows(kernel: Kernel, dim: int) -> str:
    """Returns the MLIR of a kernel to which the size of one dimension is told when it runs.

    Args:
        dim: the dimension, of all tensors that have the size of the first operand's there.
    """
    size, source = kernel.operands[0][dim], kernel.source()
    source = re.sub(rf"tensor<((?:\d+x){{{dim}}}){size}x", r"tensor<\1?x", source)
    signature, rest = source.split("\n", 1)
    name, kind = re.findall(r"(%\w+): (tensor<[^>]*>)", signature)[0]
    asked = f"  %dim = arith.constant {dim} : index\n  %size = tensor.dim {name}, %dim : {kind}\n"
    return f"{signature}\n{asked}{rest.replace('tensor.empty()', 'tensor.empty(%size)')}"


SETS = {
    "kernels": kernels,
    "attentions": model_attentions,
    "products": products,
    "dynamic": dynamic_kernels,
}
"""What can be compiled for a run: round kernels in every mode, the attentions or the products of
models, or kernels with dynamic sizes."""


def timed(
    kernel: Kernel, modes: tuple[str, ...] = MODES, inexact: tuple[str, ...] = INEXACT_MODES
) -> TimedKernel:
    """Returns what the machine with the GPU has to know of a kernel.

    Args:
        modes: what it is compiled with.
        inexact: those whose outputs may differ from the first one's in their rounding.
    """
    function = ATTENTION if isinstance(kernel, Attention) else MATMUL
    operands = tuple(operand_type(shape, kernel.dtype) for shape in kernel.operands)
    known = TimedKernel(kernel.name, function, operands, modes, inexact)
    if isinstance(kernel, Matmul):
        return replace(known, transposed=kernel.transposed)
    return replace(known, scale=_scale(kernel.head_dim**-0.5, kernel.dtype))


def timed_model(model: ModelAttention, modes: tuple[str, ...]) -> TimedKernel:
    """Returns what the machine with the GPU has to know of an attention, as `timed` does."""
    operands = tuple(operand_type(*operand) for operand in model.operands)
    scale = _scale(model.score_factor, model.dtype)
    return TimedKernel(model.name, ATTENTION, operands, modes, INEXACT_MODES, scale)


def _scale(factor: float, dtype: str) -> float:
    return float(dtype_of(dtype).type(factor))
