# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The LDS of each GPU: a table of its instructions, with their sources.

A new GPU is a row of `_all_lds`, and a table of its LDS instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from .errors import InvalidParameterError
from .families import NVIDIA
from .lds_rules import AccessKind, Evidence, Lds, LdsInstruction, Sharing, Status, coset_phases
from .shown_text import did_you_mean


class UnknownTargetError(InvalidParameterError):
    """There is no table for this architecture."""


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
_LOOM_RUNS = "native runs of Loom on gfx1100 and gfx1151 (ROCm/hrx-system, lds_bank_service.py)"
_TIMED_RDNA = "nod-ai/amd-shark-ai PR 2919, docs/empirical-lds"
_GFX12_LANES = "AMD's guide as quoted in the review of triton-lang/triton PR 11365"
_GFX1250_SCRIPTS = "lds_bank_conflict_analyzer.py, an AMD engineer's public scripts for gfx1250"
_GFX1250_ROCROLLER = "rocRoller's LDSModel for gfx1250 (ROCm/rocm-libraries a7e3879c8847)"
# Triton's pull request 11365 lists the phases of both, as spans of the same vectors.
_B128_READ_CDNA3 = (1, 2, 20)
_B128_READ_CDNA4 = (1, 2, 12, 20)


def _amd(
    kind: AccessKind, width: int, banks: int, basis: tuple[int, ...], source: str, status: Status
) -> LdsInstruction:
    names = _AMD_READ_NAMES if kind is AccessKind.READ else _AMD_WRITE_NAMES
    phases = coset_phases(64, basis)
    row = LdsInstruction(names[width], kind, width, banks, phases, source, status)
    return _doubtful(row, _LOOM)


def _doubtful(row: LdsInstruction, source: str) -> LdsInstruction:
    """Returns a row with what `source` says of lanes that store equal words: each takes a cycle.

    Stores of parts of a word share it: the counters of the column-major tutorial of CK Tile are
    1,572,864, and would be 3,670,016 otherwise.
    """
    if row.kind is AccessKind.READ or row.width_bytes < 4:
        return row
    return row._replace(
        other=row._replace(source=source, status=Status.ASSUMED, sharing=Sharing.LANE)
    )


def _taken_over(rows: tuple[LdsInstruction, ...], arch: str) -> tuple[LdsInstruction, ...]:
    """Returns the rows of a chip for another one, which nobody has measured."""
    return tuple(each._replace(source=f"as {arch}", status=Status.ASSUMED) for each in rows)


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


def transposing_read(moved_bits: int, element_bits: int) -> str:
    """Returns the name of a read that transposes elements among lanes, as LLVM has it for gfx950.

    The rows of other chips have it as an alias.
    """
    return f"ds_read_b{moved_bits}_tr_b{element_bits}"


def _gfx950_special_instructions() -> tuple[LdsInstruction, ...]:
    return tuple(
        LdsInstruction(
            transposing_read(64, bits),
            AccessKind.READ,
            8,
            64,
            coset_phases(64, _in_order(32)),
            "as ds_read_b64",
            Status.ASSUMED,
        )
        for bits in (16, 8)
    )


def _rdna_row(
    kind: AccessKind, width: int, banks: int, basis: tuple[int, ...], known: Evidence
) -> LdsInstruction:
    """Returns a row of a chip with waves of 32 lanes, whose instructions LLVM names otherwise."""
    names = _AMD_READ_NAMES if kind is AccessKind.READ else _AMD_WRITE_NAMES
    name = names[width].replace("ds_read", "ds_load").replace("ds_write", "ds_store")
    return LdsInstruction(name, kind, width, banks, coset_phases(32, basis), *known)


def _rdna_rows(
    b128_read: tuple[int, ...], reads: Mapping[int, Evidence], writes: Mapping[int, Evidence]
) -> tuple[LdsInstruction, ...]:
    """Returns the rows of 32 banks that RDNA3 and RDNA4 share but for the lanes of wide reads.

    Whether lanes that store equal words take a cycle each is not known: Loom counts them so.
    """
    phases = {1: 32, 2: 32, 4: 32, 8: 16, 12: 8, 16: 8}
    rows = [
        _rdna_row(AccessKind.READ, width, 32, b128_read if width > 8 else _in_order(lanes), known)
        for (width, lanes), known in zip(phases.items(), reads.values(), strict=True)
    ]
    for (width, lanes), known in zip(phases.items(), writes.values(), strict=True):
        row = _rdna_row(AccessKind.WRITE, width, 32, _in_order(lanes), known)
        rows.append(_doubtful(row, _LOOM_RUNS))
    return tuple(rows)


def _rdna(arch: str, rows: tuple[LdsInstruction, ...]) -> Lds:
    """Returns the LDS of a chip of RDNA.

    A workgroup has 64 KiB of the 128 KiB of a WGP, whose 64 banks are two sets of 32; an
    instruction meets one set. In WGP mode, which is LLVM's, that may be the farther one.
    """
    return _amd_lds(arch, 32, 64, rows)._replace(double_waves=True)


def _all_rdna() -> Iterator[Lds]:
    """Yields the LDS of RDNA3, RDNA3.5 and RDNA4."""
    timed = Evidence(f"latency on a Radeon Pro W7900, {_TIMED_RDNA}/rdna3info.md", Status.TIMED)
    runs = Evidence(_LOOM_RUNS, Status.TIMED)
    wide = Evidence("as ds_load_b128, which AMD's guide names with it", Status.PUBLISHED)
    narrow = Evidence("as ds_load_u16", Status.ASSUMED)
    reads = {1: narrow, 2: runs, 4: timed, 8: timed, 12: wide, 16: timed}
    stores = (
        Evidence("as ds_store_b16", Status.ASSUMED),
        Evidence("as ds_store_b128", Status.ASSUMED),
    )
    writes = {1: stores[0], 2: runs, 4: runs, 8: runs, 12: stores[1], 16: runs}
    rdna3 = _rdna_rows(_B128_READ_CDNA3, reads, writes)
    yield _rdna("gfx1100", rdna3)
    for arch in ("gfx1101", "gfx1102", "gfx1103", "gfx1150"):
        yield _rdna(arch, _taken_over(rdna3, "gfx1100"))
    by_loom = {4: runs, 8: runs, 16: runs}
    yield _rdna("gfx1151", _rdna_rows(_B128_READ_CDNA3, reads | by_loom, writes))
    timed = Evidence(f"latency on an RX 9070 XT, {_TIMED_RDNA}/rdna4info.md", Status.TIMED)
    published = Evidence(_GFX12_LANES, Status.PUBLISHED)
    narrow = Evidence("as ds_load_b32", Status.ASSUMED)
    reads = {1: narrow, 2: narrow, 4: timed, 8: timed, 12: published, 16: timed}
    assumed = Evidence("as reads of that width", Status.ASSUMED)
    rdna4 = _rdna_rows(_in_order(8), reads, dict.fromkeys(reads, assumed))
    yield _rdna("gfx1200", _taken_over(rdna4, "gfx1201"))
    yield _rdna("gfx1201", rdna4)


def _gfx1250() -> Lds:
    """Returns the LDS of gfx1250, of whose banks two published sources say something else.

    Between waves more is at stake: the LDS has two ports, each of which serves a wave.
    """
    scripts = Evidence(_GFX1250_SCRIPTS, Status.PUBLISHED)
    assumed = Evidence("as the read of that width", Status.ASSUMED)
    rows = list[LdsInstruction]()
    for width, lanes in ((1, 32), (2, 32), (4, 32), (8, 32), (12, 16), (16, 16)):
        known = (
            scripts if width in (4, 8, 16) else Evidence("as the next wider read", Status.ASSUMED)
        )
        for kind, evidence in ((AccessKind.READ, known), (AccessKind.WRITE, assumed)):
            row = _rdna_row(kind, width, 64, _in_order(lanes), evidence)
            if width == 16:
                row = row._replace(
                    other=row._replace(
                        banks=32,
                        phases=coset_phases(32, _in_order(4)),
                        source=_GFX1250_ROCROLLER,
                        status=Status.PUBLISHED,
                        sharing=Sharing.LANE,
                    )
                )
            rows.append(row)
    transposing = tuple(
        LdsInstruction(
            *(f"ds_load_tr{bits}_b{8 * width}", AccessKind.READ, width, 64),
            coset_phases(32, _in_order(lanes)),
            *scripts,
            alias=transposing_read(8 * width, bits),
        )
        for bits, width, lanes in ((16, 16, 16), (8, 8, 32))
    )
    return _amd_lds("gfx1250", 32, 320, tuple(rows), transposing)


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
        _LOOM_RUNS: "2026-09-25",
        _TIMED_RDNA: "2026-07-09",
        _GFX12_LANES: "2026-08-27",
        _NVIDIA_WAVEFRONTS: "2026-11-28",
    }
)
"""The states of sources that were read, where they say them."""


def revision_of(source: str) -> str:
    """Returns of which state of its source a row is, as a date, a commit or a version.

    It is empty where that is not known.
    """
    return next((date for part, date in _REVISIONS.items() if part in source), "")


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


def _nvidia(capability: int, lds_kib: int, *, variant: str = "") -> Lds:
    """Returns the LDS of a compute capability, whose blocks may have so much shared memory.

    The code of a `variant` runs on no other capability. PTX ISA, target notes: `ldmatrix` needs
    7.5, `cp.async` 8.0, and `wgmma` `sm_90a`.
    """
    measured, alike = capability in _NVIDIA_MEASURED, _alike(capability)
    return Lds(
        f"{NVIDIA.prefix}{capability}{variant}",
        32,
        lds_kib * 1024,
        _nvidia_instructions(capability),
        _matrix_transfers(capability, described=(capability, variant) == (90, "a"))
        + (_copies(measured, alike) if capability >= 80 else ())
        + _nvidia_atomics(capability),
        transaction_bytes=32,
    )


def _amd_lds(
    arch: str,
    wave_size: int,
    lds_kib: int,
    instructions: tuple[LdsInstruction, ...],
    special: tuple[LdsInstruction, ...] = (),
) -> Lds:
    return Lds(
        arch,
        wave_size,
        lds_kib * 1024,
        instructions,
        special,
        paired_bytes=_AMD_PAIRED,
        # LLVM's feature `unaligned-access-mode`, which its amdhsa targets have. What it makes of
        # LDS accesses by it is `allowsMisalignedMemoryAccessesImpl` in its `SIISelLowering.cpp`.
        unaligned=True,
        drops_unread=True,
    )


def _all_lds() -> Mapping[str, Lds]:
    """Returns the LDS of all chips: AMD's CDNA and RDNA, and NVIDIA's by compute capability.

    For NVIDIA the number of KiB is the largest dynamic shared memory of one block (CUDA C++
    Programming Guide, technical specifications); from 8.0 on it is 1 KiB less than the SM's. These
    are the chips that IREE 3.13 compiles for, 9.0, which this project describes to it, and 10.0 and
    10.3, for which nothing here compiles.
    """
    rows = (
        _amd_lds("gfx90a", 64, 64, _taken_over(_gfx942_instructions(), "gfx942")),
        _amd_lds("gfx942", 64, 64, _gfx942_instructions()),
        _amd_lds("gfx950", 64, 160, _gfx950_instructions(), _gfx950_special_instructions()),
        *_all_rdna(),
        _gfx1250(),
        *(_nvidia(capability, 48) for capability in (60, 61, 62)),
        *(_nvidia(capability, 96) for capability in (70, 72)),
        _nvidia(75, 64),
        *(_nvidia(*each) for each in ((80, 163), (86, 99), (87, 163), (89, 99), (90, 227))),
        _nvidia(90, 227, variant="a"),
        *(_nvidia(capability, 227) for capability in _BLACKWELL),
        *(_nvidia(capability, 99) for capability in (120, 121)),
    )
    return MappingProxyType({each.arch: each for each in rows})


_LDS = _all_lds()


def known_targets() -> tuple[str, ...]:
    """Returns the architectures whose LDS is known."""
    return tuple(_LDS)


def lds_of(arch: str) -> Lds:
    """Returns the LDS of `arch` ("gfx942", "sm_80", ...); raises UnknownTargetError."""
    if not isinstance(arch, str) or arch not in _LDS:
        hint = did_you_mean(str(arch), _LDS)
        raise UnknownTargetError("arch", repr(arch), f"{', '.join(_LDS)}{hint}")
    return _LDS[arch]
