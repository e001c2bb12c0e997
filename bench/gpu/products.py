# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as models have them: convolutions, batches, sizes that no tile divides, epilogues."""

from __future__ import annotations

from ...sweep.swept_kernels import Matmul
from ..program_families.convolutions import NCHW, NHWC, Windowed
from .modes import EXACT, STOCK
from .timed_kernels import CONVOLUTION, MATMUL, TimedKernel

_MODES = (STOCK, EXACT)
_BATCH = 8
_RESNET = (
    (230, 3, 64, 7, 2),
    (56, 64, 64, 1, 1),
    (58, 64, 64, 3, 1),
    (56, 64, 256, 1, 1),
    (58, 128, 128, 3, 2),
    (30, 128, 128, 3, 1),
    (56, 256, 512, 1, 2),
    (16, 256, 256, 3, 1),
    (9, 512, 512, 3, 1),
)
"""Side of the image with its margins, channels, filters, window and stride of convolutions of
ResNet-50."""
_PATCHES = ((224, 3, 768, 16, 16), (336, 3, 1024, 14, 14))
"""Those that ViT and CLIP begin with."""
_OP = {
    NHWC: ("conv_2d_nhwc_hwcf", "nhwc"),
    NCHW: ("conv_2d_nchw_fchw", "nchw"),
}
_BATCHED = (
    (16, 1024, 1024, 64, True),
    (16, 1024, 64, 1024, False),
    (12, 197, 197, 64, True),
    (12, 197, 64, 197, False),
)
"""How many products, rows, columns, summed elements, and whether B is transposed."""
_INTEGERS = ((1000, 1000, 1000, True), (197, 768, 768, True), (250, 201, 263, False))
"""Rows, columns and summed elements of matmuls of i8, and whether B is transposed."""
_WITH_RESIDUAL = ((1024, 768, 3072), (1576, 768, 3072), (2308, 1024, 4096), (1002, 778, 506))


def products() -> dict[TimedKernel, str]:
    """Returns convolutions and matmuls of f16 and i8, at stock's and `exact`, with their MLIR."""
    images = [(*each, NHWC) for each in _RESNET]
    images += [(*each, NCHW) for each in (*_RESNET, *_PATCHES)]
    made = [_convolution(*each) for each in images]
    made += [_whisper(), *(_batched(*each) for each in _BATCHED)]
    made += [_of_integers(*each) for each in _INTEGERS]
    return dict([*made, *(_with_residual(*each) for each in _WITH_RESIDUAL)])


def _convolution(
    side: int, c: int, f: int, window: int, stride: int, dims: tuple[str, str, str]
) -> tuple[TimedKernel, str]:
    op, order = _OP[dims]
    sizes = {"n": _BATCH, "h": side, "w": side, "c": c, "f": f, "y": window, "x": window}
    name = f"{CONVOLUTION}_{_BATCH}x{side}x{c}x{f}_{window}x{window}s{stride}_{order}_f16"
    return _timed(Windowed(name, op, "f16", *dims, sizes, stride=stride), dims == NHWC)


def _whisper() -> tuple[TimedKernel, str]:
    sizes = {"n": 1, "w": 3002, "c": 1280, "f": 1280, "x": 3}
    name = f"{CONVOLUTION}_1x3002x1280x1280_3s2_ncw_f16"
    dims = ("n c w", "f c x", "n f w")
    return _timed(Windowed(name, "conv_1d_ncw_fcw", "f16", *dims, sizes, stride=2), False)


def _timed(made: Windowed, channels_last: bool) -> tuple[TimedKernel, str]:
    operands = tuple("x".join([*map(str, each), made.dtype]) for each in made.operands)
    kernel = TimedKernel(
        made.name,
        CONVOLUTION,
        operands,
        _MODES,
        channels_last=channels_last,
        stride=made.stride,
    )
    return kernel, _narrowed(made)


def _narrowed(made: Windowed) -> str:
    """Returns a convolution whose result is f16, as PyTorch's is."""
    head, _, behind = made.source().rpartition("  return ")
    wide = behind.split(" : ")[1].split("\n")[0]
    narrow, rank = wide.replace("xf32>", "xf16>"), wide.count("x")
    dims = ", ".join(f"d{number}" for number in range(rank))
    same = f"affine_map<({dims}) -> ({dims})>"
    parallel = ", ".join(['"parallel"'] * rank)
    return f"""{head.replace(f") -> {wide} {{", f") -> {narrow} {{", 1)}\
  %less = tensor.empty() : {narrow}
  %rounded = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{parallel}]}}
      ins(%out : {wide}) outs(%less : {narrow}) {{
  ^bb0(%x: f32, %y: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  }} -> {narrow}
  return %rounded : {narrow}
}}
"""


def _batched(batch: int, m: int, n: int, k: int, transposed: bool) -> tuple[TimedKernel, str]:
    right = (batch, n, k) if transposed else (batch, k, n)
    order = "_transposed" if transposed else ""
    name = f"{MATMUL}_{batch}x{m}x{n}x{k}_f16{order}"
    a, b = (f"{batch}x{m}x{k}xf16", "x".join([*map(str, right), "f16"]))
    kernel = TimedKernel(name, MATMUL, (a, b), _MODES, transposed=transposed)
    c = f"tensor<{batch}x{m}x{n}xf32>"
    maps = ("(b, m, k)", "(b, n, k)" if transposed else "(b, k, n)", "(b, m, n)")
    shown = ", ".join(f"affine_map<(b, m, n, k) -> {each}>" for each in maps)
    return (
        kernel,
        f"""func.func @{MATMUL}(%a: tensor<{a}>, %b: tensor<{b}>) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %out = linalg.batch_matmul indexing_maps = [{shown}]
      ins(%a, %b : tensor<{a}>, tensor<{b}>) outs(%init : {c}) -> {c}
  return %out : {c}
}}
""",
    )


def _of_integers(m: int, n: int, k: int, transposed: bool) -> tuple[TimedKernel, str]:
    made = Matmul(m, n, k, "i8", transposed)
    operands = tuple("x".join([*map(str, each), "i8"]) for each in made.operands)
    return TimedKernel(made.name, MATMUL, operands, _MODES, transposed=transposed), made.source()


def _with_residual(m: int, n: int, k: int) -> tuple[TimedKernel, str]:
    """Returns a matmul with a bias and a residual, as a transformer's block ends."""
    a, b, c = (f"{m}x{k}xf16", f"{k}x{n}xf16", f"{m}x{n}xf16")
    name = f"{MATMUL}_{m}x{n}x{k}_f16_residual"
    kernel = TimedKernel(name, MATMUL, (a, b, f"{n}xf16", c), _MODES)
    wide = f"tensor<{m}x{n}xf32>"
    return (
        kernel,
        f"""func.func @{MATMUL}(%a: tensor<{a}>, %b: tensor<{b}>,
    %bias: tensor<{n}xf16>, %residual: tensor<{c}>) -> tensor<{c}> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {wide}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {wide}) -> {wide}
  %sums = linalg.matmul ins(%a, %b : tensor<{a}>, tensor<{b}>) outs(%init : {wide}) -> {wide}
  %less = tensor.empty() : tensor<{c}>
  %out = linalg.generic {{
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
                       affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%sums, %bias, %residual : {wide}, tensor<{n}xf16>, tensor<{c}>)
      outs(%less : tensor<{c}>) {{
  ^bb0(%x: f32, %y: f16, %z: f16, %old: f16):
    %0 = arith.extf %y : f16 to f32
    %1 = arith.addf %x, %0 : f32
    %2 = arith.extf %z : f16 to f32
    %3 = arith.addf %1, %2 : f32
    %4 = arith.truncf %3 : f32 to f16
    linalg.yield %4 : f16
  }} -> tensor<{c}>
  return %out : tensor<{c}>
}}
""",
    )
