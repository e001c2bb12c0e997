# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creating index arithmetic at the place where its operands become available."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property

from iree.compiler import ir

from ...bank_model.errors import is_power_of_two
from ...bank_model.quick_dataclass import dataclass
from ..builders import Builder
from .index_ops import defining


@dataclass
class IndexBuilder:
    """Creates `arith` ops on `index` in one function, constants at its entry.

    Operations stand right behind an anchor, the value that their result is to be available with,
    in the order in which they are created. A value that is derived from loop invariants thereby
    stays where these are, outside the loop.
    """

    function: ir.Operation
    _constants: dict[int, ir.Value] = field(default_factory=dict)
    _last: dict[ir.Value, ir.Operation] = field(default_factory=dict)

    def constant(self, value: int) -> ir.Value:
        """Returns the index constant `value`, at the entry of the function."""
        if value not in self._constants:
            entry = Builder.at_begin(self.function.regions[0].blocks[0], self.function.location)
            self._constants[value] = entry.index(value)
        return self._constants[value]

    def behind(self, anchor: ir.Value) -> Builder:
        """Returns the builder behind `anchor`'s definition and what was emitted there before."""
        return Builder(self._point_behind(anchor), self.function.location)

    def index(self, value: ir.Value) -> EmittedIndex:
        """Returns a value whose operators emit operations behind it."""
        return EmittedIndex(self, value, value)

    def _point_behind(self, anchor: ir.Value) -> ir.InsertionPoint:
        if anchor in self._last:
            return ir.InsertionPoint.after(self._last[anchor])
        if isinstance(anchor, ir.BlockArgument):
            block = anchor.owner
            assert isinstance(block, ir.Block)
            if block == self.function.regions[0].blocks[0] and self._constants:
                # Each constant is put before the earlier ones: the first made is the last of them.
                return ir.InsertionPoint.after(next(iter(self._constants.values())).owner)
            return ir.InsertionPoint.at_block_begin(block)
        return ir.InsertionPoint.after(defining(anchor))

    def emitted(self, anchor: ir.Value, result: ir.Value) -> ir.Value:
        """Records that `result` was created by `behind(anchor)`, and returns it."""
        self._last[anchor] = defining(result)
        return result

    def add_constant_before(
        self, user: ir.Operation, value: ir.Value, constant: int, no_unsigned_wrap: bool
    ) -> ir.Value:
        """Emits value + constant right before `user`, where the sum is a small number.

        The sum being small, it does not wrap as a signed number; LLVM then moves the constant
        into the offset field of the memory instruction.
        """
        if constant == 0:
            return value
        right, flags = self.constant(constant), self._no_wrap[no_unsigned_wrap]
        return Builder.before(user).add_without_wrap(value, right, flags)

    @cached_property
    def _no_wrap(self) -> tuple[ir.Attribute, ir.Attribute]:
        """Returns the flags of sums that do not wrap as signed numbers, and of any; parsed once."""
        nsw, both = "#arith.overflow<nsw>", "#arith.overflow<nsw, nuw>"
        context = self.function.context
        return ir.Attribute.parse(nsw, context), ir.Attribute.parse(both, context)


@dataclass(eq=False)
class EmittedIndex:
    """A value that is not negative, whose operators emit operations behind `anchor`.

    The formula of a swizzle, which is written with operators, thereby emits the code for it. Powers
    of two multiply and divide by shifts and masks, and an operator that changes nothing emits
    nothing.
    """

    builder: IndexBuilder
    anchor: ir.Value
    value: ir.Value

    def _binary(
        self, method: Callable[[Builder, ir.Value, ir.Value], ir.Value], right: EmittedIndex | int
    ) -> EmittedIndex:
        other = self.builder.constant(right) if isinstance(right, int) else right.value
        value = method(self.builder.behind(self.anchor), self.value, other)
        return EmittedIndex(self.builder, self.anchor, self.builder.emitted(self.anchor, value))

    def __add__(self, other: EmittedIndex | int) -> EmittedIndex:
        return self if other == 0 else self._binary(Builder.addi, other)

    def __sub__(self, other: EmittedIndex) -> EmittedIndex:
        return self._binary(Builder.subi, other)

    def __mul__(self, factor: int) -> EmittedIndex:
        if factor == 1:
            return self
        if is_power_of_two(factor):
            return self._binary(Builder.shli, factor.bit_length() - 1)
        return self._binary(Builder.muli, factor)

    def __floordiv__(self, divisor: int) -> EmittedIndex:
        if is_power_of_two(divisor):
            return self >> (divisor.bit_length() - 1)
        return self._binary(Builder.divui, divisor)

    def __mod__(self, divisor: int) -> EmittedIndex:
        if is_power_of_two(divisor):
            return self & (divisor - 1)
        return self._binary(Builder.remui, divisor)

    def __rshift__(self, amount: int) -> EmittedIndex:
        return self if amount == 0 else self._binary(Builder.shrui, amount)

    def __and__(self, other: EmittedIndex | int) -> EmittedIndex:
        return self._binary(Builder.andi, other)

    def __or__(self, other: EmittedIndex | int) -> EmittedIndex:
        return self._binary(Builder.ori, other)

    def __xor__(self, other: EmittedIndex | int) -> EmittedIndex:
        return self if other == 0 else self._binary(Builder.xori, other)
