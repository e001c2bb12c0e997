# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Atomics on memory and on the LDS against AMD's pseudocode for CDNA3, RDNA3 and RDNA4.

Each lane has an address of its own, so that the text, which is of one lane, says all. What lanes
with one address do is tested in `test_lds_instructions.py`. The texts come with the tinygrad wheel.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from tinygrad.runtime.autogen.amd.cdna.str_pcode import PCODE as CDNA
from tinygrad.runtime.autogen.amd.rdna3.str_pcode import PCODE as RDNA3
from tinygrad.runtime.autogen.amd.rdna4.str_pcode import PCODE as RDNA4

from bankwise.emulator.chips import CHIPS
from bankwise.emulator.global_memory import GlobalMemory

from .amd_pseudocode import BUILTINS, Pseudocode, Value
from .small_kernels import descriptor, run
from .test_pseudocode import operands

U64 = npt.NDArray[np.uint64]
_TABLES: Mapping[str, Mapping[Any, str]] = {"gfx942": CDNA, "gfx1100": RDNA3, "gfx1201": RDNA4}
_ATOMIC = re.compile(
    r"^(ds_(add|sub|rsub|inc|dec|min|max|and|or|xor|mskor|cmpst|cmpstore|cond_sub|sub_clamp|wrap"
    r"|storexchg|wrxchg|min_num|max_num|pk_add)(_rtn)?_\w?\w?\d+"
    r"|(global|flat|buffer)_atomic_\w+)$"
)
SKIPPED: Mapping[str, str] = {
    r"global_atomic_ordered_add_b64": "not modelled",
    r"flat_atomic_csub_u32": "LLVM has no such instruction for the chip",
    r"\w+pk_add_(rtn_)?bf16": "the text does not say how bf16 is rounded",
}


class Text(NamedTuple):
    """An atomic of a chip's tables."""

    arch: str
    name: str
    text: str


def _texts() -> list[Text]:
    found = {
        (arch, key.name.lower()): text
        for arch, table in _TABLES.items()
        for key, text in table.items()
    }
    return [
        Text(*key, text)
        for key, text in found.items()
        if _ATOMIC.match(key[1]) and not any(re.fullmatch(each, key[1]) for each in SKIPPED)
    ]


class Shape(NamedTuple):
    """How an atomic is written: the bits of its value, and how many operands it has."""

    bits: int
    operands: int


def _shape(name: str) -> Shape:
    wide = name.endswith(("_x2", "64"))
    two = re.search("cmp|mskor|wrap", name) is not None
    return Shape(64 if wide else 32, 2 if two else 1)


def _pseudocode(text: str) -> Pseudocode:
    """Returns the text with memory, data and result as registers MEM, S0, S1 and D0."""
    lines = [line for line in text.splitlines() if not re.match(r"^\s*addr = ", line)]
    code = re.sub(r"MEM\[(ADDR|addr)\]", "MEM", "\n".join(lines))
    code = re.sub(r"\bRETURN_DATA\b", "D0", code)
    code = re.sub(r"\bDATA2\b", "S1", code)
    return Pseudocode(re.sub(r"\bDATA\b", "S0", code), BUILTINS)


def _registers(first: int, bits: int, count: int = 1) -> str:
    words = bits // 32 * count
    return f"v{first}" if words == 1 else f"v[{first}:{first + words - 1}]"


RESULT, DATA, SECOND, WHERE, ADDRESS = 8, 12, 14, 4, 2


def _instruction(each: Text, shape: Shape, returns: bool) -> str:
    """Returns the instruction, with the data in v12 and behind."""
    name, bits = each.name, shape.bits
    result = [_registers(RESULT, bits)] if returns else []
    if name.startswith("ds_"):
        data = [_registers(DATA + 2 * i, bits) for i in range(shape.operands)]
        return f"{name} {', '.join([*result, f'v{WHERE}', *data])}"
    data = _registers(DATA, bits, shape.operands)
    asks = ""
    if returns:
        hints = " th:TH_ATOMIC_RETURN" if CHIPS[each.arch].has_split_counters else " glc"
        asks = " sc0" if each.arch == "gfx942" else hints
    if name.startswith("buffer_"):
        return f"{name} {data}, v{WHERE}, s[4:7], 0 offen{asks}"
    base = f"v{WHERE}, {data}, s[4:5]"
    if name.startswith("flat_"):
        base = f"v[{ADDRESS}:{ADDRESS + 1}], {data}"
    return f"{name} {', '.join([*result, base])}{asks}"


def _wait(arch: str) -> str:
    return "s_wait_loadcnt_dscnt 0x0" if CHIPS[arch].has_split_counters else "s_waitcnt 0"


def _run(
    each: Text, shape: Shape, before: U64, data: list[U64], returns: bool
) -> tuple[U64, U64 | None]:
    """Returns memory behind the instruction, and what it has returned."""
    lanes = len(before)
    memory = GlobalMemory()
    words = before.view(np.uint32).reshape(lanes, 2)[:, : shape.bits // 32]
    address = memory.allocate(np.ascontiguousarray(words))
    where = shape.bits // 8 * np.arange(lanes)
    vectors: dict[int, npt.NDArray[np.generic]] = {WHERE: where}
    vectors |= {ADDRESS: (address & 0xFFFFFFFF) + where, ADDRESS + 1: np.array(address >> 32)}
    packed = not each.name.startswith("ds_")
    step = shape.bits // 32 if packed else 2
    for number, values in enumerate(data):
        for half in range(shape.bits // 32):
            vectors[DATA + step * number + half] = values >> np.uint64(32 * half)
    code = f"\t{_instruction(each, shape, returns)}\n\t{_wait(each.arch)}"
    if each.name.startswith("ds_"):
        vectors |= {20 + i: words[:, i] for i in range(shape.bits // 32)}
        store = "ds_write" if each.arch == "gfx942" else "ds_store"
        code = f"\t{store}_b{shape.bits} v{WHERE}, {_registers(20, shape.bits)}\n{code}"
    scalars = descriptor(memory, address, 1024)
    if CHIPS[each.arch].is_rdna:
        scalars[7] = 0x31027000
    machine = run(
        code, arch=each.arch, threads=lanes, lds_bytes=1024, vectors=vectors,
        scalars=scalars, memory=memory,
    )  # fmt: skip
    count = lanes * shape.bits // 8
    after = machine.lds.bytes[:count] if not packed else memory.read(address, count)
    first = DATA if each.name.startswith("buffer_") else RESULT
    found = machine.vgpr[first : first + shape.bits // 32, 0].astype(np.uint64)
    result = found[0] | (found[1] << np.uint64(32) if shape.bits == 64 else np.uint64(0))
    return after.view(f"u{shape.bits // 8}").astype(np.uint64), result if returns else None


def _alike(ours: U64, theirs: tuple[int, ...], name: str) -> bool:
    """Returns whether values are equal, or both NaNs where the instruction has floats."""
    kind = re.search(r"_f(16|32|64)$", name)
    if kind is None:
        return ours.tolist() == list(theirs)
    parts = np.stack([ours, np.array(theirs, np.uint64)]).view(f"f{int(kind[1]) // 8}")
    words = parts.view(f"u{int(kind[1]) // 8}")
    return bool((np.isnan(parts).all(axis=0) | (words[0] == words[1])).all())


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("each", _texts(), ids=lambda each: f"{each.arch}-{each.name}")
def test_atomic(each: Text) -> None:
    shape = _shape(each.name)
    lanes = CHIPS[each.arch].wave_sizes[0]
    before, *data = operands(each.name, (shape.bits,) * (1 + shape.operands), lanes)
    if zlib.crc32(each.name.encode()) % 2:
        # So that comparisons hold in some lanes.
        data[-1][::3] = before[::3]
    pseudocode = _pseudocode(each.text)
    expected = []
    for lane in range(lanes):
        values = [Value(int(words[lane]), shape.bits) for words in data]
        registers = {"MEM": Value(int(before[lane]), shape.bits), "D0": Value(0, shape.bits)}
        if each.name.startswith("ds_"):
            registers |= {f"S{i}": value for i, value in enumerate(values)}
        else:
            joined = sum(value.bits << shape.bits * i for i, value in enumerate(values))
            registers["S0"] = Value(joined, shape.bits * shape.operands)
        after = pseudocode.run(registers)
        expected.append((after["MEM"].bits, after["D0"].bits))
    memory, texts_result = zip(*expected, strict=True)
    only = each.name.startswith("ds_")
    for returns in (False, True) if not only else ("_rtn_" in each.name,):
        if "csub" in each.name and not returns:
            continue
        ours, result = _run(each, shape, before, data, returns)
        assert _alike(ours, memory, each.name)
        if result is not None:
            assert result.tolist() == list(texts_result)


def test_how_many_are_compared() -> None:
    compared = [each.arch for each in _texts()]
    assert [compared.count(arch) for arch in _TABLES] == [170, 165, 170]
