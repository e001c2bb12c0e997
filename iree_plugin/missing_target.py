# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPUs of NVIDIA that nobody describes to the compiler: what it says then, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..bank_model.families import NVIDIA
from ..bank_model.features import features_of
from ..bank_model.lds_tables import known_targets, lds_of
from .described_target import compiles_for, named_cuda_target, understood_flags

_NAME = re.compile(rf"{NVIDIA.prefix}(\d+)[af]?")
_FAULT = re.compile(r"^(.*?: )?error: missing GPU target", re.MULTILINE)


def unknown_cuda_target(flags: Sequence[str]) -> str:
    """Returns the NVIDIA GPU that flags name and that is not known; nothing if there is none.

    A program that says itself what its target is compiles for it all the same.
    """
    name = named_cuda_target(understood_flags(flags))
    return name if _NAME.fullmatch(name) and name not in _compiled() else ""


def _compiled() -> list[str]:
    """Returns the NVIDIA GPUs that code can be compiled for, but for names of products."""
    return [each for each in known_targets() if compiles_for(each)]


def missing_target(arch: str, diagnostics: str, version: str) -> str:
    """Returns the sentence for diagnostics that come from this GPU; nothing for any others."""
    fault = _FAULT.search(diagnostics)
    if fault is None:
        return ""
    sentence = f"{fault[1] or ''}error: IREE {version} does not know the GPU {arch}"
    best = _replacement(arch)
    if not best:
        return sentence
    return f"{sentence}; compile for {best}, whose code runs on it: {NVIDIA.flags(best)[1]}"


def _replacement(arch: str) -> str:
    """Returns a GPU whose code runs on another one; empty where none is known."""
    name = _NAME.fullmatch(arch)
    assert name is not None
    compiled, number = _compiled(), int(name[1])
    if f"{NVIDIA.prefix}{number}" in compiled:
        return f"{NVIDIA.prefix}{number}"
    # The code of a variant, such as sm_90a, runs on no other GPU.
    older = {
        each: capability
        for each in compiled
        if (capability := features_of(each).compute_capability) is not None
        and capability < number
        and each == f"{NVIDIA.prefix}{capability}"
    }
    # The one with the most shared memory, the oldest of these: an H200 runs code for sm_80.
    return min(older, key=lambda arch: (-lds_of(arch).workgroup_bytes, older[arch]), default="")
