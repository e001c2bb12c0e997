# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an LDS does with an instruction: banks, lane phases, widths and splitting.

The lanes of a wave are not serviced together: an LDS instruction runs in *phases*, and only
lanes of one phase can conflict. In every table known so far, the phases of an instruction are
the cosets of one linear subspace of the lane bits over F2, so a table row is written as the
basis of that subspace. For example ds_read_b128 on gfx942 services lanes
{0..3, 20..23} first: that is the span of {1, 2, 20} under XOR, and the other seven phases are
that set XORed with 4, 8, 12, 32, ...
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from .errors import (
    InvalidParameterError,
    require_positive,
    require_power_of_two,
    up_to_power_of_two,
)
from .quick_tuple import NamedTuple


class AccessKind(Enum):
    """Whether an access reads or writes the LDS."""

    READ = "read"
    WRITE = "write"


class Status(Enum):
    """How well a row of a table, or a constant, is known."""

    MEASURED = "measured"
    """Somebody's hardware counters agree with the row, exactly."""
    TIMED = "timed"
    """Somebody's latencies agree with the row; no counter was read."""
    PUBLISHED = "published"
    """The vendor's documentation, or somebody who measured it, states it."""
    DERIVED = "derived"
    """It follows from what is published."""
    ASSUMED = "assumed"
    """Taken over from a similar instruction or chip."""


class UnknownInstructionError(InvalidParameterError):
    """The architecture has no LDS instruction of this kind and width."""


class Evidence(NamedTuple):
    """Where a fact comes from, and how well it is known."""

    source: str
    status: Status


class Sharing(Enum):
    """What of an access passes through a bank in one cycle."""

    WORD = "word"
    """A word, which all lanes share that want it."""
    LANE = "lane"
    """The word of one lane: an atomic operation whose lanes get what was there before."""
    LANE_TWICE = "lane twice"
    """As for LANE, but a lane takes two cycles: a comparison and a swap."""


class LdsInstruction(NamedTuple):
    """One LDS instruction of a chip, as the bank model sees it.

    `width_bytes` are moved per lane. `phases` lists the lanes serviced together, in no
    particular order; all phases of an instruction hold equally many lanes. With `merging`, two
    phases that follow each other are one where lanes want the same: `conflicts.merged_issues` has
    the rule. `sharing` says what passes through a bank in a cycle. Where sources disagree, `other`
    is the instruction as the other source has it (`readings.py`).
    """

    name: str
    kind: AccessKind
    width_bytes: int
    banks: int
    phases: tuple[tuple[int, ...], ...]
    source: str
    status: Status
    merging: Evidence | None = None
    sharing: Sharing = Sharing.WORD
    other: LdsInstruction | None = None
    alias: str = ""
    """What an access asks for by name where LLVM has another name for it on this chip."""

    @property
    def merged_phases(self) -> tuple[tuple[int, ...], ...]:
        """Returns the phases where two that follow each other are one."""
        pairs = zip(self.phases[::2], self.phases[1::2], strict=True)
        return tuple(first + second for first, second in pairs)


class Lds(NamedTuple):
    """The LDS of one GPU architecture, and how lanes access it."""

    arch: str
    wave_size: int
    """The lanes of a wave."""
    workgroup_bytes: int
    """The most that one workgroup may use."""
    instructions: tuple[LdsInstruction, ...]
    """One plain instruction per kind and width."""
    special_instructions: tuple[LdsInstruction, ...] = ()
    """Those that only their name selects."""
    bank_width_bytes: int = 4
    paired_bytes: tuple[int, ...] = ()
    """Two plain accesses of so many bytes a lane may become one instruction (`ds_read2_b64`)."""
    unaligned: bool = False
    """Whether LLVM leaves an access whole that begins inside a word."""
    drops_unread: bool = False
    """Whether LLVM leaves out what is stored to an allocation that nobody reads. That is so where
    each is a global of its own; on NVIDIA GPUs all are parts of one."""
    transaction_bytes: int = 64
    """What a copy to or from global memory moves at once."""
    double_waves: bool = False
    """Whether a program may have waves of twice as many lanes: the second half comes behind."""

    @property
    def rows(self) -> tuple[LdsInstruction, ...]:
        """Returns all instructions, those that only their name selects behind the others."""
        return self.instructions + self.special_instructions

    @property
    def other_sources(self) -> tuple[str, ...]:
        """Returns the sources that disagree with rows of the instructions."""
        doubtful = (each.other for each in self.rows if each.other is not None)
        return tuple(dict.fromkeys(each.source for each in doubtful))

    def of_waves(self, lanes: int) -> Lds | None:
        """Returns the LDS as waves of so many lanes access it; None where that is not known."""
        if lanes == self.wave_size:
            return self
        if not self.double_waves or lanes != 2 * self.wave_size:
            return None

        def doubled(row: LdsInstruction) -> LdsInstruction:
            later = (tuple(lane + self.wave_size for lane in phase) for phase in row.phases)
            other = row.other and doubled(row.other)
            return row._replace(phases=(*row.phases, *later), other=other)

        return self._replace(
            wave_size=lanes,
            instructions=tuple(map(doubled, self.instructions)),
            special_instructions=tuple(map(doubled, self.special_instructions)),
            double_waves=False,
        )

    def read_by(self, source: str) -> Lds:
        """Returns the LDS with the rows of which `source` says something else as it says."""

        def rows(instructions: tuple[LdsInstruction, ...]) -> tuple[LdsInstruction, ...]:
            return tuple(
                each.other if each.other is not None and each.other.source == source else each
                for each in instructions
            )

        return self._replace(
            instructions=rows(self.instructions),
            special_instructions=rows(self.special_instructions),
        )

    def pairs(self, instruction: LdsInstruction) -> bool:
        """Returns whether LLVM may make one instruction of two of this one.

        It does so of plain loads and stores alone (`SILoadStoreOptimizer.cpp`, `getInstClass`):
        what transposes, for example, has no form that takes two addresses, however wide it is.
        """
        return instruction.width_bytes in self.paired_bytes and not self.has(instruction.name)

    def has(self, name: str) -> bool:
        """Returns whether there is an LDS instruction that only its name selects."""
        return any(each.name == name for each in self.special_instructions)

    def widths(self, kind: AccessKind) -> tuple[int, ...]:
        """Returns the bytes per lane that one instruction of `kind` can move, ascending."""
        return tuple(sorted(i.width_bytes for i in self.instructions if i.kind is kind))

    def instruction(self, kind: AccessKind, width_bytes: int) -> LdsInstruction:
        """Returns the instruction of `kind` that moves `width_bytes` per lane.

        Raises UnknownInstructionError when the chip has none.
        """
        for candidate in self.instructions:
            if candidate.kind is kind and candidate.width_bytes == width_bytes:
                return candidate
        raise UnknownInstructionError(
            "width_bytes",
            width_bytes,
            f"{', '.join(map(str, self.widths(kind)))} for a {kind.value} on {self.arch}",
        )

    def instruction_named(self, name: str) -> LdsInstruction:
        """Returns the instruction with the ISA's name `name`.

        Raises UnknownInstructionError when the chip's table does not list it.
        """
        for candidate in self.rows:
            if candidate.name == name:
                return candidate
        raise UnknownInstructionError("name", name, ", ".join(i.name for i in self.rows))

    def legalize(
        self, kind: AccessKind, width_bytes: int, alignment_bytes: int, name: str = ""
    ) -> tuple[tuple[LdsInstruction, int], ...]:
        """Returns how the backend splits one contiguous access of each lane into machine accesses.

        Args:
          width_bytes: bytes per lane, any positive number.
          alignment_bytes: a power of two that divides every lane's address.
          name: the instruction that the access asks for; it is used if the chip's table has it
            and the access is as wide and aligned.

        Returns pairs (instruction, byte offset from the lane's address), ascending, that cover
        the access exactly once. An instruction needs its own width as alignment, 12 bytes need
        16 (LLVM's rule for DS and shared memory). So on AMD 16 bytes aligned to 8 become the
        two halves of a read2_b64, aligned to 4 four b32 halves of two read2_b32. What is less
        aligned than a word gets the widest instructions there (`unaligned`): 4 bytes aligned
        to 2 are one b32 and 16 one b128, since LLVM knows no faster way.
        """
        require_positive("width_bytes", width_bytes)
        require_power_of_two("alignment_bytes", alignment_bytes)
        for special in self.special_instructions if name else ():
            width = special.width_bytes
            named = name in (special.name, special.alias)
            if named and width == width_bytes <= alignment_bytes:
                return ((special, 0),)
        widths = sorted(self.widths(kind), reverse=True)
        anywhere = self.unaligned and alignment_bytes < self.bank_width_bytes
        pieces: list[tuple[LdsInstruction, int]] = []
        offset = 0
        while offset < width_bytes:
            alignment = min(alignment_bytes, offset & -offset) if offset else alignment_bytes
            width = next(
                w
                for w in widths
                if w <= width_bytes - offset and (anywhere or _required_alignment(w) <= alignment)
            )
            pieces.append((self.instruction(kind, width), offset))
            offset += width
        return tuple(pieces)


def _required_alignment(width_bytes: int) -> int:
    """Returns the alignment that a lane's access needs: the next power of two of its width."""
    return up_to_power_of_two(width_bytes)


@cache
def coset_phases(wave_size: int, basis: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Returns the phases whose lanes differ by a XOR combination of `basis`.

    Every lane of the wave is in exactly one phase; lanes ascend within a phase and phases
    ascend by their first lane. `coset_phases(8, (1, 4))` is `((0, 1, 4, 5), (2, 3, 6, 7))`.
    """
    subspace = [0]
    for vector in basis:
        if vector in subspace or not 0 <= vector < wave_size:
            raise InvalidParameterError("basis", basis, "independent lane numbers of the wave")
        subspace += [vector ^ member for member in subspace]
    phases: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for lane in range(wave_size):
        if lane not in seen:
            phase = tuple(sorted(lane ^ member for member in subspace))
            seen.update(phase)
            phases.append(phase)
    return tuple(phases)
