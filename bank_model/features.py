# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What GPUs have beside their LDS: the instructions that passes may use.

A GPU that has some is a row of `_all_features`; without one it has none that a pass uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from .families import AMD, NVIDIA
from .quick_tuple import NamedTuple


class Features(NamedTuple):
    """What the chips of one architecture have beside their LDS."""

    arch: str
    compute_capability: int | None = None
    """NVIDIA's, such as 80 for 8.0; None for other chips."""
    matrix_generation: int | None = None
    """That of AMD's matrix instructions, such as 3 for CDNA3; None for other chips."""
    mma_sync: bool = False
    """Whether there is `mma.sync`."""
    async_copies: bool = False
    """Whether there is `cp.async`."""
    tensor_copies: bool = False
    """Whether there is TMA."""
    descriptor_tiles: bool = False
    """Whether there is `wgmma`, to which a descriptor names a tile of LDS and its swizzle."""
    bf16_rounding: bool = False
    """Whether there is `cvt.rn.bf16x2.f32`."""
    packed_minima: bool = False
    """Whether there is `min.s16x2`."""
    native_exp2: bool = False
    """Whether there is `ex2.approx.f32`."""
    prefetches: bool = False
    """Whether IREE can load into registers what the next step copies (`prefetch_num_stages`)."""
    byte_permutes: bool = False
    """Whether there is `v_perm_b32`."""
    adds_pairs: bool = False
    """Whether `v_dot2_f32_f16` adds two products of f16 to f32."""
    rounds_pairs: bool = False
    """Whether `v_cvt_pk_f16_f32` rounds two f32 to the nearest f16."""
    multiplies_eight: bool = False
    """Whether matrix instructions multiply eight 2-byte floats of a lane."""
    direct_loads: bool = False
    """Whether 16 bytes of a lane go straight from global memory to the LDS."""
    unaligned_loads: bool = False
    """Whether a lane loads 16 bytes of global memory from any address."""
    register_exchanges: frozenset[int] = frozenset()
    """The numbers that `gpu.shuffle xor` combines with those of lanes and for which LLVM makes no
    LDS instruction, as IREE 3.13's assembly has it."""
    conflicts_of_time: bool = False
    """Whether AMD's profilers relate `LDSBankConflict` to a kernel's time, and not to the cycles of
    the LDS (`counter_defs.yaml` of rocprofiler-sdk 1.0)."""
    blind_counters: tuple[str, ...] = ()
    """The counters of conflicts that a profiler reads as 0, whatever the LDS does."""
    blind_counters_source: str = ""
    """Who says so, and of which profiler."""


def _cdna() -> Iterator[Features]:
    """Yields the features of AMD's CDNA, a generation behind the other.

    Loads from any address are LLVM's feature `unaligned-access-mode`, which its amdhsa targets
    have.
    """
    cdna2 = Features(
        "gfx90a",
        matrix_generation=2,
        prefetches=True,
        byte_permutes=True,
        unaligned_loads=True,
        conflicts_of_time=True,
    )
    cdna3 = cdna2._replace(arch="gfx942", matrix_generation=3, adds_pairs=True)
    cdna4 = cdna3._replace(arch="gfx950", matrix_generation=4, rounds_pairs=True)
    # `v_permlane16_swap_b32` and `v_permlane32_swap_b32`.
    exchanges = frozenset({16, 32})
    yield from (
        cdna2,
        cdna3,
        cdna4._replace(multiplies_eight=True, direct_loads=True, register_exchanges=exchanges),
    )


def _rdna() -> Iterator[Features]:
    """Yields the features of AMD's chips with waves of 32 lanes, whose products are WMMA.

    What else CDNA has, and why a pass does without it here:

    * `matrix_generation`, `multiplies_eight`: their products are WMMA, whose instructions have one
      number of elements a lane, in other places than those of MFMA.
    * `adds_pairs`, `rounds_pairs`: they have `v_dot2_f32_f16`, and gfx1250 `v_cvt_pk_f16_f32`, but
      `v_dual_add_f32` of RDNA adds two sums at once, too. Which takes less time nobody has
      measured.
    * `direct_loads`: RDNA has none. gfx1250 has `global_load_async_to_lds_b128`, for which IREE
      3.13 makes no op: its `amdgpu.gather_to_lds` of 16 bytes is for gfx950 alone.
    * Loads that transpose (`global_load_tr_b128` since gfx12, `ds_load_tr16_b128` of gfx1250): IREE
      3.13 makes none. The pass that makes `ds_read_b64_tr_b16` on gfx950 does so for what came to
      the LDS without registers; columns of other tiles are read wide once they are renamed.
    """
    since_11 = Features(
        "",
        prefetches=True,
        byte_permutes=True,
        unaligned_loads=True,
        # DPP within 16 lanes, and `v_permlanex16_b32` to the other 16.
        register_exchanges=frozenset(range(1, 32)),
    )
    for arch in ("1100", "1101", "1102", "1103", "1150", "1151", "1200", "1250"):
        yield since_11._replace(arch=f"{AMD.prefix}{arch}")
    yield since_11._replace(
        arch=f"{AMD.prefix}1201",
        blind_counters=("SQC_LDS_BANK_CONFLICT", "LDSBankConflict", "LdsBankConflict"),
        blind_counters_source="rocprofv3, ROCm/rocm-systems issue 5953",
    )


def _nvidia() -> Iterator[Features]:
    """Yields the features of NVIDIA's chips, by compute capability.

    PTX ISA, target notes: `mma.sync` needs 7.0; `cp.async` and the conversion of two numbers to
    bf16 need 8.0, tensor copies and minima of two integers at once 9.0; `wgmma` needs `sm_90a`.
    """
    since_60 = Features("", native_exp2=True)
    since_70 = since_60._replace(mma_sync=True)
    since_80 = since_70._replace(async_copies=True, bf16_rounding=True)
    since_90 = since_80._replace(tensor_copies=True, packed_minima=True)
    for features, capabilities in (
        (since_60, (60, 61, 62)),
        (since_70, (70, 72, 75)),
        (since_80, (80, 86, 87, 89)),
        (since_90, (90, 100, 103, 120, 121)),
    ):
        for number in capabilities:
            yield features._replace(arch=f"{NVIDIA.prefix}{number}", compute_capability=number)
    yield since_90._replace(arch="sm_90a", compute_capability=90, descriptor_tiles=True)


def _all_features() -> Mapping[str, Features]:
    return MappingProxyType({each.arch: each for each in (*_cdna(), *_rdna(), *_nvidia())})


_FEATURES = _all_features()


def features_of(arch: str) -> Features:
    """Returns what an architecture, such as "gfx942", has; nothing where that is not known."""
    return _FEATURES.get(arch) or Features(arch)
