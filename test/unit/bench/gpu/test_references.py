# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/references and torch_runs: PyTorch's kernels, told apart in one run of ncu."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.bench.gpu.profiler import Launch, read_launches
from bankwise.bench.gpu.references import (
    ReferenceCase,
    case_times,
    measure_references,
    reference_cases,
)
from bankwise.bench.gpu.timed_kernels import TimedKernel

from .ncu_tables import program

HERE = Path(__file__).parent
ATTENTION = TimedKernel(
    "attention_1x8x4_f16", "attention", ("1x8x4xf16",) * 3, ("stock",), scale=0.5
)
MATMUL = TimedKernel(
    "matmul_8x8x4_bf16_transposed", "matmul", ("8x4xbf16",) * 2, ("stock",), transposed=True
)


def recorded(name: str) -> list[Launch]:
    """Returns launches of a run whose marks were of another type."""
    text = (HERE / f"{name}.csv").read_text()
    return read_launches(text.replace("FillFunctor<float>", "FillFunctor<double>"))


def test_a_case_without_kernels_leaves_the_others_their_times():
    launches = recorded("attentions")
    del launches[0]
    assert case_times(launches, 2, 3) == [None, pytest.approx(0.093312)]


def test_what_pytorch_fills_is_part_of_a_run():
    padded = read_launches((HERE / "attentions.csv").read_text())[1]
    launches = recorded("attentions")
    whole = [
        each
        for launch in launches[:6]
        for each in ([padded, launch] if "flash" in launch.kernel else [launch])
    ]
    assert case_times(whole, 1, 3) == pytest.approx([0.517408 + 0.00176], rel=1e-3)


def test_the_kernels_of_a_run_are_summed_and_the_runs_median_is_taken():
    """Recorded on an H200: 16x4096x128, and 4x2048x256, which takes two kernels a run."""
    launches = recorded("attentions")
    assert case_times(launches, 2, 3) == pytest.approx([0.517408, 0.093312])


def test_matmuls_of_cublas_are_told_apart():
    """Recorded on an H200: 4096x4096x4096, and 1000x1000x1000."""
    launches = recorded("matmuls")
    assert case_times(launches, 2, 3) == pytest.approx([0.230816, 0.011008])


@pytest.mark.parametrize(
    ("dropped", "cases", "message"),
    [
        (slice(0, 0), 3, "6 marks and 0 kernels"),
        (slice(-1, None), 2, "5 marks and 2 kernels"),
    ],
)
def test_a_run_that_does_not_fit_the_cases_is_refused(dropped: slice, cases: int, message: str):
    launches = recorded("attentions")
    del launches[dropped]
    with pytest.raises(ValueError, match=message):
        case_times(launches, cases, 3)


def test_attentions_have_three_libraries_and_matmuls_one():
    cases = [(case.kernel, case.series) for case in reference_cases([ATTENTION, MATMUL])]
    attentions = [(ATTENTION, series) for series in ("flash", "efficient", "cudnn")]
    assert cases == [*attentions, (MATMUL, "cublas")]


FAKE_TORCH = """
import json, math, sys
from contextlib import contextmanager
from types import SimpleNamespace
float16, bfloat16, float32, float64 = "float16", "bfloat16", "float32", "float64"
__version__ = "2.0"
version = SimpleNamespace(cuda="13.0")
profiled = False
launches = []
def launch(name):
    if profiled: launches.append(name)
class Tensor:
    def __init__(self, shape, dtype): self.shape, self.dtype = tuple(shape), dtype
    def reshape(self, *shape):
        known = -math.prod(shape)
        shape = [math.prod(self.shape) // known if size < 0 else size for size in shape]
        return Tensor(shape, self.dtype)
    def __lt__(self, limit): return Tensor(self.shape, "bool")
    def dim(self): return len(self.shape)
    def permute(self, *order): return Tensor([self.shape[each] for each in order], self.dtype)
    def transpose(self, first, second):
        assert (first, second) == (-1, -2)
        return Tensor([*self.shape[:-2], *self.shape[:-3:-1]], self.dtype)
    def fill_(self, value): launch({float64: "FillFunctor<double>"}[self.dtype])
def zeros(count, device, dtype): return Tensor((count,), dtype)
def rand(shape, device): return Tensor(shape, float32)
def randn(shape, device, dtype): return Tensor(shape, dtype)
def mm(a, b, out_dtype): launch(f"mm {a.shape} {b.shape} {a.dtype} {out_dtype}")
def bmm(a, b, out_dtype): launch(f"bmm {a.shape} {b.shape} {a.dtype} {out_dtype}")
class Profiler:
    def cudaProfilerStart(self): globals().update(profiled=True)
    def cudaProfilerStop(self):
        open(PATH, "w").write(json.dumps(launches))
cuda = SimpleNamespace(synchronize=lambda: None, cudart=Profiler)
backends = SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 91000))
backend = []
@contextmanager
def sdpa_kernel(which):
    backend.append(which)
    yield
    backend.pop()
def scaled_dot_product_attention(q, k, v, attn_mask=None, enable_gqa=False):
    if backend[-1] == "c": raise RuntimeError("No available kernel")
    mask = f" {attn_mask.shape} {attn_mask.dtype}" if attn_mask else ""
    launch(f"{backend[-1]} {q.shape} {q.dtype}" + mask + f" {k.shape} grouped" * enable_gqa)
def conv1d(image, window, stride): launch(f"conv1d {image.shape} {window.shape} by {stride}")
def conv2d(image, window, stride): launch(f"conv2d {image.shape} {window.shape} by {stride}")
"""


@pytest.fixture
def torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts a PyTorch in place that writes what it launches in the profiler's sight to a file."""
    launched = tmp_path / "launched.json"
    package = tmp_path / "packages" / "torch"
    (package / "nn").mkdir(parents=True)
    names = "class SDPBackend: FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION = 'fec'\n"
    (package / "__init__.py").write_text(
        f"PATH = {str(launched)!r}\n{FAKE_TORCH}\nfrom . import nn\n"
    )
    (package / "nn" / "__init__.py").write_text("from . import attention, functional\n")
    (package / "nn" / "attention.py").write_text(f"from torch import sdpa_kernel\n{names}")
    (package / "nn" / "functional.py").write_text(
        "from torch import scaled_dot_product_attention, conv1d, conv2d\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    return launched


@pytest.fixture
def ncu(tmp_path: Path, torch: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts an ncu in place that runs the program, and gives every launch the next microsecond."""
    program(
        tmp_path / "ncu",
        "import json, subprocess, sys\n"
        "from pathlib import Path\n"
        f"Path({str(tmp_path / 'ncu.json')!r}).write_text(json.dumps(sys.argv[1:]))\n"
        "start = next(i for i, word in enumerate(sys.argv) if i and not word.startswith('-'))\n"
        "code = subprocess.run(sys.argv[start:]).returncode\n"
        "if code: sys.exit(code)\n"
        'print(\'"ID","Kernel Name","Grid Size","Metric Name","Metric Unit","Metric Value"\')\n'
        f"for number, name in enumerate(json.loads(Path({str(torch)!r}).read_text())):\n"
        "    fields = (number, name, '(1, 1, 1)', 'gpu__time_duration.sum', 'us', number)\n"
        "    print(','.join(f'\"{field}\"' for field in fields))\n",
    )
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path / "ncu.json"


def test_one_process_runs_all_cases_and_leaves_out_what_is_refused(
    ncu: Path, torch: Path, tmp_path: Path
):
    found, versions = measure_references(reference_cases([ATTENTION, MATMUL]), tmp_path, "none")
    launched = json.loads(torch.read_text())
    kernels = ["f (1, 1, 8, 4) float16", "e (1, 1, 8, 4) float16"]
    kernels.append("mm (8, 4) (4, 8) bfloat16 float32")
    assert launched == [name for kernel in kernels for name in [kernel, "FillFunctor<double>"] * 5]
    # The third run of each case is the median: its kernel is the fifth launch of the case.
    times = [(each.kernel, each.series, each.milliseconds) for each in found]
    assert times == [
        (ATTENTION.name, "flash", pytest.approx(0.004)),
        (ATTENTION.name, "efficient", pytest.approx(0.014)),
        (ATTENTION.name, "cudnn", None),
        (MATMUL.name, "cublas", pytest.approx(0.024)),
    ]
    assert versions == {"torch": "2.0", "CUDA of torch": "13.0", "cuDNN of torch": "91000"}
    command = json.loads(ncu.read_text())
    assert command[1] == "--clock-control=none" and "--profile-from-start=off" in command
    assert command[command.index(sys.executable) + 1] == "-P"


def test_masks_and_groups_of_queries_are_passed_on(ncu: Path, torch: Path, tmp_path: Path):
    q, k, mask = "1x2x7x8x4xf16", "1x2x8x4xf16", "2x8x8xi1"
    grouped = replace(ATTENTION, operands=(q, k, k))
    masked = replace(ATTENTION, operands=("2x8x4xf16",) * 3 + (mask,))
    cases = [ReferenceCase(kernel, "flash") for kernel in (grouped, masked)]
    measure_references(cases, tmp_path, "base")
    assert json.loads(torch.read_text())[::10] == [
        "f (1, 14, 8, 4) float16 (1, 2, 8, 4) grouped",
        "f (1, 2, 8, 4) float16 (1, 2, 8, 8) bool",
    ]


def test_convolutions_and_batches_of_matmuls_are_called(ncu: Path, torch: Path, tmp_path: Path):
    sizes = ("2x9x9x3xf16", "5x5x3x7xf16")
    last = TimedKernel("conv_last", "conv", sizes, ("stock",), channels_last=True, stride=2)
    first = TimedKernel("conv_first", "conv", ("2x3x9xf16", "7x3x5xf16"), ("stock",))
    batched = replace(MATMUL, operands=("2x8x4xf16", "2x6x4xf16"))
    epilogue = replace(MATMUL, operands=("8x4xf16", "6x4xf16", "8x6xf16"))
    cases = reference_cases([last, first, batched, epilogue])
    found, _ = measure_references(cases, tmp_path, "base")
    assert json.loads(torch.read_text())[::10] == [
        "conv2d (2, 3, 9, 9) (7, 3, 5, 5) by 2",
        "conv1d (2, 3, 9) (7, 3, 5) by 1",
        "bmm (2, 8, 4) (2, 4, 6) float16 float32",
    ]
    assert [each.series for each in found] == ["cudnn", "cudnn", "cublas", "cublas"]
    assert found[-1].milliseconds is None


def test_a_pytorch_that_fails_says_why(ncu: Path, torch: Path, tmp_path: Path):
    (tmp_path / "packages" / "torch" / "__init__.py").write_text(
        "raise ImportError('no libcudart')"
    )
    with pytest.raises(RuntimeError, match=r"PyTorch's kernels(.|\n)*no libcudart"):
        measure_references(reference_cases([ATTENTION]), tmp_path, "base")
