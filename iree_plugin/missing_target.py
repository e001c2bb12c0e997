# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPUs that CUDA has and that the compiler does not know: what it says then, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..bank_model.targets import known_targets, target
from .compile_settings import joined_flags

# What `iree-compile` takes for --iree-cuda-target, but for names of products.
_KNOWN = frozenset({60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 120, 121})
_FLAG = re.compile(r"--?iree-cuda-target=(sm_(\d+)[af]?)$")
_FAULT = re.compile(r"^(.*?: )?error: missing GPU target", re.MULTILINE)


def unknown_cuda_target(flags: Sequence[str]) -> str:
    """Returns the NVIDIA GPU that flags name and IREE 3.13 does not know; nothing if there is none.

    A program that says itself what its target is compiles for it all the same.
    """
    given = [match for flag in joined_flags(flags) if (match := _FLAG.match(flag))]
    return given[-1][1] if given and int(given[-1][2]) not in _KNOWN else ""


def missing_target(arch: str, diagnostics: str, version: str) -> str:
    """Returns the sentence for diagnostics that come from this GPU; nothing for any others."""
    fault = _FAULT.search(diagnostics)
    if fault is None:
        return ""
    sentence = f"{fault[1] or ''}IREE {version} does not know the GPU {arch}"
    number = int(re.sub(r"\D", "", arch))
    chips = (target(each) for each in known_targets())
    runs = {chip.compute_capability: chip for chip in chips if chip.compute_capability in _KNOWN}
    older = [each for each in runs if each is not None and each < number]
    if not older:
        return sentence
    # The one with the most shared memory, the oldest of these: an H200 runs code for sm_80 so.
    best = min(older, key=lambda each: (-runs[each].lds_bytes, each))
    return f"{sentence}; compile for sm_{best}, whose code runs on it: --iree-cuda-target=sm_{best}"
