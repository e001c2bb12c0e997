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

    Bits 3:0 are rounding modes, 5:4 the f32 denormals, 7:6 those of f64 and f16, 8 is DX10_CLAMP
    and 9 is IEEE (CDNA3 ISA, table 4). Denormals are kept (3) or flushed (0).
    """

    flush_f32: bool
    flush_f64_f16: bool
    ieee: bool
    dx10_clamp: bool

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
        )

    @property
    def bits(self) -> int:
        """Returns the bits of the MODE register."""
        f32, others = (
            _FLUSHED if flush else _KEPT for flush in (self.flush_f32, self.flush_f64_f16)
        )
        return f32 << 4 | others << 6 | int(self.dx10_clamp) << 8 | int(self.ieee) << 9

    @classmethod
    def of_bits(cls, bits: int) -> FloatMode | None:
        """Returns the mode of a MODE register; None if there is no model of it."""
        f32, others = bits >> 4 & 3, bits >> 6 & 3
        if bits & 0xF or bits >> 10 or not {f32, others} <= {_FLUSHED, _KEPT}:
            return None
        return cls(f32 == _FLUSHED, others == _FLUSHED, bool(bits >> 9 & 1), bool(bits >> 8 & 1))
