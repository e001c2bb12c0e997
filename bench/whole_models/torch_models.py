# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The architectures as PyTorch modules with drawn weights. This needs PyTorch."""

# The packages of the extra `models` are no part of a checkout's environment.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from .exported import ModelInput

if TYPE_CHECKING:
    from .architectures import Built

TORCH_DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


class TorchModel(torch.nn.Module):
    """A model as a function of its float inputs, in one order, that returns one tensor."""

    def __init__(self, built: Built) -> None:
        super().__init__()
        self.module = built.module
        self._built = built

    def forward(self, *inputs: Any) -> Any:
        """Returns the first output."""
        return _first(self.module(**self._arguments(inputs)))

    def called(self, inputs: Sequence[Any], weights: Mapping[str, Any]) -> Any:
        """Returns the first output with other weights in place of some of the model's own."""
        arguments = self._arguments(inputs)
        return _first(torch.func.functional_call(self.module, dict(weights), (), arguments))

    def _arguments(self, inputs: Sequence[Any]) -> dict[str, Any]:
        return {**dict(zip(self._built.inputs, inputs, strict=True)), **self._built.others}


def _first(output: Any) -> Any:
    return output if isinstance(output, torch.Tensor) else output[0]


def weights_of(module: Any) -> dict[str, Any]:
    """Returns the parameters of a module, and the statistics of its normalizations, by name."""
    statistics = (
        (name, buffer)
        for name, buffer in module.named_buffers()
        if name.endswith(("running_mean", "running_var"))
    )
    return dict([*module.named_parameters(), *statistics])


def tensor_of(drawn: ModelInput) -> Any:
    """Returns an input or a weight as a tensor."""
    *shape, dtype = drawn.operand.split("x")
    data = torch.frombuffer(bytearray(drawn.data()), dtype=TORCH_DTYPES[dtype])
    return data.reshape(tuple(map(int, shape)))
