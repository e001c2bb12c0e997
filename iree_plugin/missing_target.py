# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPUs that CUDA has and that the compiler does not know: what it says then, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..bank_model.targets import NVIDIA, Target, known_targets, target
from .compile_settings import joined_flags

_FLAG = re.compile(rf"--?iree-{NVIDIA.backend}-target=(({NVIDIA.prefix}\d+)[af]?)$")
_FAULT = re.compile(r"^(.*?: )?error: missing GPU target", re.MULTILINE)


def unknown_cuda_target(flags: Sequence[str]) -> str:
    """Returns the NVIDIA GPU that flags name and IREE 3.13 does not know; nothing if there is none.

    A program that says itself what its target is compiles for it all the same.
    """
    given = [match for flag in joined_flags(flags) if (match := _FLAG.match(flag))]
    return given[-1][1] if given and given[-1][2] not in _compiled() else ""


def _compiled() -> dict[str, Target]:
    """Returns the NVIDIA GPUs that IREE 3.13 compiles for, but for names of products."""
    chips = (target(each) for each in known_targets())
    return {each.arch: each for each in chips if each.family is NVIDIA and each.iree_compiles}


def missing_target(arch: str, diagnostics: str, version: str) -> str:
    """Returns the sentence for diagnostics that come from this GPU; nothing for any others."""
    fault = _FAULT.search(diagnostics)
    if fault is None:
        return ""
    sentence = f"{fault[1] or ''}IREE {version} does not know the GPU {arch}"
    number = int(re.sub(r"\D", "", arch))
    older = [each for each in _compiled().values() if (each.compute_capability or 0) < number]
    if not older:
        return sentence
    # The one with the most shared memory, the oldest of these: an H200 runs code for sm_80 so.
    best = min(older, key=lambda each: (-each.lds_bytes, each.compute_capability)).arch
    return f"{sentence}; compile for {best}, whose code runs on it: {NVIDIA.flags(best)[1]}"
