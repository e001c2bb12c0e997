# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of each GPU: its LDS, what passes may use, and how compilers call it.

A new GPU is a row of `_all_targets`. What its LDS does with an instruction are banks, lane phases,
widths and splitting.

The lanes of a wave are not serviced together: an LDS instruction runs in *phases*, and only
lanes of one phase can conflict. In every table known so far, the phases of an instruction are
the cosets of one linear subspace of the lane bits over F2, so a table row is written as the
basis of that subspace. For example ds_read_b128 on gfx942 services lanes
{0..3, 20..23} first: that is the span of {1, 2, 20} under XOR, and the other seven phases are
that set XORed with 4, 8, 12, 32, ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from .errors import InvalidParameterError, require_positive, require_power_of_two


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


class UnknownTargetError(InvalidParameterError):
    """There is no table for this architecture."""


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
    is the instruction as the other source has it (`readings.py`). `revision` says of which state of
    the source the row is, as a date, a commit or a version, where that is known.
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

    @property
    def revision(self) -> str:
        """Returns of which state of its source the row is; empty where that is not known."""
        return next((date for part, date in _REVISIONS.items() if part in self.source), "")

    @property
    def merged_phases(self) -> tuple[tuple[int, ...], ...]:
        """Returns the phases where two that follow each other are one."""
        pairs = zip(self.phases[::2], self.phases[1::2], strict=True)
        return tuple(first + second for first, second in pairs)


class Family(NamedTuple):
    """The GPUs of one vendor, as IREE calls them.

    Attributes:
        vendor: the vendor's name.
        device: the name of its devices, as in `--iree-hal-target-device=hip`.
        backend: the name of its backend, as in `--iree-rocm-target=gfx942`.
        prefix: what the names of its architectures begin with.
        usual: the architecture that code is for where nobody names one.
    """

    vendor: str
    device: str
    backend: str
    prefix: str
    usual: str

    def flags(self, arch: str) -> tuple[str, str]:
        """Returns the flags of `iree-compile` that name an architecture of the family."""
        return f"--iree-hal-target-device={self.device}", f"--iree-{self.backend}-target={arch}"


AMD = Family("AMD", "hip", "rocm", "gfx", "gfx942")
NVIDIA = Family("NVIDIA", "cuda", "cuda", "sm_", "sm_80")
FAMILIES = (AMD, NVIDIA)
MLIR_DEFAULT_CHIPS = {"nvvm": "sm_75", "rocdl": "gfx900"}
"""The chips of MLIR's own targets that name none, by their dialects (NVVMOps.td, ROCDLOps.td)."""
DEFAULT_TARGET = AMD.usual
"""The architecture of tools that are told none."""


class Target(NamedTuple):
    """One GPU architecture: its LDS, and which instructions beside it passes may use.

    `lds_bytes` is the most that one workgroup may use. `instructions` holds one plain
    instruction per (kind, width); `special_instructions` those that only their name selects. Two
    accesses of `paired_bytes` may become one instruction (`ds_read2_b64`).

    A global access moves transactions of `transaction_bytes` from lines of `line_bytes`.
    `compute_capability` is NVIDIA's, such as 80 for 8.0, and `matrix_generation` that of AMD's
    matrix instructions, such as 3 for CDNA3; they are None for other chips. `mma_sync` says whether
    there is `mma.sync`, `async_copies` whether there is `cp.async`, `prefetches` whether IREE can
    load what the next step copies into registers (`prefetch_num_stages`), `tensor_copies` whether
    there is TMA, `descriptor_tiles` whether there is `wgmma`, to which a descriptor names a tile of
    LDS and its swizzle, `bf16_rounding` whether there is `cvt.rn.bf16x2.f32`,
    `packed_minima` whether there is `min.s16x2`, `native_exp2` whether
    there is `ex2.approx.f32`, `byte_permutes` whether there is `v_perm_b32`, `adds_pairs` whether
    `v_dot2_f32_f16` adds two products of f16 to f32, `rounds_pairs` whether `v_cvt_pk_f16_f32`
    rounds two f32 to the nearest f16, `multiplies_eight` whether matrix instructions multiply eight
    2-byte floats of a lane, `direct_loads` whether 16 bytes of a lane go straight to the LDS,
    `unaligned_loads` whether a lane loads 16 bytes of global memory from any address,
    `unaligned_lds` whether LLVM leaves an LDS access whole that begins inside a word,
    `mixes_exponentials` whether kernels are predicted to gain where LLVM mixes products with
    exponentials (`tuning/overlap/mix_exponentials.py`), and `wave_priorities` whether they are
    where some waves issue first (`tuning/overlap/raise_priority.py`). `iree_knows` says whether
    IREE 3.13 knows the architecture, and `described` whether it is described to it otherwise
    (`iree_plugin/described_target.py`). For an architecture of which neither holds there is no
    compile, and all else works.
    """

    family: Family
    arch: str
    wave_size: int
    lds_bytes: int
    instructions: tuple[LdsInstruction, ...]
    special_instructions: tuple[LdsInstruction, ...] = ()
    bank_width_bytes: int = 4
    paired_bytes: tuple[int, ...] = ()
    transaction_bytes: int = 64
    line_bytes: int = 64
    compute_capability: int | None = None
    matrix_generation: int | None = None
    mma_sync: bool = False
    async_copies: bool = False
    prefetches: bool = False
    tensor_copies: bool = False
    descriptor_tiles: bool = False
    bf16_rounding: bool = False
    packed_minima: bool = False
    native_exp2: bool = False
    byte_permutes: bool = False
    adds_pairs: bool = False
    rounds_pairs: bool = False
    multiplies_eight: bool = False
    direct_loads: bool = False
    unaligned_loads: bool = False
    unaligned_lds: bool = False
    mixes_exponentials: bool = False
    wave_priorities: bool = False
    iree_knows: bool = True
    described: bool = False

    @property
    def rows(self) -> tuple[LdsInstruction, ...]:
        """Returns all instructions, those that only their name selects behind the others."""
        return self.instructions + self.special_instructions

    @property
    def other_sources(self) -> tuple[str, ...]:
        """Returns the sources that disagree with rows of the instructions."""
        doubtful = (each.other for each in self.rows if each.other is not None)
        return tuple(dict.fromkeys(each.source for each in doubtful))

    def read_by(self, source: str) -> Target:
        """Returns the target with the rows of which `source` says something else as it says."""

        def rows(instructions: tuple[LdsInstruction, ...]) -> tuple[LdsInstruction, ...]:
            return tuple(
                each.other if each.other is not None and each.other.source == source else each
                for each in instructions
            )

        return self._replace(
            instructions=rows(self.instructions),
            special_instructions=rows(self.special_instructions),
        )

    @property
    def compiles(self) -> bool:
        """Returns whether IREE 3.13 compiles for the architecture, if it is told what that is."""
        return self.iree_knows or self.described

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
        aligned than a word gets the widest instructions there (`unaligned_lds`): 4 bytes aligned
        to 2 are one b32 and 16 one b128, since LLVM knows no faster way.
        """
        require_positive("width_bytes", width_bytes)
        require_power_of_two("alignment_bytes", alignment_bytes)
        for special in self.special_instructions if name else ():
            width = special.width_bytes
            if special.name == name and width == width_bytes <= alignment_bytes:
                return ((special, 0),)
        widths = sorted(self.widths(kind), reverse=True)
        anywhere = self.unaligned_lds and alignment_bytes < self.bank_width_bytes
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
    return 1 << (width_bytes - 1).bit_length()


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


def _in_order(lanes: int) -> tuple[int, ...]:
    """Returns the basis of phases of `lanes` consecutive lanes."""
    return tuple(1 << bit for bit in range(lanes.bit_length() - 1))


_AMD_READ_NAMES = {1: "ds_read_u8", 2: "ds_read_u16", 4: "ds_read_b32", 8: "ds_read_b64"} | {
    12: "ds_read_b96",
    16: "ds_read_b128",
}
_AMD_WRITE_NAMES = {1: "ds_write_b8", 2: "ds_write_b16", 4: "ds_write_b32", 8: "ds_write_b64"} | {
    12: "ds_write_b96",
    16: "ds_write_b128",
}

_AMD_PAIRED = (4, 8)

_CK_TILE = "ROCm/composable_kernel docs/conceptual/ck_tile/hardware/lds_bank_conflicts.rst"
_CK_TILE_COUNTERS = (
    "published counters of the CK Tile transpose tutorials on MI300 (A. H. Ghamarian, LDS Bank "
    "Conflicts on CDNA, 2026), reproduced"
)
_HIPKITTENS = (
    "measured over all lane pairs, HazyResearch/HipKittens analysis/paper_experiments/phases"
)
_ROCROLLER = "rocRoller's LDSBankModel (ROCm/rocm-libraries PR 2157)"
_TIMED_CDNA4 = "nod-ai/amd-shark-ai PR 2919, docs/empirical-lds/cdna4info.md"
_LOOM = "Loom's rule for gfx1250, where reads alone share words (ROCm/hrx-system PR 219)"
# Triton's pull request 11365 lists the phases of both, as spans of the same vectors.
_B128_READ_CDNA3 = (1, 2, 20)
_B128_READ_CDNA4 = (1, 2, 12, 20)


def _amd(
    kind: AccessKind, width: int, banks: int, basis: tuple[int, ...], source: str, status: Status
) -> LdsInstruction:
    names = _AMD_READ_NAMES if kind is AccessKind.READ else _AMD_WRITE_NAMES
    phases = coset_phases(64, basis)
    row = LdsInstruction(names[width], kind, width, banks, phases, source, status)
    # Stores of parts of a word share it: the counters of the column-major tutorial of CK Tile are
    # 1,572,864, and would be 3,670,016 otherwise.
    if kind is AccessKind.READ or width < 4:
        return row
    other = row._replace(source=_LOOM, status=Status.ASSUMED, sharing=Sharing.LANE)
    return row._replace(other=other)


def _gfx942_instructions() -> tuple[LdsInstruction, ...]:
    rows = [
        _amd(kind, width, 32, _in_order(lanes), _CK_TILE_COUNTERS, Status.MEASURED)
        for kind in AccessKind
        for width, lanes in ((1, 32), (2, 32), (4, 32), (8, 16))
    ]
    read, write = AccessKind.READ, AccessKind.WRITE
    return (
        *rows,
        _amd(
            read, 12, 32, _B128_READ_CDNA3, "as ds_read_b128; measured so on gfx950", Status.ASSUMED
        ),
        _amd(read, 16, 32, _B128_READ_CDNA3, _CK_TILE, Status.PUBLISHED),
        _amd(write, 12, 32, _in_order(8), "as ds_write_b128", Status.ASSUMED),
        _amd(write, 16, 32, _in_order(8), _CK_TILE, Status.PUBLISHED),
    )


def _gfx90a_instructions() -> tuple[LdsInstruction, ...]:
    return tuple(
        each._replace(source="as gfx942", status=Status.ASSUMED) for each in _gfx942_instructions()
    )


def _gfx950_instructions() -> tuple[LdsInstruction, ...]:
    read, write = AccessKind.READ, AccessKind.WRITE
    assumed, measured = Status.ASSUMED, Status.MEASURED
    # The published reading has 32 bits; that parts of a word are read like it is assumed.
    narrow_reads = [
        row._replace(
            other=row._replace(
                banks=64,
                phases=coset_phases(64, _in_order(64)),
                source=_TIMED_CDNA4,
                status=Status.TIMED if row.width_bytes == 4 else Status.ASSUMED,
            )
        )
        for row in (
            _amd(read, 1, 32, _in_order(32), "as ds_read_b32", assumed),
            _amd(read, 2, 32, _in_order(32), "as ds_read_b32", assumed),
            _amd(read, 4, 32, _in_order(32), _ROCROLLER, Status.PUBLISHED),
        )
    ]
    narrow_writes = [
        _amd(write, each, 32, _in_order(32), "as gfx942", assumed) for each in (1, 2, 4)
    ]
    return (
        *narrow_reads,
        *narrow_writes,
        _amd(read, 8, 64, _in_order(32), f"{_HIPKITTENS}/ds_read_b64", measured),
        _amd(read, 12, 32, _B128_READ_CDNA3, f"{_HIPKITTENS}/ds_read_b96", measured),
        _amd(read, 16, 64, _B128_READ_CDNA4, f"{_HIPKITTENS}/ds_read_b128", measured),
        _amd(write, 8, 32, _in_order(16), f"{_HIPKITTENS}/ds_write_b64", measured),
        _amd(write, 12, 32, _in_order(8), "as ds_write_b128", assumed),
        _amd(write, 16, 32, _in_order(8), "writes were measured at 128 B per cycle", assumed),
    )


def _gfx950_special_instructions() -> tuple[LdsInstruction, ...]:
    return tuple(
        LdsInstruction(
            f"ds_read_b64_tr_b{bits}",
            AccessKind.READ,
            8,
            64,
            coset_phases(64, _in_order(32)),
            "as ds_read_b64",
            Status.ASSUMED,
        )
        for bits in (16, 8)
    )


_NVIDIA_WIDTHS = (
    # Bytes of a lane, the name, lanes of a phase, and the status where an H200 was measured.
    (1, "b8", 32, Status.PUBLISHED),
    (2, "b16", 32, Status.MEASURED),
    (4, "b32", 32, Status.MEASURED),
    (8, "v2.b32", 16, Status.MEASURED),
    (16, "v4.b32", 8, Status.MEASURED),
)
_NVIDIA_GUIDE = "CUDA C++ Programming Guide, shared memory"
_NVIDIA_COUNTED = "conflicts counted with ncu on an H200"
_NVIDIA_ALIKE = "as sm_80"
_BLACKWELL = (100, 103)
_BLACKWELL_ALIKE = "as sm_90"
_NVIDIA_FORUM = "NVIDIA, forums.developer.nvidia.com, thread 77228, on capabilities 7.0 to 7.5"
_NVIDIA_WAVEFRONTS = "wavefronts of 2,763 tables of addresses, counted with ncu on an H200"
_REVISIONS: Mapping[str, str] = MappingProxyType(
    {
        _CK_TILE: "commit f1f51746",
        _CK_TILE_COUNTERS: "2026",
        _ROCROLLER: "2025-10-17",
        _TIMED_CDNA4: "2026-06-05",
        _LOOM: "2026-07-29",
        _NVIDIA_WAVEFRONTS: "2026-11-28",
    }
)
"""The states of sources that were read, where they say them."""
_COUNTED_CAPABILITY = 90
_NVIDIA_MEASURED = (80, 90)
"""Capabilities whose code was measured: an H200 has 9.0, and has run code for 8.0."""


def _nvidia_instructions(capability: int) -> tuple[LdsInstruction, ...]:
    """Returns instructions of 128 bytes a wavefront: a quarter warp moves 16 bytes a lane.

    NVIDIA publishes 32 banks of 4 bytes for all of them, and that lanes conflict which access
    different words of a bank. How a warp is split where lanes access more than a word is assumed of
    chips that nobody has measured.
    """
    measured = capability in _NVIDIA_MEASURED
    rows: list[LdsInstruction] = []
    for kind, mnemonic in ((AccessKind.READ, "ld"), (AccessKind.WRITE, "st")):
        for width, suffix, lanes, known in _NVIDIA_WIDTHS:
            status, source = known, _NVIDIA_COUNTED
            # Nobody has counted conflicts of 32-bit stores.
            if width == 4 and kind is AccessKind.WRITE:
                status = Status.PUBLISHED
            if not measured:
                status = Status.PUBLISHED if width <= 4 else Status.ASSUMED
                source = _alike(capability)
            if capability in _BLACKWELL:
                # The guide's chapters on capabilities 10.0 and 10.3 do not say it again.
                status = Status.ASSUMED
            if status is Status.PUBLISHED:
                source = _NVIDIA_GUIDE
            phases = coset_phases(32, _in_order(lanes))
            name = f"{mnemonic}.shared.{suffix}"
            merges = kind is AccessKind.READ and len(phases) > 1
            merging = _merging(capability) if merges else None
            rows.append(LdsInstruction(name, kind, width, 32, phases, source, status, merging))
    return tuple(rows)


def _merging(capability: int) -> Evidence:
    """Returns what is known of the rule by which phases of wide loads become one."""
    if 70 <= capability < 80:
        return Evidence(_NVIDIA_FORUM, Status.PUBLISHED)
    if capability == _COUNTED_CAPABILITY:
        return Evidence(_NVIDIA_WAVEFRONTS, Status.MEASURED)
    return Evidence(_alike(capability) if capability in _BLACKWELL else "as sm_90", Status.ASSUMED)


def _nvidia_atomics(capability: int) -> tuple[LdsInstruction, ...]:
    """Returns atomic operations on 4 bytes as ptxas makes them for code of sm_90.

    `red.shared.add.f32` is none of them: it is a loop of comparisons and swaps.
    """
    status = Status.MEASURED if capability == _COUNTED_CAPABILITY else Status.ASSUMED
    source = _NVIDIA_WAVEFRONTS if status is Status.MEASURED else "as sm_90"
    return tuple(
        LdsInstruction(
            name,
            AccessKind.WRITE,
            4,
            32,
            coset_phases(32, _in_order(32)),
            source,
            status,
            None,
            each,
        )
        for name, each in (
            ("atom.shared.add.u32", Sharing.LANE),
            ("atom.shared.exch.b32", Sharing.LANE),
            ("atom.shared.cas.b32", Sharing.LANE_TWICE),
            ("red.shared.inc.u32", Sharing.WORD),
        )
    )


def _alike(capability: int) -> str:
    """Returns the source of a row of a chip that nobody has measured."""
    return _BLACKWELL_ALIKE if capability in _BLACKWELL else _NVIDIA_ALIKE


def copy_instruction(width_bytes: int, bypasses_l1: bool) -> str:
    """Returns the name of the `cp.async` that copies so many bytes a lane.

    Only copies of 16 bytes can bypass the L1 cache.
    """
    return f"{_COPY}{'cg' if bypasses_l1 and width_bytes == 16 else 'ca'}.{width_bytes}"


def is_copy_instruction(name: str) -> bool:
    """Returns whether a name is that of a `cp.async`."""
    return name.startswith(_COPY)


_COPY = "cp.async."
_COPIES = ((16, True), (16, False), (8, False), (4, False))


def _copies(measured: bool, alike: str) -> tuple[LdsInstruction, ...]:
    """Returns the kinds of `cp.async`; `async_copies.py` knows how they are served."""
    return tuple(
        LdsInstruction(
            copy_instruction(width, bypasses),
            AccessKind.WRITE,
            width,
            32,
            coset_phases(32, _in_order(128 // width)),
            "the lanes that copy 128 bytes; " + (_NVIDIA_COUNTED if measured else alike),
            Status.MEASURED if measured else Status.ASSUMED,
        )
        for width, bypasses in _COPIES
    )


def _matrix_transfers(capability: int, described: bool) -> tuple[LdsInstruction, ...]:
    """Returns what moves matrices of 8 rows of 16 bytes, a matrix at a time.

    `ldmatrix` needs 7.5, `stmatrix` 9.0, and `wgmma`, which reads by descriptors, `sm_90a`.
    """
    measured = capability in _NVIDIA_MEASURED
    source = _NVIDIA_COUNTED if measured else _alike(capability)
    rows = [
        ("ldmatrix", AccessKind.READ, "8 lanes give the rows of one matrix; ", capability >= 75),
        ("stmatrix", AccessKind.WRITE, "8 lanes give the rows of one matrix; ", capability >= 90),
        ("wgmma", AccessKind.READ, "a descriptor gives 8 rows of 16 bytes; ", described),
    ]
    return tuple(
        LdsInstruction(
            name,
            kind,
            16,
            32,
            coset_phases(32, _in_order(8)),
            what + source,
            Status.MEASURED if measured else Status.ASSUMED,
        )
        for name, kind, what, is_there in rows
        if is_there
    )


def _nvidia(
    capability: int,
    lds_kib: int,
    *,
    variant: str = "",
    iree_knows: bool = True,
) -> Target:
    """Returns the target of a compute capability, whose blocks may have so much shared memory.

    The code of a `variant` runs on no other capability. PTX ISA, target notes: `mma.sync` needs
    7.0, `ldmatrix` 7.5; `cp.async` and the conversion of two numbers to bf16 need 8.0, tensor
    copies and minima of two integers at once 9.0; `wgmma` needs `sm_90a`.
    """
    measured, alike = capability in _NVIDIA_MEASURED, _alike(capability)
    described = (capability, variant) == (90, "a")
    return Target(
        NVIDIA,
        f"{NVIDIA.prefix}{capability}{variant}",
        32,
        lds_kib * 1024,
        _nvidia_instructions(capability),
        _matrix_transfers(capability, described)
        + (_copies(measured, alike) if capability >= 80 else ())
        + _nvidia_atomics(capability),
        transaction_bytes=32,
        line_bytes=128,
        compute_capability=capability,
        mma_sync=capability >= 70,
        async_copies=capability >= 80,
        tensor_copies=capability >= 90,
        descriptor_tiles=described,
        bf16_rounding=capability >= 80,
        packed_minima=capability >= 90,
        native_exp2=True,
        iree_knows=iree_knows,
        described=capability == 90,
    )


def _cdna(
    arch: str,
    generation: int,
    lds_kib: int,
    instructions: tuple[LdsInstruction, ...],
    special: tuple[LdsInstruction, ...] = (),
) -> Target:
    return Target(
        AMD,
        arch,
        64,
        lds_kib * 1024,
        instructions,
        special,
        paired_bytes=_AMD_PAIRED,
        matrix_generation=generation,
        prefetches=True,
        byte_permutes=True,
        adds_pairs=generation >= 3,
        rounds_pairs=generation >= 4,
        multiplies_eight=generation >= 4,
        direct_loads=generation >= 4,
        # LLVM's feature `unaligned-access-mode`, which its amdhsa targets have. What it makes of
        # LDS accesses by it is `allowsMisalignedMemoryAccessesImpl` in its `SIISelLowering.cpp`.
        unaligned_loads=True,
        unaligned_lds=True,
        mixes_exponentials=generation >= 3,
        wave_priorities=generation >= 3,
    )


def _all_targets() -> Mapping[str, Target]:
    """Returns all chips: AMD's CDNA, and NVIDIA's by compute capability.

    For NVIDIA the number of KiB is the largest dynamic shared memory of one block (CUDA C++
    Programming Guide, technical specifications); from 8.0 on it is 1 KiB less than the SM's. These
    are the chips that IREE 3.13 compiles for, 9.0, which this project describes to it, and 10.0 and
    10.3, for which nothing here compiles.
    """
    targets = (
        _cdna("gfx90a", 2, 64, _gfx90a_instructions()),
        _cdna("gfx942", 3, 64, _gfx942_instructions()),
        _cdna("gfx950", 4, 160, _gfx950_instructions(), _gfx950_special_instructions()),
        *(_nvidia(capability, 48) for capability in (60, 61, 62)),
        *(_nvidia(capability, 96) for capability in (70, 72)),
        _nvidia(75, 64),
        _nvidia(80, 163),
        _nvidia(86, 99),
        _nvidia(87, 163),
        _nvidia(89, 99),
        _nvidia(90, 227, iree_knows=False),
        _nvidia(90, 227, variant="a", iree_knows=False),
        *(_nvidia(capability, 227, iree_knows=False) for capability in _BLACKWELL),
        *(_nvidia(capability, 99) for capability in (120, 121)),
    )
    return MappingProxyType({t.arch: t for t in targets})


_TARGETS = _all_targets()


def known_targets() -> tuple[str, ...]:
    """Returns the architectures that `target` knows."""
    return tuple(_TARGETS)


def target(arch: str) -> Target:
    """Returns the LDS of `arch` ("gfx942", "sm_80", ...); raises UnknownTargetError."""
    if not isinstance(arch, str) or arch not in _TARGETS:
        raise UnknownTargetError("arch", repr(arch), ", ".join(_TARGETS))
    return _TARGETS[arch]


def is_gfx9(arch: str) -> bool:
    """Returns whether an architecture is GCN or CDNA of AMD, whose profilers count alike."""
    return arch.startswith("gfx9")


def family_of(arch: str) -> Family:
    """Returns the family of an architecture; AMD's for a name that tells none."""
    if arch in _TARGETS:
        return _TARGETS[arch].family
    return next((each for each in FAMILIES if arch.startswith(each.prefix)), AMD)


_PRODUCTS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("mi355x", "mi350x", "mi350", "cdna4"), "gfx950"),
        **dict.fromkeys(("mi325x", "mi308x", "mi300x", "mi300a", "mi300", "cdna3"), "gfx942"),
        **dict.fromkeys(("mi250x", "mi250", "mi210", "mi200", "cdna2"), "gfx90a"),
        **dict.fromkeys(("gb300", "b300"), "sm_103"),
        **dict.fromkeys(("gb200", "b200", "b100"), "sm_100"),
        **dict.fromkeys(("gh200", "h200", "h100", "h800", "h20", "hopper"), "sm_90a"),
        **dict.fromkeys(("l40", "l40s", "l4", "ada"), "sm_89"),
        **dict.fromkeys(("a100", "a800", "a30", "ampere"), "sm_80"),
        **dict.fromkeys(("a40", "a10", "a10g", "a16", "a2", "a6000"), "sm_86"),
        **dict.fromkeys(("gb10",), "sm_121"),
        **dict.fromkeys(("orin",), "sm_87"),
        **dict.fromkeys(("t4", "turing"), "sm_75"),
        **dict.fromkeys(("v100", "volta"), "sm_70"),
        **dict.fromkeys(("p40", "p4"), "sm_61"),
        **dict.fromkeys(("p100",), "sm_60"),
    }
)
"""The architecture of each product or generation, as IREE's flags call them and as people do.

Those of IREE are in its `KnownTargets.cpp`; the others are in AMD's table of accelerators of ROCm
and in NVIDIA's list of compute capabilities.
"""
_SERIES: Mapping[str, str] = MappingProxyType(
    {"rtx50": "sm_120", "rtx40": "sm_89", "rtx30": "sm_86", "rtx20": "sm_75"}
)
"""GeForce cards: a series is the first two digits of the model, as in rtx4090."""
_MODEL = re.compile(r"(rtx\d\d)\d\d(?:ti|super|d)*")
_ARCH = re.compile(r"(gfx[\da-f]+)(?::\w+[+-])+|(sm_\d+)[af]")
"""With features, or with the letter for code that only one capability or its family runs."""


def target_named(name: str) -> Target:
    """Returns the LDS of a GPU by any name that compiles take, and some more.

    It may be an architecture, with features (`gfx942:sramecc+:xnack-`) or a variant (`sm_90a`), or
    a product (`mi300x`, `h100`, `rtx4090`), in letters of any size. Features and variants do not
    change the LDS; a variant that has instructions of its own has a row of its own.

    Raises:
        UnknownTargetError: there is no such GPU, or its LDS is not known.
    """
    if not isinstance(name, str):
        return target(name)
    plain = name.strip().lower()
    if model := _MODEL.fullmatch(plain):
        return target(_SERIES.get(model[1], name))
    if plain not in _TARGETS and (arch := _ARCH.fullmatch(plain)):
        return target(arch[1] or arch[2])
    return target(_PRODUCTS.get(plain, plain if plain in _TARGETS else name))
