# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a dumped kernel's assembly says at a glance: LDS bytes and instruction counts."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from ..bank_model.quick_dataclass import dataclass

_ROCM_LDS = re.compile(r"\.amdhsa_group_segment_fixed_size\s+(\d+)")
_PTX_LDS = re.compile(r"^\s*\.shared\s.*\[(\d+)\]", re.MULTILINE)
_ROCM_INSTRUCTION = re.compile(r"^\t((?:ds|v|s|buffer|global|flat|scratch)_\w+)", re.MULTILINE)
_PTX_INSTRUCTION = re.compile(r"^\t(?:@!?%\w+ )?\t?([a-z][\w.]*)\s[^;]*;", re.MULTILINE)


@dataclass(frozen=True)
class AssemblySummary:
    """Static figures of one kernel; every instruction counts once, however often it runs."""

    lds_bytes: int
    lds_instructions: int
    valu_instructions: int

    @staticmethod
    def of(path: Path) -> AssemblySummary:
        """Reads a dumped `.rocmasm` or `.ptx` file.

        Raises:
            ValueError: the file is neither.
        """
        text = path.read_text()
        if path.suffix == ".rocmasm":
            return _rocm_summary(text)
        if path.suffix == ".ptx":
            return _ptx_summary(text)
        raise ValueError(f"{path} is neither a .rocmasm nor a .ptx file")


def _rocm_summary(text: str) -> AssemblySummary:
    mnemonics = Counter(match[1] for match in _ROCM_INSTRUCTION.finditer(text))

    def count(*prefixes: str) -> int:
        return sum(n for name, n in mnemonics.items() if name.startswith(prefixes))

    return AssemblySummary(
        lds_bytes=sum(int(size) for size in _ROCM_LDS.findall(text)),
        lds_instructions=count("ds_"),
        valu_instructions=count("v_") - count("v_mfma", "v_smfmac"),
    )


def _ptx_summary(text: str) -> AssemblySummary:
    mnemonics = Counter(match[1] for match in _PTX_INSTRUCTION.finditer(text))

    def count(pattern: str) -> int:
        return sum(n for name, n in mnemonics.items() if re.match(pattern, name))

    shared = count(r"(ld|st|ldmatrix|atom|red)\b.*\.shared")
    matrix = count(r"(mma|wmma|wgmma)\.")
    other = count(r"(ld|st|bra|bar|ret|cp|prefetch)\b")
    return AssemblySummary(
        lds_bytes=sum(int(size) for size in _PTX_LDS.findall(text)),
        lds_instructions=shared,
        valu_instructions=sum(mnemonics.values()) - matrix - other,
    )
