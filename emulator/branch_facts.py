# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of scalar registers on one path through a kernel, because of its branches.

    s_cmp_eq_u32 s8, 1
    s_cbranch_scc1 one_step         on the path that goes on here s8 is not 1,
    ...
    s_cmp_lt_u32 s8, 2              and so a later branch may be decided
    s_cbranch_scc1 wait_all

A *condition* is a compare, or another instruction with a result of one bit, and the operands that
it reads. It keeps its value until one of its registers is written. A register *holds* a condition
if it is not 0 just where the condition is true: SCC behind a compare, a pair behind
`s_cselect_b64 s[10:11], -1, 0`, and VCC behind `s_and_b64 vcc, exec, s[10:11]`. (Code under an EXEC
of 0 is no path of interest: nothing is loaded there.) Of registers that are compared with numbers
the possible values are known, so that one compare implies another. They are known for its copies,
too, and for sums with numbers: behind `s_sub_u32 s9, s8, 1` s9 is not 0, if s8 is not 1. Each such
*relative* has a base, and it is the bases whose values are known.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from .instruction_text import EXEC, VCC, Instruction, Literal, Operand, Register
from .polling import SCC_KEY, Flow
from .waits import RegisterKey, registers_of

_TOP = (1 << 32) - 1
_HALF = 1 << 31
Values = tuple[tuple[int, int], ...]
"""Ranges of 32-bit words, without sign, in ascending order; both ends are in the range."""
_ALL: Values = ((0, _TOP),)
Sum = tuple[RegisterKey, int]
"""A register and the number that is added to it, modulo 2**32."""
_SUM = re.compile(r"s_(add|sub|mov)(?:k_i32|_[iu]32|_b32)$")


@dataclass(frozen=True)
class Condition:
    """A condition, or with `negated` that it is false.

    Attributes:
        what: tells conditions apart.
        registers: the registers whose values it depends on.
        tested: the register whose value lies in `values` just if the condition is true; None if
            there is no such register.
    """

    what: Hashable
    registers: frozenset[RegisterKey]
    tested: RegisterKey | None = None
    values: Values = ()
    negated: bool = False

    def inverse(self) -> Condition:
        """Returns the condition that is true where this one is false."""
        return replace(self, negated=not self.negated)

    def moved(self, key: RegisterKey, place: Sum) -> Condition:
        """Returns what is true where this one is, if the register `key` is a sum."""
        base, number = place
        if self.tested != key or base == key:
            return self
        values = _shifted(self.values, -number)
        return Condition((base, values), frozenset({base}), base, values, self.negated)


@dataclass
class Facts:
    """What is known on a path.

    Attributes:
        values: the possible values of registers; one that is not there may have any.
        relatives: registers that are the sum of another register, their base, and a number.
        known: conditions without a tested register, by `what`, and whether they are true.
        held: the condition that registers hold, by the first word of the register.
        shared: registers that depend on what an atomic found in memory, which other waves decide.
        returns: the instructions whose addresses pairs of registers have, by the pair's first word.
    """

    values: dict[RegisterKey, Values] = field(default_factory=dict)
    relatives: dict[RegisterKey, Sum] = field(default_factory=dict)
    known: dict[Hashable, tuple[bool, frozenset[RegisterKey]]] = field(default_factory=dict)
    held: dict[RegisterKey, Condition] = field(default_factory=dict)
    shared: dict[RegisterKey, None] = field(default_factory=dict)
    returns: dict[RegisterKey, int] = field(default_factory=dict)

    def copy(self) -> Facts:
        """Returns a copy, which changes on its own."""
        return Facts(*(dict(part) for part in self._parts()))

    def key(self) -> Hashable:
        """Returns what is equal for equal facts."""
        return tuple(frozenset(part.items()) for part in self._parts())

    def _parts(self) -> tuple[dict[Any, Any], ...]:
        return self.values, self.relatives, self.known, self.held, self.shared, self.returns

    def keep(self, live: frozenset[RegisterKey]) -> None:
        """Forgets what no later branch asks for.

        Args:
            live: the registers whose values later branches depend on.
        """
        for part in (self.relatives, self.held, self.shared, self.returns):
            for key in part.keys() - live:
                del part[key]
        live |= {base for base, _ in self.relatives.values()}
        live = live.union(*(condition.registers for condition in self.held.values()))
        for key in self.values.keys() - live:
            del self.values[key]
        for what in [what for what, (_, keys) in self.known.items() if not keys <= live]:
            del self.known[what]

    def go_back(self) -> None:
        """Takes the facts along a branch back, behind which sums may be others in each round."""
        for key in [key for key, (_, number) in self.relatives.items() if number]:
            del self.relatives[key]

    def after(self, instruction: Instruction, flow: Flow) -> None:
        """Takes the facts behind an instruction that is no branch."""
        new, made = self._held_by(instruction, flow), self._sum(instruction)
        written = flow.writes | flow.loaded
        for base in [key for key in written if self._is_base(key)]:
            moved = self._give_up(base, written)
            if moved is not None:
                new = [(key, condition.moved(base, moved)) for key, condition in new]
            if made is not None and made[1][0] == base:
                made = None if moved is None else (made[0], _plus(moved, made[1][1]))
        if written:
            self._write(written)
        for key, condition in new:
            if condition.registers.isdisjoint(written):
                self.held[key] = condition
        if made is not None and made[1][0] not in written:
            self.relatives[made[0]] = made[1]
        self._share(instruction, flow)
        possible = _possible_values(instruction)
        if possible is not None:
            self.values[possible[0]] = possible[1]

    def _share(self, instruction: Instruction, flow: Flow) -> None:
        if "_atomic_" in instruction.mnemonic:
            self.shared.update(dict.fromkeys(flow.loaded))
        elif self.shared:
            if not self.shared.keys().isdisjoint(flow.reads):
                self.shared.update(dict.fromkeys(flow.writes))
            else:
                for key in self.shared.keys() & (flow.writes | flow.loaded):
                    del self.shared[key]

    def _is_base(self, key: RegisterKey) -> bool:
        return any(base == key for base, _ in self.relatives.values())

    def _give_up(self, base: RegisterKey, written: frozenset[RegisterKey]) -> Sum | None:
        """Makes another register the base of a base's relatives, before it is written.

        Returns what the base is a sum of then; None if no relative is left.
        """
        numbers = {
            key: number
            for key, (other, number) in self.relatives.items()
            if other == base and key not in written
        }
        for key in [key for key, (other, _) in self.relatives.items() if other == base]:
            del self.relatives[key]
        if not numbers:
            return None
        heir = min(numbers)
        moved = heir, -numbers.pop(heir) & _TOP
        for key, number in numbers.items():
            self.relatives[key] = _plus(moved, number)
        # What is counted from round to round of a loop would have other values in each of them.
        if base in self.values and not moved[1]:
            self.values[heir] = self.values[base]
        self.held = {key: held.moved(base, moved) for key, held in self.held.items()}
        return moved

    def _sum(self, instruction: Instruction) -> tuple[RegisterKey, Sum] | None:
        """Returns the register that an instruction makes the sum of another one and a number."""
        found = _SUM.match(instruction.mnemonic)
        if found is None:
            return None
        target, *operands = instruction.operands
        if instruction.mnemonic == "s_addk_i32":
            operands = [target, *operands]
        if found[1] == "add" and len(operands) == 2 and _number(operands[0]) is not None:
            operands = operands[::-1]
        number = 0 if found[1] == "mov" else _immediate(instruction, operands[1])
        result, source = _first_key(target), _first_key(operands[0])
        if result is None or source is None or number is None:
            return None
        return result, _plus(self._base(source), -number if found[1] == "sub" else number)

    def _base(self, key: RegisterKey) -> Sum:
        return self.relatives.get(key, (key, 0))

    def _write(self, written: frozenset[RegisterKey]) -> None:
        for key in written:
            self.values.pop(key, None)
            self.relatives.pop(key, None)
            for word in (key, (key[0], key[1] - 1)):
                self.returns.pop(word, None)
        for what in [what for what, (_, keys) in self.known.items() if keys & written]:
            del self.known[what]
        stale = [k for k, held in self.held.items() if k in written or held.registers & written]
        for key in stale:
            del self.held[key]

    def _held_by(self, instruction: Instruction, flow: Flow) -> list[tuple[RegisterKey, Condition]]:
        """Returns the registers that hold a condition behind an instruction, with it."""
        name, operands = instruction.mnemonic, instruction.operands
        if name.startswith(("s_cmp", "s_bitcmp")):
            copied = self._test_of_held(instruction)
            return [(SCC_KEY, copied or self._of_base(compare(instruction)))]
        first = _first_key(operands[0]) if operands else None
        if first is None:
            return []
        if name.startswith("s_cselect_b"):
            condition = self.held.get(SCC_KEY)
            yes, no = (_number(operand) for operand in operands[1:3])
            if condition is None or yes is None or no is None or bool(yes) == bool(no):
                return []
            return [(first, condition if yes else condition.inverse())]
        if name.startswith(("s_mov_b", "s_and_b")):
            sources = [o for o in operands[1:] if o.value != EXEC]
            key = _first_key(sources[0]) if len(sources) == 1 else None
            if key in self.held:
                both = [first] if name.startswith("s_mov") else [first, SCC_KEY]
                return [(target, self.held[key]) for target in both if key is not None]
        if name.startswith("v_cmp_"):
            keys = flow.reads | set(registers_of(EXEC))
            return [(first, _opaque(instruction, keys))]
        if SCC_KEY in flow.writes and SCC_KEY not in flow.reads:
            return [(SCC_KEY, _opaque(instruction, flow.reads))]
        return []

    def _of_base(self, condition: Condition) -> Condition:
        """Returns a condition on a register as one on its base."""
        key = condition.tested
        return condition if key is None else condition.moved(key, self._base(key))

    def _test_of_held(self, instruction: Instruction) -> Condition | None:
        """Returns the condition that a compare of a register with 0 asks for, if it holds one."""
        found = re.match(r"s_cmpk?_(eq|lg)_[iu](32|64)$", instruction.mnemonic)
        if found is None:
            return None
        key, number = _first_key(instruction.operands[0]), _number(instruction.operands[1])
        if key is None or number != 0 or key not in self.held:
            return None
        return self.held[key] if found[1] == "lg" else self.held[key].inverse()

    def condition_of(self, mnemonic: str) -> Condition | None:
        """Returns the condition under which a branch is taken; None if it is not known."""
        if "scc" in mnemonic:
            held = self.held.get(SCC_KEY)
        elif "vcc" in mnemonic:
            held = self.held.get(registers_of(VCC)[0])
        else:
            return None
        if held is None:
            return None
        return held if mnemonic.endswith(("scc1", "vccnz")) else held.inverse()

    def decide(self, condition: Condition) -> bool | None:
        """Returns whether a condition is true; None if the facts do not say."""
        found: bool | None = None
        if condition.tested is not None:
            possible = self.values.get(condition.tested, _ALL)
            inside = _both(possible, condition.values)
            if not inside:
                found = False
            elif inside == possible:
                found = True
        elif condition.what in self.known:
            found = self.known[condition.what][0]
        return found if found is None else found is not condition.negated

    def assume(self, condition: Condition, true: bool) -> None:
        """Takes a condition for true, or for false."""
        true = true is not condition.negated
        if condition.tested is None:
            self.known[condition.what] = true, condition.registers
            return
        values = condition.values if true else _others(condition.values)
        self.values[condition.tested] = _both(self.values.get(condition.tested, _ALL), values)


def compare(instruction: Instruction) -> Condition:
    """Returns the condition of a scalar compare."""
    found = re.match(r"s_cmpk?_(eq|lg|lt|le|gt|ge)_([iu])32$", instruction.mnemonic)
    operands = instruction.operands
    keys = frozenset(
        key
        for operand in operands
        if isinstance(operand.value, Register)
        for key in registers_of(operand.value)
    )
    if found is None or len(operands) != 2:
        return _opaque(instruction, keys)
    relation, sign = found[1], found[2]
    left, right = operands
    if _number(left) is not None:
        left, right = right, left
        relation = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(relation, relation)
    key, number = _first_key(left), _immediate(instruction, right)
    if key is not None and number is not None:
        values = _values_of(relation, number & _TOP, sign == "i")
        return Condition((key, values), frozenset({key}), key, values)
    # Of two registers: a > b is b < a, and a >= b is not a < b.
    names = str(left.value), str(right.value)
    if relation in ("gt", "le"):
        names = names[1], names[0]
    if relation in ("eq", "lg"):
        return Condition(("eq", frozenset(names)), keys, negated=relation == "lg")
    return Condition((f"lt_{sign}", names), keys, negated=relation in ("ge", "le"))


def _opaque(instruction: Instruction, keys: Iterable[RegisterKey]) -> Condition:
    """Returns the condition that an instruction computes, of which only this is known."""
    sources = " ".join(instruction.text.partition(",")[2].split())
    if instruction.mnemonic.startswith(("s_cmp", "s_bitcmp")):
        sources = " ".join(instruction.text.split()[1:])
    return Condition((instruction.mnemonic, sources), frozenset(keys))


def _values_of(relation: str, number: int, signed: bool) -> Values:
    """Returns the words that stand in a relation to a number."""
    if relation in ("eq", "lg"):
        equal: Values = ((number, number),)
        return equal if relation == "eq" else _others(equal)
    shift = _HALF if signed else 0
    # Order with a sign is that of words with the top bit flipped.
    place = number ^ shift
    first, last = {
        "lt": (0, place - 1),
        "le": (0, place),
        "gt": (place + 1, _TOP),
        "ge": (place, _TOP),
    }[relation]
    if first > last:
        return ()
    if not signed:
        return ((first, last),)
    parts = [(max(first, a), min(last, b)) for a, b in ((0, _HALF - 1), (_HALF, _TOP))]
    return tuple(sorted((a ^ shift, b ^ shift) for a, b in parts if a <= b))


def _both(one: Values, other: Values) -> Values:
    """Returns the values in both."""
    pairs = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return _joined([(a, b) for a, b in pairs if a <= b])


def _others(values: Values) -> Values:
    """Returns the values that are not in a set."""
    found: list[tuple[int, int]] = []
    start = 0
    for first, last in values:
        if first > start:
            found.append((start, first - 1))
        start = last + 1
    if start <= _TOP:
        found.append((start, _TOP))
    return tuple(found)


def _joined(ranges: list[tuple[int, int]]) -> Values:
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple(found)


def _first_key(operand: Operand) -> RegisterKey | None:
    """Returns the first word of a scalar register operand; None for any other."""
    value = operand.value
    return registers_of(value)[0] if isinstance(value, Register) and value.file == "s" else None


def _number(operand: Operand) -> int | None:
    value = operand.value
    if isinstance(value, Literal) and isinstance(value.value, int):
        return value.value
    return None


def _immediate(instruction: Instruction, operand: Operand) -> int | None:
    """Returns the number that an operand is; the sign of 16 bits is that of their top bit."""
    number = _number(operand)
    if number is None or not re.match(r"s_\w+k_(\w+_)?i32$", instruction.mnemonic):
        return number
    return ((number & 0xFFFF) ^ 0x8000) - 0x8000


def _possible_values(instruction: Instruction) -> tuple[RegisterKey, Values] | None:
    """Returns the register that gets a number, or one of a range, as its text tells."""
    name, operands = instruction.mnemonic, instruction.operands
    if not name.startswith(("s_mov", "s_and_b32", "s_lshr_b32")) or name.endswith("64"):
        return None
    key = _first_key(operands[0])
    numbers = [_immediate(instruction, operand) for operand in operands[1:]]
    known = [number for number in numbers if number is not None]
    if key is None or not known:
        return None
    if name in ("s_mov_b32", "s_movk_i32"):
        return key, ((known[0] & _TOP, known[0] & _TOP),)
    if name == "s_and_b32":
        return key, ((0, known[0] & _TOP),)
    return (key, ((0, _TOP >> (known[0] & 31)),)) if numbers[1] is not None else None


def _plus(place: Sum, number: int) -> Sum:
    return place[0], place[1] + number & _TOP


def _shifted(values: Values, number: int) -> Values:
    """Returns values to each of which a number is added."""
    ranges: list[tuple[int, int]] = []
    for first, last in values:
        start = first + number & _TOP
        end = start + last - first
        ranges += [(start, min(end, _TOP))]
        if end > _TOP:
            ranges.append((0, end - _TOP - 1))
    return _joined(ranges)
