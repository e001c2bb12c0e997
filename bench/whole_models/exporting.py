# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporting models as MLIR whose functions take the weights. This needs the extra `models`."""

# The packages of the extra `models` are no part of a checkout's environment.
# pyright: reportMissingImports=false

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import iree.turbine.aot as aot
import torch
from iree.compiler.passmanager import PassManager

from ..gpu.inputs import operand_type
from . import jax_models
from .architectures import ARCHITECTURES, DTYPES, TINY, TINY_DTYPES, Build
from .exported import SCOPE, ExportedModel, ExportedModels, ModelInput
from .torch_models import TorchModel, tensor_of, weights_of

_KEPT, _KEPT_OF_TINY = 1024, 192
"""About how many elements of an output are kept as the reference."""
_KNOWN = torch.export.default_decompositions()
_DECOMPOSED = {
    torch.ops.aten.diff.default: _KNOWN[torch.ops.aten.diff.default],
    torch.ops.aten.__and__.Tensor: torch.ops.aten.bitwise_and.Tensor,
}
"""Operations that IREE's importer takes in another form alone."""
_PACKAGES = ("torch", "transformers", "diffusers", "iree-turbine", "iree-base-compiler", "jax")


class _OfWeights(torch.nn.Module):
    """A model as a function of its inputs and of its weights."""

    def __init__(self, model: TorchModel, weights: Sequence[str]) -> None:
        super().__init__()
        # As a submodule the model would have its own weights captured.
        self._model = (model,)
        self._weights = tuple(weights)

    def forward(self, *tensors: Any) -> Any:
        """Returns the first output."""
        inputs = len(tensors) - len(self._weights)
        weights = dict(zip(self._weights, tensors[inputs:], strict=True))
        return self._model[0].called(tensors[:inputs], weights)


def export_all(directory: Path, only: str = "", *, tiny: bool = False) -> bool:
    """Exports the models in whose names a regular expression is found, and lists them.

    Models that the directory has already and that are not exported again stay listed.

    Args:
        tiny: whether to export the small ones, which the tests run.

    Returns:
        Whether all could be exported; why one could not is printed.

    Raises:
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    torch.set_grad_enabled(False)
    known: dict[str, ExportedModel] = {}
    with contextlib.suppress(RuntimeError):
        known = {each.name: each for each in ExportedModels.of_directory(directory).models}
    versions = {package: importlib.metadata.version(package) for package in _PACKAGES}
    failed = False
    for name, build in (TINY if tiny else ARCHITECTURES).items():
        known_dtypes = (TINY_DTYPES[name],) if tiny else DTYPES.get(name, ("f16",))
        dtypes = [dtype for dtype in known_dtypes if re.search(only, f"{name}_{dtype}")]
        try:
            for model in _exported(directory, name, build, dtypes, tiny):
                known[model.name] = model
        except Exception as error:
            # Whatever the exporter trips over, the other models are wanted.
            print(f"{name} cannot be exported: {type(error).__name__}: {error}", flush=True)
            failed = True
        ExportedModels(versions, tuple(known.values())).write_list(directory)
    if not tiny:
        known |= {each.name: each for each in _exported_from_jax(directory, only)}
        ExportedModels(versions, tuple(known.values())).write_list(directory)
    return not failed


def _exported(
    directory: Path, name: str, build: Build, dtypes: Sequence[str], tiny: bool
) -> Iterator[ExportedModel]:
    """Exports an architecture in some types."""
    if not dtypes:
        return
    torch.manual_seed(0)
    built = build()
    model = TorchModel(built).eval()
    own = weights_of(built.module)
    for dtype in dtypes:
        inputs = [
            ModelInput(each, operand_type(shape, dtype)) for each, shape in built.inputs.items()
        ]
        weights = [_weight(each, tuple(tensor.shape), dtype) for each, tensor in own.items()]
        for weight in weights:
            own[weight.name].data = tensor_of(weight)
        operands = [tensor_of(each) for each in inputs]
        if tiny:
            text, weights = _with_weights_as_inputs(model, operands, weights)
            inputs, weights = [*inputs, *weights], []
        else:
            text, weights = _with_parameters(model, operands, weights)
        for tensor in own.values():
            tensor.data = tensor.data.float()
        expected = model(*(each.float() for each in operands))
        model_of = partial(ExportedModel, f"{name}_{dtype}", "torch", tuple(inputs), tuple(weights))
        yield _written(
            directory,
            text,
            model_of(*_reference(expected, dtype, _KEPT_OF_TINY if tiny else _KEPT)),
        )


def _exported_from_jax(directory: Path, only: str) -> Iterator[ExportedModel]:
    """Exports the block of `jax_models` in f16 and bf16; its weights are inputs."""
    for dtype in ("f16", "bf16"):
        name = f"jax_block_{dtype}"
        if not re.search(only, name):
            continue
        inputs = [
            ModelInput(each, operand_type(shape, dtype))
            if each == "x"
            else _weight(each, shape, dtype)
            for each, shape in jax_models.SHAPES.items()
        ]
        text, output = jax_models.exported([tensor_of(each) for each in inputs])
        model_of = partial(ExportedModel, name, "stablehlo", tuple(inputs), ())
        yield _written(directory, text, model_of(*_reference(output, dtype, _KEPT)))


def _reference(output: Any, dtype: str, count: int) -> tuple[str, int, tuple[float, ...]]:
    """Returns the last fields of an `ExportedModel`, from its output in float32.

    Args:
        count: about how many elements are kept.
    """
    # An odd stride meets all columns.
    stride = max(1, output.numel() // count) | 1
    kept = tuple(round(each, 7) for each in output.flatten()[::stride].tolist())
    return operand_type(output.shape, dtype), stride, kept


def _written(directory: Path, text: str, model: ExportedModel) -> ExportedModel:
    """Writes the MLIR of a model; returns the model."""
    model.source(directory).write_text(text)
    count = len(model.inputs) + len(model.weights)
    print(f"{model.name}: {len(text):,} characters, {count} tensors", flush=True)
    return model


def _with_weights_as_inputs(
    model: TorchModel, operands: Sequence[Any], weights: Sequence[ModelInput]
) -> tuple[str, list[ModelInput]]:
    """Returns MLIR whose function takes the weights that an output depends on, and these."""
    used = list(weights)
    while True:
        exportable = _OfWeights(model, [each.name for each in used])
        text = _mlir(exportable, [*operands, *map(tensor_of, used)])
        named = Counter(re.findall(r"%arg\d+\b", text))
        places = range(len(operands), len(operands) + len(used))
        # A name that stands in the list of arguments alone is that of an embedding, say.
        kept = [each for each, place in zip(used, places, strict=True) if named[f"%arg{place}"] > 1]
        if kept == used:
            return text, used
        used = kept


def _with_parameters(
    model: TorchModel, operands: Sequence[Any], weights: Sequence[ModelInput]
) -> tuple[str, list[ModelInput]]:
    """Returns MLIR that reads its weights from a file of parameters, and those that it reads."""
    tensors = weights_of(model.module)
    for each in weights:
        aot.ExternalTensorTrait(SCOPE, each.name).set(tensors[each.name])
    text = _mlir(model, operands)
    return text, [each for each in weights if f'"{SCOPE}"::"{each.name}"' in text]


def _weight(name: str, shape: tuple[int, ...], dtype: str) -> ModelInput:
    """Returns a weight with a distribution that keeps magnitudes near 1 in all layers."""
    operand = operand_type(shape, dtype)
    if len(shape) > 1 and max(shape[:-1]) > 1 and "embed" not in name and "token" not in name:
        return ModelInput(name, operand, 1 / math.sqrt(math.prod(shape[1:])))
    is_gain = len(shape) == 1 and name.endswith(("weight", "running_var"))
    return ModelInput(name, operand, 0.1, 1.0 if is_gain else 0.0)


def _mlir(module: torch.nn.Module, tensors: Sequence[Any]) -> str:
    """Returns a module as MLIR, whose function `main` takes the tensors."""
    program = torch.export.export(module, tuple(tensors), strict=False)
    # Writes in place become operations on values. Attentions stay whole.
    table = {**aot.decompositions.current_aot_decompositions(), **_DECOMPOSED}
    imported = aot.export(program.run_decompositions(table)).mlir_module
    with imported.context:
        # A third of the text are constants that the importer repeats.
        PassManager.parse("builtin.module(cse)").run(imported)
    return str(imported)
