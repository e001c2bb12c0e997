# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs PyTorch's kernels between marks, under a profiler: a script that needs PyTorch alone.

    python torch_runs.py CASES.json REPORT.json REPEATS

CASES.json is a list of objects with `series`, `shapes`, `types`, `transposed`, and of convolutions
`channels_last` and `stride`. Each case runs
REPEATS times in the profiler's sight, and behind each run a kernel is launched whose name contains
`FillFunctor<double>`; PyTorch itself fills what it pads, but with other types. Cases that PyTorch
refuses are left out; REPORT.json says which they are, and why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

# PyTorch is on the machine with the GPU alone.
import torch  # pyright: ignore[reportMissingImports]
from torch.nn.attention import SDPBackend, sdpa_kernel  # pyright: ignore[reportMissingImports]

_DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
_BATCHED = 3
_IMAGE_AND_WINDOW = 2
_INTEGER, _BOOLEAN, _WIDE = "i8", "i1", "f32"
_BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


@cache
def _operand(number: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Returns the input with this number, the same for all libraries."""
    if dtype == _INTEGER:
        return torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8)
    if dtype == _BOOLEAN:
        return torch.rand(shape, device="cuda") < 0.5
    return torch.randn(shape, device="cuda", dtype=_DTYPES[dtype])


def call_of(case: dict[str, Any]) -> Callable[[], Any]:
    """Returns what runs a case once: an attention, for `cublas` a matmul with wide sums, or for
    `cudnn` and two operands a convolution.

    Raises:
        TypeError: PyTorch has no such operation.
    """
    types = case["types"]
    operands = [
        _operand(number, tuple(shape), dtype)
        for number, (shape, dtype) in enumerate(zip(case["shapes"], types, strict=True))
    ]
    if case["series"] == "cublas":
        a, b, *epilogue = operands
        if epilogue:
            raise TypeError("no epilogue")
        b = b.transpose(-1, -2) if case["transposed"] else b
        if a.dim() == _BATCHED:
            return lambda: torch.bmm(a, b, out_dtype=torch.float32)
        if types[0] == _INTEGER:
            return lambda: torch._int_mm(a, b)
        if types[0] == _WIDE:
            return lambda: torch.mm(a, b)
        return lambda: torch.mm(a, b, out_dtype=torch.float32)
    if len(operands) == _IMAGE_AND_WINDOW:
        image, window = operands
        return _convolution(image, window, case["channels_last"], case["stride"])
    backend = _BACKENDS[case["series"]]
    # The kernels take a batch of heads: here one of them.
    q, k, v, *mask = (each.reshape(1, -1, *each.shape[-2:]) for each in operands)
    options = {"attn_mask": mask[0]} if mask else {}
    if q.shape[1] != k.shape[1]:
        options["enable_gqa"] = True

    def attention() -> None:
        with sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)

    return attention


def _convolution(image: Any, window: Any, channels_last: bool, stride: int) -> Callable[[], Any]:
    """Returns what runs a convolution over one or two dimensions."""
    if channels_last:
        # PyTorch's shapes have the channels first, wherever they lie in memory.
        image, window = image.permute(0, 3, 1, 2), window.permute(3, 2, 0, 1)
    convolve = getattr(torch.nn.functional, f"conv{image.dim() - 2}d")
    return lambda: convolve(image, window, stride=stride)


def main(cases_path: str, report_path: str, repeats: int) -> None:
    """Warms up every case, then runs each `repeats` times in the profiler's sight."""
    cases = json.loads(Path(cases_path).read_text())
    mark = torch.zeros(1, device="cuda", dtype=torch.float64)
    refused: dict[int, str] = {}
    calls: dict[int, Callable[[], Any]] = {}
    for number, case in enumerate(cases):
        try:
            call = call_of(case)
            call()
            torch.cuda.synchronize()
            calls[number] = call
        except (RuntimeError, TypeError) as error:
            refused[number] = str(error)
    mark.fill_(1.0)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    for call in calls.values():
        for _ in range(repeats):
            call()
            mark.fill_(1.0)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()
    versions = {"torch": torch.__version__, "CUDA of torch": str(torch.version.cuda)}
    versions["cuDNN of torch"] = str(torch.backends.cudnn.version())
    Path(report_path).write_text(json.dumps({"refused": refused, "versions": versions}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
