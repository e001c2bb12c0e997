# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a Bankwise pass is: a class whose fields are its textual options."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from enum import Enum
from typing import Any, ClassVar, Self, TypeVar, get_type_hints

from iree.compiler import ir

from ..bank_model.accesses import AccessKind
from ..bank_model.lds_rules import Lds
from ..bank_model.quick_dataclass import dataclass, replace
from ..bank_model.quick_tuple import NamedTuple
from ..bank_model.shown_text import did_you_mean
from ..dialect_utils.diagnostics import DiagnosticSink, PassFailure, Refusal, SourceLocation
from ..dialect_utils.gpu_target import Launch, lds_model
from ..dialect_utils.memory.memref_types import shown_type
from ..dialect_utils.operations import symbol_of
from ..dialect_utils.tuned_operation import TunedOperation
from .decisions import Action, Decision, DecisionLog, LayoutRound


class PassOptionError(ValueError):
    """A textual option that its pass does not have or whose value does not fit."""


Plan = TypeVar("Plan")

Width = tuple[AccessKind, int]
"""What an LDS instruction does, and the bytes of a lane."""

Assumption = Callable[[ir.Operation], None]
"""Raises a PassFailure for a function that is not as a pass has assumed that it would become."""


class DroppedHints(NamedTuple):
    """Swizzle hints that could not be resolved, by the texts of locations.

    Attributes:
        location: where a diagnostic on them points.
        memory: the type of the memory that they were on.
        hints, allocations: the locations of the hints and of the allocations.
    """

    location: ir.Location
    memory: str
    reason: str
    hints: frozenset[str]
    allocations: frozenset[str]

    def __str__(self) -> str:
        return f"swizzle hints of {self.memory} dropped: {self.reason}"


class UnresolvedHint(NamedTuple):
    """Why the hints of an allocation could not be resolved.

    Attributes:
        is_ours: whether a pass of ours has chosen them, and must not do so again.
    """

    reason: str
    is_ours: bool


class Unsettled(NamedTuple):
    """A failure of a kernel that depends on what the backend joins.

    Attributes:
        widths: if the compiled code has no such LDS instructions, the accesses have been joined.
        joined: how many LDS instructions of each width the code has if the backend joins all that
            it may, and unrolls loops.
    """

    kernel: str
    failure: PassFailure
    widths: frozenset[Width]
    joined: Mapping[Width, int]

    def stands(self, compiled: Mapping[Width, int]) -> bool:
        """Returns whether the failure is one of the compiled code.

        Args:
            compiled: how many LDS instructions of each width the code has.
        """
        kinds = {kind for kind, _ in self.widths}
        one, other = (
            {width: n for width, n in counts.items() if width[0] in kinds}
            for counts in (self.joined, compiled)
        )
        return one != other and not self.widths.isdisjoint(compiled)


@dataclass
class PassContext:
    """What a pass run shares with its surroundings."""

    sink: DiagnosticSink = field(default_factory=DiagnosticSink)
    log: DecisionLog = field(default_factory=DecisionLog)
    tuned: list[TunedOperation] = field(default_factory=list)
    """The operations that got another configuration than IREE's."""
    assumptions: list[tuple[FunctionPass, Assumption]] = field(default_factory=list)
    """What passes have assumed of the function in work, to be checked behind its pipeline."""
    dropped: list[DroppedHints] = field(default_factory=list)
    """The hints of the function in work that could not be resolved."""
    unresolved: dict[str, UnresolvedHint] = field(default_factory=dict)
    """The allocations, by the texts of their locations, whose hints could not be resolved when the
    function in work was compiled before: they get another layout now."""
    users_configuration: Callable[[], str] = str
    """Returns why IREE's configurations may be the user's own, or nothing where they are not."""
    explains: bool = True
    """Whether somebody reads decisions or remarks: what only they say is counted then."""
    details: bool = True
    """Whether somebody reads what decisions and remarks say, and not only what they sum up to."""
    unsettled: list[Unsettled] | None = None
    """Failures that somebody settles with the compiled code; None where nobody does."""
    test_target: str | None = None
    """Architecture of functions that carry no target of their own (`--iree-gpu-test-target`)."""

    def unheard(self) -> PassContext:
        """Returns a context whose passes change and assume the same, but decide and say nothing."""
        return replace(
            self,
            sink=DiagnosticSink(lambda _: None),
            log=DecisionLog(),
            explains=False,
            details=False,
        )

    @contextmanager
    def refusals_said(self, location: ir.Location, what_stays: str) -> Iterator[None]:
        """Ends the body where it refuses; a remark then says what stays as it is, and why."""
        try:
            yield
        except Refusal as refusal:
            self.sink.remark(location, f"{what_stays}: {refusal.reason}")

    def planned(
        self, location: ir.Location, what_stays: str, plan: Callable[[], Plan | None]
    ) -> Plan | None:
        """Returns what `plan` returns, for a pass that replaces what IREE has configured.

        Where `plan` refuses, or the configuration is the user's own, the result is None, and a
        remark says what stays as it is, and why.
        """
        with self.refusals_said(location, what_stays):
            found = plan()
            if found is not None and (objection := self.users_configuration()):
                raise Refusal(objection)
            return found
        return None

    def lds_model(self, function: ir.Operation, what_stays: str = "") -> tuple[Lds, Launch] | None:
        """Returns the bank model of the function's GPU and the function's launch.

        Where there is none the result is None, and a remark says what stays as it is, if a pass
        names it.
        """
        try:
            return lds_model(function, self.test_target)
        except Refusal as refusal:
            if what_stays:
                self.sink.remark(function.location, f"{what_stays}: {refusal.reason}")
            return None


class FunctionPass(ABC):
    """A pass over one function-like op.

    A subclass with options is a frozen dataclass; one without options inherits all that it needs,
    and all its instances are equal.
    A field `padding_bits: int = 64` is the textual option `padding-bits=64`; fields may be `bool`,
    `int`, `str` or an `Enum` with string values.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    later_passes_may_refuse: ClassVar[bool] = False
    """Whether the pass makes what the compiler's own passes may fail on. If one does, the function
    is compiled again without it."""
    native: ClassVar[tuple[str, ...]] = ()
    """Passes of the compiler that run right before a pass on programs."""
    on_all_functions: ClassVar[bool] = False
    """Whether it runs on the functions of all dialects where a pipeline does not say on which."""
    kept: ClassVar[str] = "register layouts"
    """What a function keeps that is compiled without the pass."""
    layout_round: ClassVar[LayoutRound] = LayoutRound.LAST
    """In which round the pass decides on layouts."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(())

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether the pass may change `function` where the pass stands in a pipeline.

        A stage of which no spliced pass has work is left to the stock compiler.
        """
        return True

    def only_decides(self, function: ir.Operation, context: PassContext) -> bool:
        """Returns whether the pass changes nothing in `function`, and has something to decide that
        no pass reads. It may then run while later passes do."""
        return False

    def mostly_counts(self, function: ir.Operation, context: PassContext) -> bool:
        """Returns whether much of the pass's time goes into what decisions alone say.

        It may then count and decide in a process beside, and do here what it does where nobody
        reads decisions.
        """
        return False

    @abstractmethod
    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites `function` in place.

        Raises:
            PassFailure: the function cannot be processed; the compile stops there.
        """

    def forget(self, function: ir.Operation) -> None:  # noqa: B027
        """Forgets what a pass that collects has collected of `function`.

        Its pipeline starts again, and the IR that the pass saw is gone.
        """

    def record(
        self,
        context: PassContext,
        function: ir.Operation,
        memory: ir.Value,
        action: Action,
        reason: str,
        **more: Any,
    ) -> None:
        """Records a decision of the pass on an allocation; `more` are further fields of it."""
        kind, place = shown_type(memory.type), str(SourceLocation.of(memory.location) or "")
        decision = Decision(self.name, symbol_of(function), kind, place, action, reason, **more)
        context.log.add(decision, self.layout_round)

    def record_change(
        self,
        context: PassContext,
        function: ir.Operation,
        operation: ir.Operation,
        action: Action,
        reason: str,
        detail: str,
        subject: str = "",
    ) -> None:
        """Records a decision of the pass on an operation, and says it in a remark.

        Args:
            subject: what the remark begins with.
        """
        place = str(SourceLocation.of(operation.location) or "")
        named = (self.name, symbol_of(function), operation.name, place)
        context.log.add(Decision(*named, action, reason, detail), self.layout_round)
        context.sink.remark(operation.location, f"{subject}{reason}")

    def record_tile(
        self,
        context: PassContext,
        function: ir.Operation,
        operation: ir.Operation,
        tile: object,
        reason: str,
        action: Action = Action.RETILE,
    ) -> None:
        """Records that an operation gets another tile of a workgroup, or which one it keeps."""
        subject = "tile of a workgroup: "
        self.record_change(context, function, operation, action, reason, str(tile), subject)

    @classmethod
    def from_options(cls, options: str) -> Self:
        """Makes the pass from text such as `only-own=true one-layout=true`.

        Raises:
            PassOptionError: an unknown option or a value of the wrong kind.
        """
        hints = cls.option_types()
        kinds = {f.name.replace("_", "-"): hints[f.name] for f in cls.option_fields()}
        values: dict[str, Any] = {}
        for item in options.split():
            key, separator, text = item.partition("=")
            if key.replace("-", "_") in values:
                raise PassOptionError(f"{cls.name}: option '{key}' is given twice")
            if key not in kinds:
                known, hint = ", ".join(sorted(kinds)) or "none", did_you_mean(key, kinds)
                raise PassOptionError(f"{cls.name} has no option '{key}' (it has: {known}){hint}")
            if not separator and kinds[key] is bool:
                text = "true"
            values[key.replace("-", "_")] = _parse_value(cls.name, key, kinds[key], text)
        for field_ in cls.option_fields():
            has_default = (field_.default, field_.default_factory) != (dataclasses.MISSING,) * 2
            if field_.init and not has_default and field_.name not in values:
                name = field_.name.replace("_", "-")
                raise PassOptionError(f"{cls.name}: option '{name}' needs a value")
        return cls(**values)

    @classmethod
    def option_fields(cls) -> tuple[dataclasses.Field[Any], ...]:
        """Returns the fields that are options; a pass without any need be no dataclass."""
        return dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()

    @classmethod
    def option_types(cls) -> dict[str, Any]:
        """Returns the types of the fields by their names.

        Raises:
            PassOptionError: one is annotated with what is no type here.
        """
        try:
            return get_type_hints(cls)
        except Exception as error:  # An annotation is code, which may raise anything.
            raise PassOptionError(
                f"{cls.name}: the types of its options cannot be read: "
                f"{type(error).__name__}: {error}"
            ) from None

    def _expect(self, option: str, holds: bool, expected: str) -> None:
        """Raises PassOptionError where the value of a field is out of its range, for which `holds`
        is false; `expected` says what the range is."""
        if not holds:
            name, value = option.replace("_", "-"), getattr(self, option)
            raise PassOptionError(
                f"{self.name}: option '{name}' expects {expected}, got '{option_text(value)}'"
            )

    def __str__(self) -> str:
        options = [
            f"{f.name.replace('_', '-')}={option_text(getattr(self, f.name))}"
            for f in self.option_fields()
        ]
        return f"{self.name}{{{' '.join(options)}}}" if options else self.name


def _parse_value(pass_name: str, key: str, kind: Any, text: str) -> Any:
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if kind is int and re.fullmatch(r"-?\d+", text):
        return int(text)
    if kind is str and text:
        return text
    if isinstance(kind, type) and issubclass(kind, Enum):
        allowed = [member.value for member in kind]
        if text in allowed:
            return kind(text)
        expected, hint = "one of " + ", ".join(allowed), did_you_mean(text, allowed)
    else:
        kinds = {bool: "true or false", int: "an integer", str: "a text"}
        expected, hint = kinds.get(kind, "what no text can give"), ""
    raise PassOptionError(f"{pass_name}: option '{key}' expects {expected}, got '{text}'{hint}")


def option_text(value: Any) -> str:
    """Returns the value of an option as its text has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value if isinstance(value, Enum) else value)
