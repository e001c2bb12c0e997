# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Importing ONNX files with fixed sizes. This needs the extra `real-models`."""

# The packages of the extra are no part of a checkout's environment.
# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnxruntime.tools.onnx_model_utils import fix_output_shapes, make_input_shape_fixed

from ..gpu.array_elements import STORAGE
from .exported import FUNCTION, ExportedModel, ExportedModels, ModelInput

OPSET = 17
"""The version of the operators that a file is brought to, if it has an older one."""
_KEPT = 1024
"""About how many elements of an output are kept as the reference."""
_DTYPES = {onnx.TensorProto.FLOAT: "f32", onnx.TensorProto.FLOAT16: "f16"}
_PACKAGES = ("onnx", "onnxruntime", "iree-base-compiler")
_IMPORTER = "iree.compiler.tools.import_onnx"


def import_all(directory: Path, files: Mapping[Path, Mapping[str, str]], *, traced: bool) -> None:
    """Imports ONNX files into a directory, and lists them beside what it has.

    Args:
        directory: where the MLIR goes, with the list that the other steps read.
        files: the ONNX files, each with the shapes of the inputs to which it gives none,
            such as `{"images": "1x3x320x320"}`.
        traced: whether a TorchScript module of each is written too, for the times of PyTorch.

    Raises:
        RuntimeError: a file is no model of one tensor, an input has no shape, or the importer
            fails.
        OSError: a file cannot be read or written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    known: dict[str, ExportedModel] = {}
    versions = {package: importlib.metadata.version(package) for package in _PACKAGES}
    if ExportedModels.is_in(directory):
        listed = ExportedModels.of_directory(directory)
        known, versions = {each.name: each for each in listed.models}, listed.versions | versions
    for path, shapes in files.items():
        model = _imported(directory, path, shapes, traced=traced)
        known[model.name] = model
        ExportedModels(versions, tuple(known.values())).write_list(directory)
        print(f"{model.name}: {', '.join(model.operands)} -> {model.output}", flush=True)


def _imported(
    directory: Path, path: Path, shapes: Mapping[str, str], *, traced: bool
) -> ExportedModel:
    graph = _with_shapes(path, shapes)
    inputs = tuple(ModelInput(each.name, _operand(path, each)) for each in _inputs_of(graph))
    fixed = directory / f"{path.stem}.onnx"
    onnx.save(graph, fixed)
    data = {each.name: _array(each) for each in inputs}
    expected: Any = onnxruntime.InferenceSession(fixed).run(None, data)[0]
    dtype = {np.dtype(np.float32): "f32", np.dtype(np.float16): "f16"}.get(expected.dtype)
    if dtype is None:
        raise RuntimeError(f"{path}: its first output has elements of {expected.dtype}")
    # An odd stride meets all columns.
    stride = max(1, expected.size // _KEPT) | 1
    kept = expected.ravel()[::stride].astype(np.float64).tolist()
    output = "x".join([*map(str, expected.shape), dtype])
    model = ExportedModel(path.stem, "onnx", inputs, (), output, stride, tuple(kept))
    _import(fixed, model.source(directory))
    if traced:
        _trace(graph, [data[each.name] for each in inputs], model.traced(directory))
    return model


def _inputs_of(graph: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    # Old files list their weights among the inputs.
    weights = {each.name for each in graph.graph.initializer}
    return [each for each in graph.graph.input if each.name not in weights]


def _operand(path: Path, value: onnx.ValueInfoProto) -> str:
    tensor = value.type.tensor_type
    if tensor.elem_type not in _DTYPES:
        name = onnx.TensorProto.DataType.Name(tensor.elem_type)
        raise RuntimeError(f"{path}: input '{value.name}' has elements of {name}, not of a float")
    return "x".join(
        [*(str(each.dim_value) for each in tensor.shape.dim), _DTYPES[tensor.elem_type]]
    )


def _array(drawn: ModelInput) -> npt.NDArray[Any]:
    *shape, dtype = drawn.operand.split("x")
    return np.frombuffer(drawn.data(), STORAGE[dtype]).reshape(tuple(map(int, shape)))


def _with_shapes(path: Path, shapes: Mapping[str, str]) -> onnx.ModelProto:
    """Returns the model of a file whose inputs have fixed shapes.

    Raises:
        RuntimeError: the file holds no model, or an input has no shape or another rank.
    """
    try:
        model = onnx.load(path)
    # Protocol buffers raise an error of a class that is no part of the interface.
    except Exception as error:
        if isinstance(error, OSError):
            raise
        raise RuntimeError(f"{path} is no ONNX file") from error
    known = {each.name for each in _inputs_of(model)}
    if others := sorted(shapes.keys() - known):
        raise RuntimeError(f"{path} has no input '{others[0]}', but {', '.join(sorted(known))}")
    for value in _inputs_of(model):
        if value.name in shapes:
            sizes = [int(each) for each in shapes[value.name].split("x")]
            try:
                make_input_shape_fixed(model.graph, value.name, sizes)
            except ValueError as error:
                raise RuntimeError(f"{path}: {error}") from error
        if any(not each.dim_value > 0 for each in value.type.tensor_type.shape.dim):
            raise RuntimeError(
                f"{path}: input '{value.name}' has no fixed shape; "
                f"give it one as --shape {path.stem}:{value.name}=1x3x224x224"
            )
    # The shapes of what follows are those of the old ones.
    del model.graph.value_info[:]
    fix_output_shapes(model)
    # The importer gives the function the name of the graph.
    model.graph.name = FUNCTION
    if next(each.version for each in model.opset_import if not each.domain) < OPSET:
        model = onnx.version_converter.convert_version(model, OPSET)
    return model


def _import(source: Path, target: Path) -> None:
    """Writes the MLIR of an ONNX file.

    Raises:
        RuntimeError: the importer fails.
    """
    command = [sys.executable, "-m", _IMPORTER, str(source), "-o", str(target)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        said = run.stderr.strip().splitlines() or [f"it ended with {run.returncode}"]
        raise RuntimeError(f"{source} cannot be imported: {said[-1]}")


def _trace(model: onnx.ModelProto, inputs: Sequence[npt.NDArray[Any]], target: Path) -> None:
    """Writes a model as TorchScript, whose convolutions do without TF32 wherever it runs.

    What the converter makes of shapes is computed here. On a GPU it would be kernels that are no
    part of the model, on tensors that the trace has on the CPU.

    Raises:
        RuntimeError: a package is missing, or an operation is unknown to it.
    """
    for package in ("torch", "onnx2torch"):
        if importlib.util.find_spec(package) is None:
            raise RuntimeError(f"{package} is not installed: it comes with the extra `real-models`")
    import onnx2torch
    import torch

    try:
        module = onnx2torch.convert(_without_constants(model)).eval()
        tensors = tuple(torch.from_numpy(each.copy()) for each in inputs)
        # A trace keeps what the flag is as an argument of each convolution.
        with torch.backends.cudnn.flags(allow_tf32=False):
            traced = torch.jit.trace(module, tensors)
        torch.jit.save(torch.jit.freeze(traced, optimize_numerics=False), target)
    # Whatever the converter trips over is what is to be said of it.
    except Exception as error:
        raise RuntimeError(
            f"{target.stem} cannot be traced: {type(error).__name__}: {error}"
        ) from error


def _without_constants(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns a model whose constants are initializers, which alone the converter takes."""
    new = onnx.ModelProto()
    new.CopyFrom(model)
    kept = []
    for node in new.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensor = node.attribute[0].t
            tensor.name = node.output[0]
            new.graph.initializer.append(tensor)
        else:
            kept.append(node)
    del new.graph.node[:]
    new.graph.node.extend(kept)
    return new
