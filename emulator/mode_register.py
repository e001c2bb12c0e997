# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of a wave's MODE register that the emulator models.

MODE belongs to the wave. Every wave has its own number of a mode in `Machine.mode_of`, and the
executor only lets waves of one mode run together as a group. A step therefore finds one mode in
`group.mode`, and pays nothing for the waves of another mode. Where waves write different modes
(`s_setreg_b32` of a scalar register), their group parts as it does at a branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .chips import Chip, Isa

_FLUSHED, _KEPT = 0, 3


@dataclass(frozen=True)
class FloatMode:
    """What the MODE register says of floats; every mode here rounds to nearest even.

    Bits 3:0 are rounding modes, 5:4 the f32 denormals, 7:6 those of f64 and f16, 8 is DX10_CLAMP,
    9 is IEEE and 23 is FP16_OVFL (CDNA3 ISA, table 4). Denormals are kept (3) or flushed (0).

    Attributes:
        fp16_overflow: whether a result of f16 that is too large, of sources that are finite, is the
            largest number in place of an infinity; and whether a conversion to 8-bit floats makes
            the largest number of an infinity and of all that is too large.
        unused: bits that change no result, which are those of LOD_CLAMPED (10) and DISABLE_PERF
            (26), and on gfx1250 that of the mode in which XNACK replays loads (25), which LLVM sets
            where a kernel begins (its pull request 169016).
    """

    flush_f32: bool
    flush_f64_f16: bool
    ieee: bool
    dx10_clamp: bool
    fp16_overflow: bool = False
    unused: int = 0

    @classmethod
    def of_directives(cls, directives: Mapping[str, int], chip: Chip) -> FloatMode:
        """Returns the mode in which a kernel's waves start, by its `.amdhsa_*` directives.

        Since RDNA4 there is no bit of IEEE and of DX10_CLAMP: clamping lets NaN become 0, and
        minimum and maximum are told what to do with NaNs by their names.
        """
        has_bits = not chip.isa >= Isa.RDNA4
        return cls(
            flush_f32=directives.get("float_denorm_mode_32", _FLUSHED) == _FLUSHED,
            flush_f64_f16=directives.get("float_denorm_mode_16_64", _KEPT) == _FLUSHED,
            ieee=has_bits and bool(directives.get("ieee_mode", 1)),
            dx10_clamp=bool(directives.get("dx10_clamp", 1)),
            fp16_overflow=bool(directives.get("fp16_overflow", 0)),
        )

    @property
    def bits(self) -> int:
        """Returns the bits of the MODE register."""
        f32, others = (
            _FLUSHED if flush else _KEPT for flush in (self.flush_f32, self.flush_f64_f16)
        )
        flags = int(self.dx10_clamp) << 8 | int(self.ieee) << 9 | int(self.fp16_overflow) << 23
        return f32 << 4 | others << 6 | flags | self.unused

    @classmethod
    def of_bits(cls, bits: int, chip: Chip) -> FloatMode | str:
        """Returns the mode of a MODE register; the field of which there is no model, as a text."""
        unused = _UNUSED | (_REPLAY if chip.isa is Isa.GFX1250 else 0)
        modelled = bits & ~unused
        fields = {name: modelled >> first & (1 << size) - 1 for name, first, size in _FIELDS}
        f32, others = fields["FP_DENORM of f32"], fields["FP_DENORM of f64 and f16"]
        for name, value in fields.items():
            known = _KNOWN.get(name, (0,))
            if known is not None and value not in known:
                return f"{name} = {value}"
        return cls(
            *(f32 == _FLUSHED, others == _FLUSHED, bool(fields["IEEE"])),
            *(bool(fields["DX10_CLAMP"]), bool(fields["FP16_OVFL"])),
            bits & unused,
        )


# Name, first bit and width of each field (CDNA3 ISA, table 4; bits 31:29 are CSP).
_FIELDS = (
    *(("FP_ROUND of f32", 0, 2), ("FP_ROUND of f64 and f16", 2, 2), ("FP_DENORM of f32", 4, 2)),
    *(("FP_DENORM of f64 and f16", 6, 2), ("DX10_CLAMP", 8, 1), ("IEEE", 9, 1)),
    *(("LOD_CLAMPED", 10, 1), ("DEBUG_EN", 11, 1), ("EXCP_EN", 12, 9), ("bits 22:21", 21, 2)),
    *(("FP16_OVFL", 23, 1), ("POPS", 24, 2), ("DISABLE_PERF", 26, 1), ("GPR_IDX_EN", 27, 1)),
    *(("VSKIP", 28, 1), ("CSP", 29, 3)),
)
_KNOWN: Mapping[str, tuple[int, ...] | None] = {
    **dict.fromkeys(("FP_DENORM of f32", "FP_DENORM of f64 and f16"), (_FLUSHED, _KEPT)),
    **dict.fromkeys(("DX10_CLAMP", "IEEE", "FP16_OVFL")),
}
"""The values of each field of which there is a model, other than 0 alone; None for any."""
_UNUSED = 1 << 10 | 1 << 26
_REPLAY = 1 << 25
