# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target tables against the phases as their sources list them, and access splitting."""

import pytest

from bankwise.bank_model.features import Features, features_of
from bankwise.bank_model.lds_rules import AccessKind, Status, UnknownInstructionError, coset_phases
from bankwise.bank_model.lds_tables import UnknownTargetError, known_targets, lds_of
from bankwise.bank_model.targets import arch_named

READ, WRITE = AccessKind.READ, AccessKind.WRITE

# CK Tile's page on LDS bank conflicts, ds_read_b128; HipKittens measured ds_read_b96 alike.
CDNA3_B128_READ = [
    [0, 1, 2, 3, 20, 21, 22, 23],
    [4, 5, 6, 7, 16, 17, 18, 19],
    [8, 9, 10, 11, 28, 29, 30, 31],
    [12, 13, 14, 15, 24, 25, 26, 27],
    [32, 33, 34, 35, 52, 53, 54, 55],
    [36, 37, 38, 39, 48, 49, 50, 51],
    [40, 41, 42, 43, 60, 61, 62, 63],
    [44, 45, 46, 47, 56, 57, 58, 59],
]
# HipKittens ds_read_b128 on MI350X.
CDNA4_B128_READ = [
    [0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27],
    [4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31],
    [32, 33, 34, 35, 44, 45, 46, 47, 52, 53, 54, 55, 56, 57, 58, 59],
    [36, 37, 38, 39, 40, 41, 42, 43, 48, 49, 50, 51, 60, 61, 62, 63],
]


# Those that IREE 3.13 knows (its KnownTargets.cpp), and that of an H200, also with its own code.
NVIDIA_CAPABILITIES = (60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 120, 121)
NVIDIA = [*(f"sm_{capability}" for capability in NVIDIA_CAPABILITIES), "sm_90a"]


RDNA3 = ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151")
RDNA4 = ("gfx1200", "gfx1201")


def in_order(wave, lanes):
    return [list(range(first, first + lanes)) for first in range(0, wave, lanes)]


def rows():
    amd_narrow = [(k, w, 32, in_order(64, 32)) for k in AccessKind for w in (1, 2, 4)]
    cdna3 = [
        *amd_narrow,
        (READ, 8, 32, in_order(64, 16)),
        (READ, 12, 32, CDNA3_B128_READ),
        (READ, 16, 32, CDNA3_B128_READ),
        (WRITE, 8, 32, in_order(64, 16)),
        (WRITE, 12, 32, in_order(64, 8)),
        (WRITE, 16, 32, in_order(64, 8)),
    ]
    cdna4 = [
        *amd_narrow,
        (READ, 8, 64, in_order(64, 32)),
        (READ, 12, 32, CDNA3_B128_READ),
        (READ, 16, 64, CDNA4_B128_READ),
        (WRITE, 8, 32, in_order(64, 16)),
        (WRITE, 12, 32, in_order(64, 8)),
        (WRITE, 16, 32, in_order(64, 8)),
    ]
    nvidia = [
        (k, w, 32, in_order(32, lanes))
        for k in AccessKind
        for w, lanes in ((1, 32), (2, 32), (4, 32), (8, 16), (16, 8))
    ]
    # Lanes 0 to 31 of CDNA3's, as two people have measured; gfx12 serves lanes in order.
    rdna3, rdna4 = (
        [
            *((k, w, 32, in_order(32, 32)) for k in AccessKind for w in (1, 2, 4)),
            *((k, 8, 32, in_order(32, 16)) for k in AccessKind),
            *((READ, w, 32, wide) for w in (12, 16)),
            *((WRITE, w, 32, in_order(32, 8)) for w in (12, 16)),
        ]
        for wide in (CDNA3_B128_READ[:4], in_order(32, 8))
    )
    gfx1250 = [
        (k, w, 64, in_order(32, lanes))
        for k in AccessKind
        for w, lanes in ((1, 32), (2, 32), (4, 32), (8, 32), (12, 16), (16, 16))
    ]
    tables = {"gfx90a": cdna3, "gfx942": cdna3, "gfx950": cdna4}
    tables |= dict.fromkeys(NVIDIA, nvidia)
    tables |= dict.fromkeys(RDNA3, rdna3) | dict.fromkeys(RDNA4, rdna4) | {"gfx1250": gfx1250}
    assert set(tables) == set(known_targets())
    return [(arch, *row) for arch, table in tables.items() for row in table]


@pytest.mark.parametrize(("arch", "kind", "width", "banks", "phases"), rows())
def test_phases_are_those_of_the_source(arch, kind, width, banks, phases):
    instruction = lds_of(arch).instruction(kind, width)
    assert instruction.banks == banks
    assert sorted(map(sorted, instruction.phases)) == sorted(phases)
    assert instruction.source


@pytest.mark.parametrize("arch", known_targets())
def test_table_has_exactly_the_listed_widths(arch):
    widths = (1, 2, 4, 8, 16) if arch.startswith("sm_") else (1, 2, 4, 8, 12, 16)
    assert lds_of(arch).widths(READ) == lds_of(arch).widths(WRITE) == widths


@pytest.mark.parametrize("arch", [*RDNA3, *RDNA4])
def test_waves_of_64_lanes_are_served_as_two_of_32(arch):
    plain, double = lds_of(arch), lds_of(arch).of_waves(64)
    assert plain.of_waves(32) is plain and plain.of_waves(16) is None
    assert double is not None and double.wave_size == 64
    for one, other in zip(plain.rows, double.rows, strict=True):
        later = tuple(tuple(lane + 32 for lane in phase) for phase in one.phases)
        assert other.phases == one.phases + later
        assert (other.other is None) == (one.other is None)
    assert lds_of("gfx942").of_waves(32) is None and lds_of("gfx1250").of_waves(64) is None


@pytest.mark.parametrize("arch", [*RDNA3, *RDNA4, "gfx1250"])
def test_what_is_known_of_a_row_is_said(arch):
    statuses = {each.status for each in lds_of(arch).rows}
    measured = arch in ("gfx1100", "gfx1151", "gfx1201")
    assert (Status.TIMED in statuses) == measured
    assert Status.ASSUMED in statuses
    # Sources disagree on equal words of stores, and on all wide accesses of gfx1250.
    doubtful = {(each.kind, each.width_bytes) for each in lds_of(arch).rows if each.other}
    wide = {(kind, 16) for kind in AccessKind}
    assert doubtful == (wide if arch == "gfx1250" else {(WRITE, w) for w in (4, 8, 12, 16)})


def test_transposing_read_is_selected_by_name_only():
    gfx950 = lds_of("gfx950")
    assert gfx950.instruction_named("ds_read_b64_tr_b16").banks == 64
    assert gfx950.instruction(READ, 8).name == "ds_read_b64"
    with pytest.raises(UnknownInstructionError, match="ds_read_b64_tr_b16"):
        lds_of("gfx942").instruction_named("ds_read_b64_tr_b16")


def test_an_access_that_asks_for_an_instruction_gets_it_where_it_fits():
    name = "ds_read_b64_tr_b16"

    def names(arch, width, alignment):
        return [i.name for i, _ in lds_of(arch).legalize(READ, width, alignment, name)]

    assert names("gfx950", 8, 8) == [name]
    # What a chip has another name for is asked for alike.
    newer = lds_of("gfx1250")
    wide = [each.name for each, _ in newer.legalize(READ, 16, 16, "ds_read_b128_tr_b16")]
    narrow = [each.name for each, _ in newer.legalize(READ, 8, 8, "ds_read_b64_tr_b8")]
    assert (wide, narrow) == (["ds_load_tr16_b128"], ["ds_load_tr8_b64"])
    assert not newer.has("ds_read_b64_tr_b8")
    assert names("gfx950", 8, 4) == ["ds_read_b32"] * 2
    assert names("gfx950", 16, 16) == ["ds_read_b128"]
    assert names("gfx942", 8, 8) == ["ds_read_b64"]


def test_lds_limits():
    assert {arch: lds_of(arch).workgroup_bytes for arch in known_targets()} == {
        "gfx90a": 65536,
        "gfx942": 65536,
        "gfx950": 163840,
        # What IREE 3.13 says of them (max_workgroup_memory_bytes).
        **dict.fromkeys((*RDNA3, *RDNA4), 65536),
        "gfx1250": 327680,
        # CUDA C++ Programming Guide, technical specifications per compute capability.
        **dict.fromkeys(("sm_60", "sm_61", "sm_62"), 48 * 1024),
        **dict.fromkeys(("sm_70", "sm_72"), 96 * 1024),
        "sm_75": 64 * 1024,
        **dict.fromkeys(("sm_80", "sm_87"), 163 * 1024),
        **dict.fromkeys(("sm_86", "sm_89", "sm_120", "sm_121"), 99 * 1024),
        **dict.fromkeys(("sm_90", "sm_90a", "sm_100", "sm_103"), 227 * 1024),
    }


@pytest.mark.parametrize("arch", NVIDIA)
def test_instructions_come_with_the_capabilities_that_ptx_names(arch):
    lds, capability = lds_of(arch), int(arch.removeprefix("sm_").removesuffix("a"))
    features = features_of(arch)
    assert features.compute_capability == capability
    assert lds.has("ldmatrix") == (capability >= 75)
    assert features.mma_sync == (capability >= 70)
    assert lds.has("cp.async.ca.4") == (capability >= 80)
    assert features.async_copies == features.bf16_rounding == (capability >= 80)
    assert features.tensor_copies == features.packed_minima == (capability >= 90)
    assert features.descriptor_tiles == lds.has("wgmma") == (arch == "sm_90a")
    assert features.native_exp2 and not features.byte_permutes
    assert lds.transaction_bytes == 32


@pytest.mark.parametrize(("arch", "generation"), [("gfx90a", 2), ("gfx942", 3), ("gfx950", 4)])
def test_instructions_come_with_the_generations_of_cdna(arch, generation):
    features = features_of(arch)
    assert features.matrix_generation == generation
    assert features.adds_pairs == (generation >= 3)
    assert features.rounds_pairs == features.multiplies_eight == (generation >= 4)
    assert features.direct_loads == lds_of(arch).has("ds_read_b64_tr_b16") == (generation >= 4)
    assert features.byte_permutes and features.unaligned_loads and not features.mma_sync


def test_every_chip_has_features_and_another_one_has_none():
    assert [features_of(arch).arch for arch in known_targets()] == [*known_targets()]
    assert all(any(features_of(arch)[1:]) for arch in known_targets())
    assert features_of("gfx1") == Features("gfx1")


def test_only_what_an_h200_has_run_is_measured():
    measured = {
        arch
        for arch in NVIDIA
        for each in (*lds_of(arch).instructions, *lds_of(arch).special_instructions)
        if each.status is Status.MEASURED
    }
    assert measured == {"sm_80", "sm_90", "sm_90a"}


def test_all_of_data_center_blackwell_is_assumed():
    rows = [each for arch in ("sm_100", "sm_103") for each in lds_of(arch).rows]
    assert {each.status for each in rows} == {Status.ASSUMED}
    assert all("as sm_90" in each.source for each in rows)


@pytest.mark.parametrize(
    ("arch", "width", "alignment", "pieces"),
    [
        ("gfx942", 16, 16, [(16, 0)]),
        ("gfx942", 16, 8, [(8, 0), (8, 8)]),
        ("gfx942", 16, 4, [(4, 0), (4, 4), (4, 8), (4, 12)]),
        ("gfx942", 12, 16, [(12, 0)]),
        ("gfx942", 12, 8, [(8, 0), (4, 8)]),
        ("gfx942", 12, 4, [(4, 0), (4, 4), (4, 8)]),
        ("gfx942", 8, 8, [(8, 0)]),
        ("gfx942", 8, 4, [(4, 0), (4, 4)]),
        ("gfx942", 4, 2, [(4, 0)]),
        ("gfx942", 4, 1, [(4, 0)]),
        ("gfx942", 2, 1, [(2, 0)]),
        ("gfx942", 6, 2, [(4, 0), (2, 4)]),
        ("gfx950", 12, 2, [(12, 0)]),
        ("gfx90a", 16, 1, [(16, 0)]),
        ("sm_80", 4, 2, [(2, 0), (2, 2)]),
        ("sm_80", 4, 1, [(1, 0), (1, 1), (1, 2), (1, 3)]),
        ("gfx942", 6, 8, [(4, 0), (2, 4)]),
        ("gfx942", 32, 16, [(16, 0), (16, 16)]),
        ("gfx942", 24, 32, [(16, 0), (8, 16)]),
        ("sm_80", 16, 8, [(8, 0), (8, 8)]),
        ("sm_80", 12, 16, [(8, 0), (4, 8)]),
        ("sm_80", 3, 4, [(2, 0), (1, 2)]),
    ],
)
def test_legalize(arch, width, alignment, pieces):
    got = lds_of(arch).legalize(READ, width, alignment)
    assert [(i.width_bytes, offset) for i, offset in got] == pieces
    assert all(i.kind is READ for i, _ in got)


@pytest.mark.parametrize("arch", known_targets())
@pytest.mark.parametrize("kind", AccessKind)
def test_legalize_covers_once_and_respects_alignment(arch, kind):
    for width in range(1, 50):
        for alignment in (1, 2, 4, 8, 16, 64):
            end = 0
            whole = lds_of(arch).unaligned and alignment < 4
            for instruction, offset in lds_of(arch).legalize(kind, width, alignment):
                assert offset == end
                need = 16 if instruction.width_bytes == 12 else instruction.width_bytes
                assert whole or (offset % need == 0 and alignment % need == 0)
                end += instruction.width_bytes
            assert end == width


def test_bad_input_names_the_parameter_and_the_allowed_values():
    with pytest.raises(UnknownTargetError, match=r"arch is 'gfx1'.*gfx942"):
        lds_of("gfx1")
    with pytest.raises(UnknownInstructionError, match=r"width_bytes is 12.*1, 2, 4, 8, 16 .*sm_80"):
        lds_of("sm_80").instruction(READ, 12)
    with pytest.raises(ValueError, match=r"alignment_bytes is 3; allowed: powers of two"):
        lds_of("gfx942").legalize(READ, 4, 3)
    with pytest.raises(ValueError, match="width_bytes is 0"):
        lds_of("gfx942").legalize(READ, 0, 4)
    with pytest.raises(ValueError, match="basis"):
        coset_phases(64, (1, 2, 3))


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        *((known, known) for known in known_targets()),
        # What IREE 3.13 makes of these flags.
        *((name, "gfx950") for name in ("mi355x", "mi350x")),
        *((name, "gfx942") for name in ("mi325x", "mi308x", "mi300x", "mi300a", "MI300X")),
        *((name, "gfx90a") for name in ("mi250x", "mi250", "mi210", "cdna2")),
        *((name, "gfx1100") for name in ("rx7900xtx", "RX7900XT", "w7900")),
        *((name, "gfx1151") for name in ("strix-halo", "8060s")),
        *((name, "gfx1201") for name in ("rx9070xt", "r9700")),
        *((name, "gfx1250") for name in ("mi450", "mi455x")),
        *((name, "sm_80") for name in ("a100", "A100", "ampere")),
        *((name, "sm_86") for name in ("rtx3090", "rtx3090ti", "rtx3070")),
        *((name, "sm_89") for name in ("rtx4090", "rtx4080", "ada")),
        # What the targets of LLVM and CUDA are called besides.
        ("gfx942:xnack-", "gfx942"),
        ("gfx90a:sramecc+:xnack-", "gfx90a"),
        ("sm_90", "sm_90"),
        ("sm_90a", "sm_90a"),
        ("SM_90A", "sm_90a"),
        ("sm_120a", "sm_120"),
        ("h100", "sm_90a"),
        ("H200", "sm_90a"),
        ("l40s", "sm_89"),
        ("v100", "sm_70"),
        ("T4", "sm_75"),
        *((name, "sm_100") for name in ("b200", "gb200", "sm_100a", "sm_100f")),
        *((name, "sm_103") for name in ("b300", "gb300")),
        ("gb10", "sm_121"),
    ],
)
def test_a_gpu_has_many_names(name: str, arch: str) -> None:
    assert arch_named(name) == arch


@pytest.mark.parametrize(
    "name",
    ["", "gfx94", "gfx942:", "gfx942:xnack", "gfx942a", "sm_90ab", "sm_", "rtx9990", "h", 942],
)
def test_other_names_are_refused(name) -> None:
    with pytest.raises(
        UnknownTargetError,
        match=r"GPU is .*; allowed: gfx90a, gfx942, .* and products such as mi300x",
    ):
        arch_named(name)
