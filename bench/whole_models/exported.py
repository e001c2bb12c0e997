# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported models, and what has to be known of them without the framework they come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..documents import Listing
from ..gpu.inputs import normal_bytes

FUNCTION = "main"
"""The function of an exported module that runs the model."""
SCOPE = "model"
"""The scope of the parameters that are a model's weights."""


@dataclass(frozen=True)
class ModelInput:
    """An input of a model, or one of its weights: normal numbers that its name is the seed of.

    Attributes:
        name: as the framework calls it, such as `layers.0.mlp.up_proj.weight`.
        operand: the type, such as `4096x4096xf16`.
        deviation: the standard deviation of the numbers.
        mean: their mean, such as 1 for the gains of a normalization.
    """

    name: str
    operand: str
    deviation: float = 1.0
    mean: float = 0.0

    def data(self) -> bytes:
        """Returns the bytes of the elements; they depend on nothing but the attributes."""
        return normal_bytes(self.operand, self.name, self.deviation, self.mean)


@dataclass(frozen=True)
class ExportedModel:
    """A model whose MLIR an export wrote.

    Attributes:
        name: the architecture and the type, such as `llama_f16`.
        input_type: the dialect of the MLIR, as `--iree-input-type` takes it.
        inputs: of the function.
        weights: the parameters that it reads; none where the weights are inputs too.
        output: the type of the function's first result.
        stride: how far apart the elements of the output are that were kept of the reference.
        expected: these elements, as PyTorch computes them in float32 from the same inputs.
    """

    name: str
    input_type: str
    inputs: tuple[ModelInput, ...]
    weights: tuple[ModelInput, ...]
    output: str
    stride: int
    expected: tuple[float, ...]

    @property
    def operands(self) -> tuple[str, ...]:
        """Returns the types of the inputs."""
        return tuple(each.operand for each in self.inputs)

    def source(self, directory: Path) -> Path:
        """Returns the path of the model's MLIR."""
        return directory / f"{self.name}.mlir"

    def traced(self, directory: Path) -> Path:
        """Returns the path of the model as TorchScript, which imported ones may have."""
        return directory / f"{self.name}.pt"


@dataclass(frozen=True)
class ExportedModels(Listing):
    """What an export left in a directory.

    Attributes:
        versions: those of what exported it.
    """

    file_name: ClassVar[str] = "models.json"
    made_by: ClassVar[str] = "export into it"

    versions: dict[str, str]
    models: tuple[ExportedModel, ...]
