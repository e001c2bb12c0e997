# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values of float formats of 8, 6 and 4 bits, and of scales.

`fp8` and `bf8` are OCP's E4M3 and E5M2 on gfx950, and the FNUZ variants on gfx942: exponent bias
one higher, no infinities, no negative zero, and 0x80 the only NaN. `fp6`, `bf6` and `fp4` are OCP's
E2M3, E3M2 and E2M1, and scales its E8M0 ("OCP Microscaling Formats (MX) Specification", 1.0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .chips import CDNA3


@dataclass(frozen=True)
class SmallFloat:
    """A float format of at most 8 bits.

    `specials` says which codes are no numbers. In `ieee` formats the largest exponent holds
    infinities and NaNs. In `nan` formats a code is a NaN if all its bits but the sign are set. In
    `fnuz` formats minus zero is the only NaN. In `none` formats all codes are numbers.
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: str

    @property
    def bits(self) -> int:
        """Returns the width in bits."""
        return 1 + self.exponent_bits + self.mantissa_bits

    def values(self) -> npt.NDArray[np.float64]:
        """Returns the value of every bit pattern, [2 ** bits].

        Worked example, E2M1: 0b0101 has exponent 2 and mantissa 1: (1 + 1/2) * 2^(2 - 1) = 3.
        """
        code = np.arange(1 << self.bits)
        mantissa = code & (1 << self.mantissa_bits) - 1
        exponent = code >> self.mantissa_bits & (1 << self.exponent_bits) - 1
        negative = code >> self.bits - 1 == 1
        fraction = mantissa / (1 << self.mantissa_bits)
        size = np.where(
            exponent == 0,
            fraction * 2.0 ** (1 - self.bias),
            (1 + fraction) * 2.0 ** (exponent - self.bias),
        )
        largest = exponent == (1 << self.exponent_bits) - 1
        if self.specials == "ieee":
            size = np.where(largest, np.where(mantissa == 0, np.inf, np.nan), size)
        elif self.specials == "nan":
            all_set = largest & (mantissa == (1 << self.mantissa_bits) - 1)
            size = np.where(all_set, np.nan, size)
        elif self.specials == "fnuz":
            size = np.where(negative & (exponent == 0) & (mantissa == 0), np.nan, size)
        return np.where(negative, -size, size)


FP6 = SmallFloat(2, 3, 1, "none")
BF6 = SmallFloat(3, 2, 3, "none")
FP4 = SmallFloat(2, 1, 1, "none")
E8M0_VALUES = np.append(np.ldexp(1.0, np.arange(255) - 127), np.nan)
"""The values of the exponents that scale blocks: 127 is 1, and 255 is no number."""


def fp8_formats(arch: str) -> dict[str, SmallFloat]:
    """Returns what `fp8` and `bf8` mean on a chip."""
    if arch == CDNA3:
        return {"fp8": SmallFloat(4, 3, 8, "fnuz"), "bf8": SmallFloat(5, 2, 16, "fnuz")}
    return {"fp8": SmallFloat(4, 3, 7, "nan"), "bf8": SmallFloat(5, 2, 15, "ieee")}
