# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of dialects without Python classes, and the modules that the bindings search for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.operations import operations_in

_OPERATIONS = {
    "nvgpu": "%c = nvgpu.device_async_create_group",
    "iree_vector_ext": "iree_vector_ext.to_simt %a : vector<4xf32> -> vector<4xf32>",
    "ub": "%b = ub.poison : vector<4xf32>",
    "bufferization": "%t = bufferization.alloc_tensor() : tensor<4xf32>",
}


class _Recorder:
    """Notes the modules that are searched for, and finds none."""

    def __init__(self) -> None:
        self.searched: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        self.searched.append(name)


@pytest.mark.parametrize("dialect", _OPERATIONS)
def test_no_module_is_searched_for_operations_without_one(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = _Recorder()
    monkeypatch.setattr(sys, "meta_path", [recorder, *sys.meta_path])
    text = f"func.func @f(%a: vector<4xf32>) {{ {_OPERATIONS[dialect]} return }}"
    with ir.Context():
        found = operations_in(ir.Module.parse(text).operation)
        kinds = {type(op.opview) for op in found if op.name.startswith(f"{dialect}.")}
    assert kinds == {ir.OpView}
    assert not [name for name in recorder.searched if name.endswith(f".{dialect}")]
