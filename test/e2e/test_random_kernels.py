# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels through `bankwise-swizzle-lds-allocs`: same bits, fewer conflicts, true counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import (
    Layout,
    PlainLayout,
    SwizzledLayout,
    layout_conflicts,
    machine_accesses,
)
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.emulator.counters import totals
from bankwise.emulator.emulation_errors import EmulationError, UnknownInstructionError
from bankwise.passes.decisions import Action, Decision, DecisionLog
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from bankwise.runtime.dispatch_record import DispatchRecord
from bankwise.runtime.emulated_run import run_emulated

from .counted_accesses import CountAccesses, counting_edits
from .random_kernels import (
    CHIPS,
    Access,
    Buffers,
    Cast,
    Collapse,
    Expand,
    Gather,
    Kernel,
    Op,
    Places,
    Spelling,
    Spoiler,
    Tile,
    Twist,
    expected,
    input_arrays,
    kernels,
    lds_accesses,
    lds_tile,
    render,
)

Array = npt.NDArray[Any]

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
CONFLICTS, CYCLES = "SQ_LDS_BANK_CONFLICT", "LDS_CYCLES"
TRANSACTIONS = "GLOBAL_TRANSACTIONS_64B"


@dataclass(frozen=True)
class Run:
    """What a kernel gives under one mitigation."""

    outputs: list[Array]
    record: DispatchRecord
    decisions: tuple[Decision, ...]
    decided: int | None
    """The conflict cycles of a workgroup that the decisions leave; None if one does not say."""
    verified: int | None
    """Those that verification sees; None if it does not know all accesses."""

    @property
    def counters(self) -> dict[str, int]:
        return dict(totals(self.record.kernel, self.record.counters))


def emulate(kernel: Kernel, text: str, mitigation: str) -> Run:
    log, count = DecisionLog(), CountAccesses()
    flags = [
        "--iree-hal-target-device=hip",
        f"--iree-rocm-target={kernel.arch}",
        "--iree-input-demote-f64-to-f32=false",
    ]
    edits = counting_edits(count, mitigation)
    run = run_emulated(text, flags, "stock", input_arrays(kernel), edits=edits, decisions=log)
    (record,) = run.records
    (verified,) = map(count.cycles, count.found)
    return Run(run.outputs, record, tuple(log), log.conflict_cycles_left(), verified)


def run_correctly(kernel: Kernel, text: str, mitigation: str) -> Run:
    """Fails if the results are not the kernel's."""
    run = emulate(kernel, text, mitigation)
    wanted = expected(kernel, input_arrays(kernel))
    assert [each.tobytes() for each in run.outputs] == [each.tobytes() for each in wanted]
    assert not [d for d in run.decisions if d.action is Action.DROP]
    return run


def run_both(kernel: Kernel) -> tuple[Run, Run]:
    """Runs with mitigation `none` and `auto`, each of which must give the kernel's results."""
    text = render(kernel)
    plain, ours = (run_correctly(kernel, text, mitigation) for mitigation in ("none", "auto"))
    assert ours.record.kernel.lds_bytes <= plain.record.kernel.lds_bytes
    return plain, ours


# What the model says of a description.


_XOR_SHUFFLE = re.compile(r"xor_shuffle<(\d+), (\d+), (\d+), (\d+)>")


def layout_of(decision: Decision) -> Layout:
    """Returns the layout that an allocation got."""
    parts = decision.detail.split(" of ") if decision.detail else []
    matches = [_XOR_SHUFFLE.fullmatch(part) for part in parts]
    chain = [XorShuffle(*map(int, match.groups())) for match in matches if match is not None]
    assert len(chain) == len(parts), decision.detail
    return SwizzledLayout(tuple(chain)) if chain else PlainLayout()


@dataclass(frozen=True)
class Issues:
    """How often waves issue loads and stores of each kind and width: at least, and at most.

    A wave none of whose lanes take part may skip the instruction, or issue it for nobody.
    """

    least: Counter[tuple[AccessKind, int]] = field(default_factory=Counter)
    most: Counter[tuple[AccessKind, int]] = field(default_factory=Counter)

    def add(self, arch: str, tile: LdsTile, layout: Layout, access: LdsAccess) -> None:
        waves = len(access.elements)
        busy = waves if access.active is None else int(access.active.any(axis=1).sum())
        for machine in machine_accesses(lds_of(arch), tile, layout, access):
            key = (machine.instruction.kind, machine.instruction.width_bytes)
            self.least[key] += busy
            self.most[key] += waves

    def allows(self, issued: Counter[tuple[AccessKind, int]]) -> bool:
        keys = {*self.most, *issued}
        return all(self.least[key] <= issued[key] <= self.most[key] for key in keys)


_DS = re.compile(r"ds_(read|write|load|store)(2(?:st64)?|_2addr(?:_stride64)?)?_(?:[biu](\d+))")


def issued(record: DispatchRecord) -> Counter[tuple[AccessKind, int]]:
    """Returns the LDS accesses that were executed; a `ds_read2` is two."""
    found: Counter[tuple[AccessKind, int]] = Counter()
    executions = record.counters.executions.tolist()
    for instruction, count in zip(record.kernel.instructions, executions, strict=True):
        if not instruction.mnemonic.startswith("ds_"):
            continue
        match = _DS.match(instruction.mnemonic)
        assert match is not None, instruction.mnemonic
        kind = AccessKind.READ if match[1] in ("read", "load") else AccessKind.WRITE
        found[kind, int(match[3]) // 8] += count * (2 if match[2] else 1)
    return found


@dataclass
class Tally:
    """What a run of many kernels has checked, so that no check can vanish unseen."""

    kernels: int = 0
    swizzled: int = 0
    """Kernels with a swizzled allocation."""
    gathers_swizzled: int = 0
    """Swizzled allocations that gathers store to."""
    decisions_verified: int = 0
    """Kernels whose decisions leave the conflicts that verification sees, in the final IR."""
    decisions_counted: int = 0
    """Those of them whose code has the conflicts too, on the emulator."""
    counters_recounted: int = 0
    """Runs whose conflicts were compared with the model's, ours or unmitigated."""
    conflicting: int = 0
    """Those of them that had conflicts."""
    transactions_compared: int = 0
    """Kernels whose global transactions were compared."""
    worse: int = 0
    """Kernels with more conflicts than unmitigated: the backend had joined or split vectors."""
    conflicts_compared: int = 0
    """Kernels whose conflicts were compared with and without mitigation."""
    unemulated: Counter[str] = field(default_factory=Counter)
    """Instructions that the emulator does not know, by kernels left out for them."""
    kept: Counter[str] = field(default_factory=Counter)
    """Why allocations were not swizzled."""


def decisions_by_tile(kernel: Kernel, run: Run) -> list[list[Decision]]:
    """Returns the swizzling pass's decisions on the allocations of each tile."""
    made = [d for d in run.decisions if d.pass_name == SwizzleLdsAllocs.name]
    assert len(made) == sum(tile.allocations for tile in kernel.tiles)
    upcoming = iter(made)
    return [[next(upcoming) for _ in range(tile.allocations)] for tile in kernel.tiles]


def check(kernel: Kernel, tally: Tally) -> None:
    plain, ours = run_both(kernel)
    by_tile = decisions_by_tile(kernel, ours)
    tally.kernels += 1
    tally.swizzled += any(d.action is Action.HINT for made in by_tile for d in made)
    for tile, made in zip(kernel.tiles, by_tile, strict=True):
        # Buffers that take turns have one layout.
        assert len({d.detail for d in made}) == 1
        gathered = isinstance(tile.producer, Gather)
        tally.gathers_swizzled += gathered and made[0].action is Action.HINT
        if made[0].action is Action.KEEP:
            tally.kept[re.sub(r"\d+", "N", made[0].reason)] += 1
    check_transactions(plain, ours, tally)
    layouts = [layout_of(made[0]) for made in by_tile]
    plain_is_as_counted = check_counters(kernel, plain, [PlainLayout()] * len(layouts), tally)
    is_as_counted = check_counters(kernel, ours, layouts, tally)
    assert ours.counters[CYCLES] <= plain.counters[CYCLES]
    if plain_is_as_counted and is_as_counted:
        assert ours.counters[CONFLICTS] <= plain.counters[CONFLICTS]
        tally.conflicts_compared += 1
    check_decisions(kernel, ours, is_as_counted, tally)
    tally.worse += ours.counters[CONFLICTS] > plain.counters[CONFLICTS]


def check_transactions(plain: Run, ours: Run, tally: Tally) -> None:
    """Checks that no more blocks of global memory are touched.

    Not compared: code in which the backend joined other loads or stores of global memory.
    """
    if global_instructions(plain.record) != global_instructions(ours.record):
        return
    assert ours.counters[TRANSACTIONS] <= plain.counters[TRANSACTIONS]
    tally.transactions_compared += 1


def global_instructions(record: DispatchRecord) -> Counter[str]:
    """Returns how often each instruction on global memory was executed."""
    found: Counter[str] = Counter()
    executions = record.counters.executions.tolist()
    for instruction, count in zip(record.kernel.instructions, executions, strict=True):
        if instruction.mnemonic.startswith(("buffer_", "global_", "flat_")):
            found[instruction.mnemonic] += count
    return found


def check_decisions(kernel: Kernel, ours: Run, is_as_counted: bool, tally: Tally) -> None:
    """Checks that decisions, verification and the emulator give one number.

    Not compared: decisions without a count, which are those on allocations with an access that is
    not known; and the emulator where the backend has joined, split or removed accesses.
    """
    if ours.decided is None or ours.verified is None:
        return
    assert ours.decided == ours.verified
    tally.decisions_verified += 1
    if is_as_counted:
        assert ours.counters[CONFLICTS] == kernel.workgroups * ours.decided
        tally.decisions_counted += 1


def check_counters(kernel: Kernel, run: Run, layouts: Sequence[Layout], tally: Tally) -> bool:
    """Checks the emulator's conflicts by the model; returns whether they compare exactly.

    Not compared: code whose loads and stores have other widths than the model's, or are not as
    many. The backend joins neighbouring vectors, and splits those that it cannot prove aligned.
    Where some lanes of a wave are off, it may move lanes from one access to another, or run them
    all and drop what is not wanted: then the counts may differ by what such accesses cost.
    """
    lds, issues, conflicts, partial = lds_of(kernel.arch), Issues(), 0, 0
    for tile, layout in zip(kernel.tiles, layouts, strict=True):
        accesses = lds_accesses(kernel, tile)
        conflicts += layout_conflicts(lds, lds_tile(tile), layout, accesses)
        off = [access for access in accesses if _partly_off(access)]
        partial += len(off) + layout_conflicts(lds, lds_tile(tile), layout, off)
        for _ in range(kernel.workgroups):
            for access in accesses:
                issues.add(kernel.arch, lds_tile(tile), layout, access)
    if not issues.allows(issued(run.record)):
        return False
    difference = abs(run.counters[CONFLICTS] - kernel.workgroups * conflicts)
    assert difference <= kernel.workgroups * partial
    tally.counters_recounted += 1
    tally.conflicting += conflicts > 0
    return difference == 0


def _partly_off(access: LdsAccess) -> bool:
    """Returns whether a wave runs an access with some of its lanes."""
    if access.active is None:
        return False
    on = access.active.sum(axis=1)
    return bool(((on > 0) & (on < access.active.shape[1])).any())


# The tests.


@contextmanager
def leaving_out_unknown_instructions(tally: Tally) -> Generator[None, None, None]:
    """Leaves out code that cannot be emulated, which says nothing of the passes."""
    try:
        yield
    except EmulationError as error:
        unknown = next(
            (e for e in (error, error.__cause__) if isinstance(e, UnknownInstructionError)), None
        )
        if unknown is None:
            raise
        tally.unemulated[unknown.message] += 1


def check_many(
    number: int, seeded: int, gathers: bool = False, chips: Sequence[str] = CHIPS
) -> Tally:
    """Checks `number` random kernels, always the same ones for a seed; see `kernels`."""
    tally = Tally()

    @seed(seeded)
    @settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=SLOW,
    )
    @given(kernels(gathers=gathers, chips=chips))
    def check_one(kernel: Kernel) -> None:
        note(render(kernel))
        with leaving_out_unknown_instructions(tally):
            check(kernel, tally)

    check_one()
    print(tally)
    return tally


LEAST = {
    "kernels": 8,
    "swizzled": 3,
    "decisions_verified": 8,
    "decisions_counted": 5,
    "counters_recounted": 8,
    "conflicting": 3,
    "conflicts_compared": 4,
    "transactions_compared": 6,
}
"""What ten examples have to check at least."""


@pytest.mark.nightly
def test_random_kernels_keep_their_results_and_lose_conflicts():
    tally = check_many(10, seeded=0)
    for name, least in LEAST.items():
        assert getattr(tally, name) >= least, name
    assert tally.worse <= 1


@pytest.mark.nightly
@pytest.mark.parametrize("seeded", range(1, 21))
def test_many_random_kernels(seeded: int):
    gathers = seeded % 2 == 0
    tally = check_many(50, seeded=seeded, gathers=gathers)
    assert tally.gathers_swizzled >= (2 if gathers else 0)
    assert tally.counters_recounted >= tally.kernels // 2
    assert tally.conflicts_compared >= tally.kernels // 2
    assert tally.worse <= tally.kernels // 10
    assert tally.decisions_verified >= tally.kernels * 4 // 5
    assert tally.decisions_counted >= tally.kernels // 2


@pytest.mark.nightly
@pytest.mark.parametrize("chip", ["gfx1100", "gfx1151", "gfx1201"])
def test_random_kernels_of_rdna(chip: str):
    tally = check_many(12, seeded=0, chips=(chip,))
    assert tally.decisions_counted >= tally.kernels * 3 // 4
    assert tally.conflicting >= tally.kernels // 2


FOUND = {
    "the swizzle of a gathered tile is not linear over F2": Kernel(
        "gfx942",
        (64, 1, 1),
        (Tile("f32", (24, 96), Gather(1, Places((0, 1))), (Access(4, Places((1, 0))),)),),
    ),
    "some waves do not run a gather": Kernel(
        "gfx950",
        (256, 1, 1),
        (
            Tile(
                "f32",
                (384,),
                Gather(1),
                (Access(2, Places((1, 0)), views=(Expand(0, 32),)),),
            ),
        ),
    ),
    "a disjoint linearize_index with a negative digit": Kernel(
        "gfx950",
        (96, 1, 1),
        (
            Tile(
                "f64",
                (12, 24),
                Access(
                    places=Places((0, 2, 1), spelling=Spelling.DELINEARIZE, blocked=True),
                    views=(Expand(1, 2),),
                    op=Op.MEMREF,
                ),
                (Access(2, Places((1, 0))),),
                buffers=3,
                kept=Buffers.INDEXED,
            ),
        ),
        iterations=4,
    ),
    "halves that are swapped alike in all lanes, which LLVM does not see": Kernel(
        "gfx942",
        (32, 4, 1),
        (
            Tile(
                "i32",
                (12, 40),
                Access(2, Places((0, 1)), row_view=True),
                (
                    Access(
                        2,
                        Places((0, 1), blocked=True),
                        op=Op.TRANSFER,
                        column=True,
                        row_view=True,
                    ),
                ),
            ),
        ),
        workgroups=2,
    ),
    "an address whose alignment LLVM no longer proved": Kernel(
        "gfx942",
        (64, 1, 1),
        (
            Tile(
                "f32",
                (8, 80),
                Access(2, Places((0, 1), spelling=Spelling.DELINEARIZE), op=Op.TRANSFER),
                (Access(4, Places((0, 1), spelling=Spelling.DELINEARIZE), op=Op.TRANSFER),),
                ((0, 1), (0, 4)),
                buffers=3,
                kept=Buffers.INDEXED,
            ),
        ),
        iterations=5,
    ),
    "neighbours that LLVM joins, and a swizzle that parts them": Kernel(
        "gfx950",
        (96, 1, 1),
        (
            Tile(
                "f16",
                (1024,),
                Access(2, Places(), (Expand(0, 4), Collapse(0)), Op.TRANSFER),
                (
                    Access(2, Places(spelling=Spelling.DELINEARIZE, blocked=True), (Cast.SIZE,)),
                    Access(1, Places(spelling=Spelling.ARITH, blocked=True), (), Op.MEMREF),
                ),
            ),
            Tile(
                "i64",
                (12, 80),
                Access(1, Places((0, 1), blocked=True), op=Op.TRANSFER),
                (
                    Access(1, Places((0, 1), blocked=True), op=Op.TRANSFER),
                    Access(
                        1,
                        Places((1, 0), Twist.ROTATE, blocked=True),
                        (Expand(0, 2), Collapse(1)),
                        Op.TRANSFER,
                        column=True,
                    ),
                ),
            ),
        ),
    ),
    "buffers that take turns count once per iteration": Kernel(
        "gfx942",
        (32, 4, 1),
        (
            Tile(
                "f16",
                (12, 12),
                Access(
                    places=Places((3, 1, 0, 2), blocked=True),
                    views=(Expand(1, 3), Expand(0, 4)),
                    op=Op.TRANSFER,
                    row_view=True,
                ),
                (Access(4, Places((0, 1), Twist.ROTATE, Spelling.ARITH), flat=True),),
                buffers=3,
            ),
        ),
        iterations=2,
    ),
    "buffers of a loop whose plain accesses LLVM joins, but not the swizzled ones": Kernel(
        "gfx942",
        (24, 4, 1),
        (
            Tile(
                "i32",
                (384,),
                Access(
                    2,
                    Places((0, 1), spelling=Spelling.DELINEARIZE, blocked=True),
                    (Expand(0, 2),),
                    Op.TRANSFER,
                    flat=True,
                ),
                (
                    Access(
                        1,
                        Places((0, 1, 2), spelling=Spelling.ARITH, blocked=True),
                        (Expand(0, 2), Expand(0, 8)),
                        Op.TRANSFER,
                    ),
                ),
                buffers=3,
            ),
        ),
        workgroups=2,
        iterations=2,
    ),
    "accesses that LLVM joins because their conditions are equal": Kernel(
        "gfx950",
        (64, 2, 1),
        (
            Tile(
                "f16",
                (384,),
                Gather(2, Places(spelling=Spelling.ARITH, blocked=True)),
                (
                    Access(4, Places(spelling=Spelling.ARITH), op=Op.TRANSFER, flat=True),
                    Access(
                        2,
                        Places((1, 0, 2), spelling=Spelling.ARITH, blocked=True),
                        (Expand(0, 8), Expand(1, 2)),
                        Op.TRANSFER,
                        column=True,
                        row_view=True,
                    ),
                ),
            ),
        ),
    ),
}
"""What random kernels have found, reduced."""


@pytest.mark.sampled(every=9)
@pytest.mark.parametrize("kernel", FOUND.values(), ids=FOUND.keys())
def test_what_was_found_once(kernel: Kernel):
    tally = Tally()
    check(kernel, tally)
    assert not tally.worse


@pytest.mark.sampled("arch", "element", "width", every=4)
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("element", "width"), [("f16", 2), ("f16", 4), ("f16", 8), ("i8", 4)])
def test_loads_that_begin_inside_words_are_counted_as_llvm_leaves_them(
    arch: str, element: str, width: int
):
    """Rows of 33 elements begin inside words; LLVM splits none of these loads."""
    consumer = Access(width, Places((0, 1)))
    tile = Tile(element, (64, 33), Access(1, Places((0, 1))), (consumer,))
    tally = Tally()
    check(Kernel(arch, (64, 1, 1), (tile,)), tally)
    assert tally.decisions_counted == 1
    assert tally.conflicts_compared == 1


def check_spoiled(kernel: Kernel) -> None:
    """Checks that the spoiled tile keeps its layout for the right reason.

    Everything else is as ever.
    """
    assert kernel.spoiler is not None
    ours = run_correctly(kernel, render(kernel), "auto")
    made = [d for d in ours.decisions if d.pass_name == SwizzleLdsAllocs.name]
    assert made[0].action is Action.KEEP
    assert kernel.spoiler.reason in made[0].reason


SPOILED = Tile(
    "f32",
    (16, 64),
    Access(4, Places((0, 1))),
    (Access(1, Places((1, 0))),),
)
"""A tile with conflicts."""


def test_a_tile_is_swizzled_without_a_spoiler():
    kernel = Kernel("gfx942", (64, 1, 1), (SPOILED,))
    ours = run_correctly(kernel, render(kernel), "auto")
    assert Action.HINT in {each.action for each in ours.decisions}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("spoiler", Spoiler)
def test_what_no_swizzle_survives_is_left_alone(spoiler: Spoiler):
    check_spoiled(Kernel("gfx942", (64, 1, 1), (SPOILED,), spoiler=spoiler))


@pytest.mark.nightly
@pytest.mark.parametrize("spoiler", Spoiler)
@settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    suppress_health_check=SLOW,
)
@given(st.data())
def test_what_no_swizzle_survives_is_left_alone_everywhere(spoiler: Spoiler, data: st.DataObject):
    with leaving_out_unknown_instructions(Tally()):
        check_spoiled(data.draw(kernels([spoiler])))
