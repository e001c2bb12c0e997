# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creating index arithmetic at the place where its operands become available."""

from __future__ import annotations

from dataclasses import dataclass, field

from iree.compiler import ir
from iree.compiler.dialects import arith

from ...bank_model.errors import is_power_of_two


def constant_value(value: ir.Value) -> int | None:
    """Returns the number that an `arith.constant` of index or integer type defines, else None."""
    if isinstance(value, ir.BlockArgument):
        return None
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


@dataclass
class IndexBuilder:
    """Creates `arith` ops on `index` in one function, constants at its entry.

    Each method emits right behind `anchor`, the value that the result is to be available with,
    and moves on: what is created behind one anchor stays in order. So a value derived from loop
    invariants stays where these are, outside the loop.
    """

    function: ir.Operation
    _constants: dict[int, ir.Value] = field(default_factory=dict)
    _last: dict[ir.Value, ir.Operation] = field(default_factory=dict)
    _flags: dict[bool, ir.Attribute] = field(default_factory=dict)

    def constant(self, value: int) -> ir.Value:
        """Returns the index constant `value`, at the entry of the function."""
        if value not in self._constants:
            entry = self.function.regions[0].blocks[0]
            with ir.InsertionPoint.at_block_begin(entry), self.function.location:
                self._constants[value] = arith.constant(ir.IndexType.get(), value)
        return self._constants[value]

    def point_behind(self, anchor: ir.Value) -> ir.InsertionPoint:
        """Returns the point behind `anchor`'s definition and what was emitted there before."""
        if anchor in self._last:
            return ir.InsertionPoint.after(self._last[anchor])
        if isinstance(anchor, ir.BlockArgument):
            block = anchor.owner
            assert isinstance(block, ir.Block)
            if block == self.function.regions[0].blocks[0] and self._constants:
                # Each constant is put before the earlier ones: the first made is the last of them.
                return ir.InsertionPoint.after(next(iter(self._constants.values())).owner)
            return ir.InsertionPoint.at_block_begin(block)
        owner = anchor.owner
        assert not isinstance(owner, ir.Block)
        return ir.InsertionPoint.after(owner)

    def emitted(self, anchor: ir.Value, result: ir.Value) -> ir.Value:
        """Records that `result` was created at `point_behind(anchor)`."""
        owner = result.owner
        assert not isinstance(owner, ir.Block)
        self._last[anchor] = owner.operation
        return result

    def _binary(
        self, anchor: ir.Value, name: str, left: ir.Value, right: int | ir.Value
    ) -> ir.Value:
        other = self.constant(right) if isinstance(right, int) else right
        with self.point_behind(anchor), self.function.location:
            operation = ir.Operation.create(
                name, results=[ir.IndexType.get()], operands=[left, other]
            )
        return self.emitted(anchor, operation.results[0])

    def add(self, anchor: ir.Value, left: ir.Value, right: int | ir.Value) -> ir.Value:
        """Emits left + right."""
        return left if right == 0 else self._binary(anchor, "arith.addi", left, right)

    def subtract(self, anchor: ir.Value, left: ir.Value, right: ir.Value) -> ir.Value:
        """Emits left - right."""
        return self._binary(anchor, "arith.subi", left, right)

    def multiply(self, anchor: ir.Value, left: ir.Value, factor: int) -> ir.Value:
        """Emits left * factor, as a shift where it can be one."""
        if factor == 1:
            return left
        if is_power_of_two(factor):
            return self._binary(anchor, "arith.shli", left, factor.bit_length() - 1)
        return self._binary(anchor, "arith.muli", left, factor)

    def divide(self, anchor: ir.Value, left: ir.Value, divisor: int) -> ir.Value:
        """Emits left / divisor of a value that is not negative, as a shift where it can be one."""
        if divisor == 1:
            return left
        if is_power_of_two(divisor):
            return self._binary(anchor, "arith.shrui", left, divisor.bit_length() - 1)
        return self._binary(anchor, "arith.divui", left, divisor)

    def remainder(self, anchor: ir.Value, left: ir.Value, divisor: int) -> ir.Value:
        """Emits left % divisor of a value that is not negative, as a mask where it can be one."""
        if is_power_of_two(divisor):
            return self.bit_and(anchor, left, divisor - 1)
        return self._binary(anchor, "arith.remui", left, divisor)

    def shift_right(self, anchor: ir.Value, left: ir.Value, amount: int) -> ir.Value:
        """Emits left >> amount, which shifts zeros in."""
        return left if amount == 0 else self._binary(anchor, "arith.shrui", left, amount)

    def bit_and(self, anchor: ir.Value, left: ir.Value, right: int | ir.Value) -> ir.Value:
        """Emits left & right."""
        return self._binary(anchor, "arith.andi", left, right)

    def bit_or(self, anchor: ir.Value, left: ir.Value, right: int | ir.Value) -> ir.Value:
        """Emits left | right."""
        return self._binary(anchor, "arith.ori", left, right)

    def bit_xor(self, anchor: ir.Value, left: ir.Value, right: int | ir.Value) -> ir.Value:
        """Emits left ^ right."""
        return left if right == 0 else self._binary(anchor, "arith.xori", left, right)

    def add_constant_before(
        self, user: ir.Operation, value: ir.Value, constant: int, no_unsigned_wrap: bool
    ) -> ir.Value:
        """Emits value + constant right before `user`, where the sum is a small number.

        The sum being small, it does not wrap as a signed number; LLVM then moves the constant
        into the offset field of the memory instruction.
        """
        if constant == 0:
            return value
        operand = self.constant(constant)
        operation = ir.Operation.create(
            "arith.addi",
            results=[operand.type],
            operands=[value, operand],
            attributes={"overflowFlags": self._overflow_flags(no_unsigned_wrap)},
            loc=user.location,
            ip=ir.InsertionPoint(user),
        )
        return operation.results[0]

    def _overflow_flags(self, no_unsigned_wrap: bool) -> ir.Attribute:
        """Returns what says that a sum does not wrap, parsed once."""
        if no_unsigned_wrap not in self._flags:
            flags = "nsw, nuw" if no_unsigned_wrap else "nsw"
            context = self.function.context
            self._flags[no_unsigned_wrap] = ir.Attribute.parse(f"#arith.overflow<{flags}>", context)
        return self._flags[no_unsigned_wrap]


@dataclass(frozen=True)
class EmittedIndex:
    """A value that is not negative, whose operators emit operations behind `anchor`.

    So the formula of a swizzle, which is written with operators, emits the code for it.
    """

    builder: IndexBuilder
    anchor: ir.Value
    value: ir.Value

    def _of(self, value: ir.Value) -> EmittedIndex:
        return EmittedIndex(self.builder, self.anchor, value)

    def __add__(self, other: EmittedIndex | int) -> EmittedIndex:
        right = other if isinstance(other, int) else other.value
        return self._of(self.builder.add(self.anchor, self.value, right))

    def __sub__(self, other: EmittedIndex) -> EmittedIndex:
        return self._of(self.builder.subtract(self.anchor, self.value, other.value))

    def __mul__(self, factor: int) -> EmittedIndex:
        return self._of(self.builder.multiply(self.anchor, self.value, factor))

    def __floordiv__(self, divisor: int) -> EmittedIndex:
        return self._of(self.builder.divide(self.anchor, self.value, divisor))

    def __mod__(self, divisor: int) -> EmittedIndex:
        return self._of(self.builder.remainder(self.anchor, self.value, divisor))

    def __xor__(self, other: EmittedIndex | int) -> EmittedIndex:
        right = other if isinstance(other, int) else other.value
        return self._of(self.builder.bit_xor(self.anchor, self.value, right))
