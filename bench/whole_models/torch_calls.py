# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times one exported model in PyTorch on the GPU, as it is and compiled: a program of its own.

    python -m bench.whole_models.torch_calls DIR MODEL REPORT.json
    python -m bench.whole_models.torch_calls DIR MODEL

With a report it says on its standard output when everything is compiled and has run, and times the
calls when it reads a line: other processes can compile until then, and leave the GPU alone from
then on. Without one it makes a call as it is for a profiler, which sees that one alone.
"""

# PyTorch and the libraries of models are on the machine with the GPU alone.
# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from .exported import ExportedModel, ExportedModels
from .model_record import CALLS, COMPILED, EAGER, REPETITIONS
from .torch_models import TORCH_DTYPES, TorchModel, tensor_of, weights_of
from .torch_times import READY

Call = Callable[[], Any]


def _call_of(directory: Path, model: ExportedModel) -> tuple[Any, list[Any]]:
    """Returns a model on the GPU with the weights of its export, and its inputs."""
    traced = model.traced(directory)
    module = script_on(traced, "cuda") if traced.exists() else _architecture(model)
    return module, [tensor_of(each).cuda() for each in model.inputs]


def script_on(traced: Path, device: str) -> Any:
    """Returns the TorchScript of a file on a device, with what it makes as it runs."""
    # Constants lie on the device if all is loaded there.
    module = torch.jit.load(traced, map_location=device)
    for node in module.graph.findAllNodes("prim::Constant"):
        if node.output().type().kind() == "DeviceObjType":
            node.s_("value", device)
    return module


def _architecture(model: ExportedModel) -> Any:
    """Returns a model whose weights are drawn; those that its output does not depend on are random.

    This needs the libraries that the models are of.
    """
    from .architectures import ARCHITECTURES

    architecture, _, dtype = model.name.rpartition("_")
    built = ARCHITECTURES[architecture]()
    own = weights_of(built.module)
    for tensor in own.values():
        tensor.data = tensor.data.to(TORCH_DTYPES[dtype])
    for weight in model.weights:
        own[weight.name].data = tensor_of(weight)
    others = {
        name: each.cuda() if isinstance(each, torch.Tensor) else each
        for name, each in built.others.items()
    }
    return TorchModel(replace(built, others=others)).eval().cuda()


def _warmed_up(call: Call, model: ExportedModel) -> dict[str, Any]:
    """Returns the elements of the output that the reference has, or why there is no output."""
    try:
        for _ in range(CALLS - 1):
            call()
        output = call()
        torch.cuda.synchronize()
    except Exception as error:
        # Whatever the framework trips over is what is to be said of it.
        return {"note": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    output = output if isinstance(output, torch.Tensor) else output[0]
    return {"found": output.flatten()[:: model.stride].double().tolist()}


def _milliseconds(call: Call) -> float:
    """Returns the median time of a call, taken as `iree-benchmark-module` takes it."""
    means: list[float] = []
    for _ in range(REPETITIONS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
            torch.cuda.synchronize()
        means.append((time.perf_counter() - begin) / CALLS)
    return statistics.median(means) * 1e3


def _series_of(directory: Path, model: ExportedModel) -> dict[str, Call]:
    """Returns the calls of a model by how it runs; TorchScript is compiled already."""
    module, inputs = _call_of(directory, model)
    calls: dict[str, Call] = {EAGER: lambda: module(*inputs)}
    if not model.traced(directory).exists():
        compiled = torch.compile(module)
        calls[COMPILED] = lambda: compiled(*inputs)
    return calls


def _model_of(directory: Path, name: str) -> ExportedModel:
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    torch.backends.cudnn.allow_tf32 = False
    return next(m for m in ExportedModels.of_directory(directory).models if m.name == name)


def profiled(directory: Path, name: str) -> None:
    """Makes a call behind others, between the marks that a profiler begins and ends at."""
    model = _model_of(directory, name)
    call = _series_of(directory, model)[EAGER]
    _warmed_up(call, model)
    torch.cuda.profiler.start()
    call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def main(directory: Path, name: str, report: Path) -> None:
    """Writes what was found of a model."""
    model = _model_of(directory, name)
    calls = _series_of(directory, model)
    told = {series: _warmed_up(call, model) for series, call in calls.items()}
    print(READY, flush=True)
    sys.stdin.readline()
    for series, call in calls.items():
        if "note" not in told[series]:
            told[series]["milliseconds"] = _milliseconds(call)
    packages = ("torch", "transformers", "diffusers")
    known = [each for each in packages if importlib.util.find_spec(each)]
    versions = {f"timed {each}": importlib.metadata.version(each) for each in known}
    report.write_text(json.dumps({"series": told, "versions": versions}))


if __name__ == "__main__":
    paths = [Path(each) for each in sys.argv[3:]]
    (main if paths else profiled)(Path(sys.argv[1]), sys.argv[2], *paths)
