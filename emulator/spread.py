# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How undefined bits spread through an instruction: one rule for all instructions.

A bit of a result is undefined if there are two ways to fill in the undefined bits of the sources
between which it differs. So the instruction is run several times on trial, with the undefined bits
filled in differently each time, and the results are compared bit by bit.

Worked example: v_and_b32 v2, 0xff, v1, of which v1 was never written. With v1 filled with zeros the
result is 0, with ones it is 0xff, so bits 7:0 of v2 are undefined, and bits 31:8 are 0 for certain.

Why this is right. A bit that differs between two trials is undefined: both fillings are possible.
So no bit is called undefined wrongly, as far as registers are independent of each other: after
`v_mov_b32 v2, v1`, with v1 undefined, `v_xor_b32 v3, v1, v2` is 0 on the hardware, but undefined
here. (`v_xor_b32 v3, v1, v1` is 0 here too: within a trial a register has one value.) Conversely, a
bit that no trial changes may still be undefined. That cannot be for moves, shifts, masks, selects
and permutations by defined amounts, where each bit of the result is one bit of the sources or a
constant: all zeros and all ones tell. For carries, products and floats the other fillings are
pseudo-random, and differ by register and lane, so that a miss in one bit is rare and one in all
bits of a value very rare. A comparison has one bit per lane, which random values may never change:
it is also tried with the value that it compares with, and with the ends of the integers and the
floats. So are scalar instructions, whose SCC is such a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .emulation_errors import UndefinedReadError
from .floats import flush_denormals
from .instruction_text import EXEC, Instruction, Literal, Operand, Register
from .mnemonics import base_name
from .operands import DTYPES, bits_of, literal_bits
from .step import Step
from .undefined import ALL_BITS, I32, NEVER_WRITTEN, Undefined, UndefinedBits, never_written
from .wave_state import SCC, U32, LaneMask, WaveGroup, lanes_or_all

Key = tuple[str, int]
"""A register: file `v` (with accumulation registers) or `s`, and index in it; SCC is one of `s`."""
Fill = Callable[[Key], Any]
"""Words that broadcast to a register's, for its undefined bits."""

_RANDOM_SEEDS = (1, 2, 3, 4)
# Floats of random bits are mostly huge or tiny. These are ordinary, as f32 and as pairs of f16.
_ORDINARY = (0x40490FDB, 0xC2F64248)
# The ends of integers of 32 and 16 bits, and infinities of f32 and f16.
_ENDS = (0x7FFFFFFF, 0x80000000, 0x7FFF7FFF, 0x80008000, 0x7F800000, 0xFF800000, 0x7C007C00)


def execute(step: Step, group: WaveGroup, instruction: Instruction) -> None:
    """Runs one step, whose undefined sources spread into what it writes.

    Raises:
        UndefinedReadError: undefined bits reach EXEC.
    """
    try:
        step(group)
    except UndefinedBits:
        spread(step, group, instruction)


def spread(step: Step, group: WaveGroup, instruction: Instruction) -> None:
    """Runs a step that reads undefined bits, which spread into what it writes.

    Raises:
        UndefinedReadError: undefined bits reach EXEC.
    """
    registers = _Registers(group)
    trials = [_Trial(registers, fill) for fill in _fills(group, instruction)]
    for trial in trials:
        step(trial)
    origins = _origins(trials, group, instruction)
    for key in sorted({key for trial in trials for key in trial.written}):
        _write(registers, key, trials, origins)
    group.refresh_exec()


def condition(
    evaluate: Callable[[WaveGroup], LaneMask], group: WaveGroup, instruction: Instruction
) -> LaneMask:
    """Returns the value [n] of a condition that reads undefined bits.

    Raises:
        UndefinedBits: the value depends on these bits.
    """
    registers = _Registers(group)
    values = [evaluate(_Trial(registers, fill)) for fill in _fills(group, instruction)]
    if any((value != values[0]).any() for value in values):
        return evaluate(group)
    return values[0]


class _Registers:
    """The registers of a group before an instruction, each of which is looked up once.

    Attributes:
        group: the group that executes the instruction.
    """

    def __init__(self, group: WaveGroup) -> None:
        self.group = group
        self._found: dict[Key, tuple[U32, Undefined | None]] = {}

    def of(self, key: Key) -> tuple[U32, Undefined | None]:
        """Returns a register's words, [n, 64] or [n], and their undefined bits."""
        if key not in self._found:
            self._found[key] = self.group.register(*key)
        return self._found[key]


class _Trial(WaveGroup):
    """A group whose registers are copies with their undefined bits filled in.

    Attributes:
        read: the registers with undefined bits that were read.
        written: for each register that was written the lanes [n, 64] in which it was, or one value
            for all of them.
    """

    def __init__(self, registers: _Registers, fill: Fill) -> None:
        vars(self).update(vars(registers.group))
        self._registers = registers
        self._fill = fill
        self._copies: dict[Key, U32] = {}
        self.read: dict[Key, Undefined] = {}
        self.written: dict[Key, npt.NDArray[np.bool_] | np.bool_] = {}

    def words(self, key: Key) -> U32:
        """Returns the register's words in this trial, [n, 64] or [n]."""
        if key not in self._copies:
            words, undefined = self._registers.of(key)
            if undefined is not None:
                words = words ^ (words ^ self._fill(key)) & undefined.bits
            self._copies[key] = words
        return self._copies[key]

    def _read(self, key: Key) -> U32:
        undefined = self._registers.of(key)[1]
        if undefined is not None:
            self.read[key] = undefined
        return self.words(key)

    def _change(self, key: Key, value: Any, lanes: LaneMask | None) -> None:
        if lanes is None:
            shape = self._registers.of(key)[0].shape
            self._copies[key] = np.broadcast_to(np.asarray(value).astype(np.uint32), shape)
            self.written[key] = np.True_
            return
        self._copies[key] = np.where(lanes, value, self.words(key))
        self.written[key] = self.written.get(key, np.False_) | lanes

    def refresh_exec(self) -> None:
        words = [self.words(("s", EXEC.index + half)) for half in range(self.lanes // 32)]
        self.active = lanes_or_all(words)

    def s(self, index: int) -> U32:
        return self._read(("s", index))

    def set_s(self, index: int, value: U32 | np.uint32 | int) -> None:
        self._change(("s", index), value, None)
        if EXEC.index <= index < EXEC.index + EXEC.count:
            self.refresh_exec()

    def scc(self) -> npt.NDArray[np.bool_]:
        return self._read(("s", SCC)) != 0

    def set_scc(self, value: npt.NDArray[np.bool_]) -> None:
        self._change(("s", SCC), value, None)

    def v(self, index: int, every_lane: bool = False) -> U32:
        return self._read(("v", index))

    def v_moved(
        self, index: int, moved: Callable[[U32], U32], used: Callable[[WaveGroup], LaneMask]
    ) -> U32:
        return moved(self.v(index))

    def v_of_lane(self, index: int, lanes: npt.NDArray[np.intp]) -> U32:
        return self.v(index)[np.arange(self.count), lanes]

    def block(self, index: int, count: int, every_lane: bool = False) -> U32:
        return np.stack([self.v(index + k) for k in range(count)])

    def set_block(self, index: int, values: U32, lanes: LaneMask | None = None) -> None:
        for offset, value in enumerate(values):
            self.set_v(index + offset, value, lanes)

    def set_v(self, index: int, value: U32, lanes: LaneMask | None = None) -> None:
        self._change(("v", index), value, self.active if lanes is None else lanes)

    def set_half(self, index: int, value: U32, shift: int, lanes: LaneMask | None = None) -> None:
        half = np.uint32(0xFFFF << shift)
        words = self._read(("v", index)) & ~half | value << np.uint32(shift) & half
        self.set_v(index, words, lanes)

    def v_f32(self, index: int) -> npt.NDArray[np.float32]:
        values = self.v(index).view(np.float32)
        return flush_denormals(values) if self.mode.flush_f32 else values

    def set_f32(self, index: int, values: npt.NDArray[np.float32]) -> None:
        self.set_v(index, values.view(np.uint32))


# Fillings.


def _fills(group: WaveGroup, instruction: Instruction) -> Iterator[Fill]:
    """Yields the fillings of undefined bits that are tried, one after the other."""
    yield lambda key: np.uint32(0)
    yield lambda key: ALL_BITS
    for seed in _RANDOM_SEEDS:
        yield partial(_random, seed, group.lanes)
    for number in _ORDINARY:
        yield lambda key, number=number: np.uint32(number + key[1] * 0x10001 & 0xFFFFFFFF)
    if "cmp" in instruction.mnemonic or instruction.mnemonic.startswith("s_"):
        for number in _ENDS:
            yield lambda key, number=number: np.uint32(number)
        for operand in instruction.operands:
            yield partial(_like_operand, group, instruction, operand)


@lru_cache(maxsize=4096)
def _random(seed: int, lanes: int, key: Key) -> U32:
    file, index = key
    random = np.random.default_rng([seed, ord(file), index])
    return random.integers(0, 1 << 32, lanes if file == "v" else 1, np.uint32)


def _like_operand(group: WaveGroup, instruction: Instruction, like: Operand, key: Key) -> Any:
    """Fills a register in with what another operand of the instruction, `like`, holds.

    A register that is no operand is filled with zeros.
    """
    file, index = key
    for operand in instruction.operands:
        value = operand.value
        if operand is like or not isinstance(value, Register):
            continue
        offset = index - (value.index if file == "s" else group.machine.vector_index(value))
        if (value.file == "s") == (file == "s") and 0 <= offset < value.count:
            return _operand_word(group, instruction, like, offset, file)
    return np.uint32(0)


def _operand_word(
    group: WaveGroup, instruction: Instruction, operand: Operand, offset: int, file: str
) -> Any:
    """Returns word `offset` of an operand, with zeros for its undefined bits.

    The result broadcasts to the words of a register of file `file`.
    """
    value = operand.value
    if isinstance(value, Literal):
        kind = base_name(instruction.mnemonic).rpartition("_")[2]
        kind = kind if kind in DTYPES else "b32"
        bits = literal_bits(value.value, kind)
        word = bits * 0x10001 if bits_of(kind) == 16 else bits >> 32 * offset
        return np.uint32(word & 0xFFFFFFFF)
    if not isinstance(value, Register) or offset >= value.count:
        return np.uint32(0)
    scalar = value.file == "s"
    index = value.index if scalar else group.machine.vector_index(value)
    words, undefined = group.register("s" if scalar else "v", index + offset)
    if undefined is not None:
        words = words & ~undefined.bits
    if file == "s":
        return words if scalar else np.uint32(0)
    return words[:, None] if scalar else words


# What comes of the trials.


def _origins(trials: list[_Trial], group: WaveGroup, instruction: Instruction) -> I32:
    """Returns the origin [n, 64] of the undefined bits that each lane read.

    A lane that read none gets an origin that another lane of its wave, or of the group, read.
    """
    origins = np.zeros((group.count, group.lanes), np.int32)
    read = {key: undefined for trial in trials for key, undefined in trial.read.items()}
    for key, undefined in read.items():
        numbers, bits = undefined.origins, undefined.bits
        if ((numbers == NEVER_WRITTEN) & (bits != 0)).any():
            name, machine = group.register_name(*key), group.machine
            new = machine.memory.origins.number(never_written(name, machine.kernel, instruction))
            numbers = np.where(numbers == NEVER_WRITTEN, np.int32(new), numbers)
        if key[0] == "s":
            numbers, bits = numbers[:, None], bits[:, None]
        origins = np.where((origins == NEVER_WRITTEN) & (bits != 0), numbers, origins)
    of_waves = origins.max(axis=1, keepdims=True)
    origins = np.where(origins == NEVER_WRITTEN, of_waves, origins)
    return np.where(origins == NEVER_WRITTEN, origins.max(), origins)


def _write(registers: _Registers, key: Key, trials: list[_Trial], origins: I32) -> None:
    """Gives a register the words of the first trial.

    The bits that differ from trial to trial become undefined.
    """
    group, words = registers.group, trials[0].words(key)
    differing = np.zeros_like(words)
    for trial in trials[1:]:
        differing |= trial.words(key) ^ words
    if key[0] == "s":
        origins = origins.max(axis=1)
    undefined = None
    if differing.any():
        old, written = registers.of(key)[1], np.False_
        for trial in trials:
            written = written | trial.written.get(key, np.False_)
        undefined = Undefined(
            differing, origins if old is None else np.where(written, origins, old.origins)
        )
    if undefined is not None and key in _EXEC_KEYS:
        raise _undefined_exec(group, key, undefined)
    group.set_register(*key, words, undefined)


_EXEC_KEYS = tuple(("s", EXEC.index + half) for half in range(EXEC.count))


def _undefined_exec(group: WaveGroup, key: Key, undefined: Undefined) -> UndefinedReadError:
    row = int(np.flatnonzero(undefined.bits)[0])
    bits = int(undefined.bits[row])
    lane = 32 * _EXEC_KEYS.index(key) + (bits & -bits).bit_length() - 1
    found = UndefinedBits(int(group.waves[row]), lane, "exec", int(undefined.origins[row]))
    return UndefinedReadError(found.message("The new EXEC", group.machine.memory.origins))
