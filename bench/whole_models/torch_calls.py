# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times one exported model in PyTorch on the GPU, as it is and compiled: a program of its own.

    python -m bench.whole_models.torch_calls DIR MODEL REPORT.json

It says on its standard output when everything is compiled and has run, and times the calls when it
reads a line: other processes can compile until then, and leave the GPU alone from then on.
"""

# PyTorch and the libraries of models are on the machine with the GPU alone.
# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.metadata
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from .architectures import ARCHITECTURES
from .exported import ExportedModel, ExportedModels
from .model_record import CALLS, COMPILED, EAGER, REPETITIONS
from .torch_models import TORCH_DTYPES, TorchModel, tensor_of, weights_of
from .torch_times import READY

Call = Callable[[], Any]


def _call_of(model: ExportedModel) -> tuple[Any, list[Any]]:
    """Returns a model on the GPU with the weights of its export, and its inputs.

    Weights that the output does not depend on are random.
    """
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
    module = TorchModel(replace(built, others=others)).eval().cuda()
    return module, [tensor_of(each).cuda() for each in model.inputs]


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


def main(directory: Path, name: str, report: Path) -> None:
    """Writes what was found of a model."""
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    model = next(m for m in ExportedModels.of_directory(directory).models if m.name == name)
    module, inputs = _call_of(model)
    compiled = torch.compile(module)
    calls: dict[str, Call] = {EAGER: lambda: module(*inputs), COMPILED: lambda: compiled(*inputs)}
    told = {series: _warmed_up(call, model) for series, call in calls.items()}
    print(READY, flush=True)
    sys.stdin.readline()
    for series, call in calls.items():
        if "note" not in told[series]:
            told[series]["milliseconds"] = _milliseconds(call)
    packages = ("torch", "transformers", "diffusers")
    versions = {f"timed {each}": importlib.metadata.version(each) for each in packages}
    report.write_text(json.dumps({"series": told, "versions": versions}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
