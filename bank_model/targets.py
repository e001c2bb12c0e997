# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of GPUs: of products and generations, with features and with variants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from .lds_tables import UnknownTargetError, known_targets
from .shown_text import did_you_mean

_PRODUCTS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("mi355x", "mi350x", "mi350", "cdna4"), "gfx950"),
        **dict.fromkeys(("mi325x", "mi308x", "mi300x", "mi300a", "mi300", "cdna3"), "gfx942"),
        **dict.fromkeys(("mi250x", "mi250", "mi210", "mi200", "cdna2"), "gfx90a"),
        **dict.fromkeys(("mi455x", "mi450x", "mi450", "mi430x", "cdna5"), "gfx1250"),
        **dict.fromkeys(("rx7900xtx", "rx7900xt", "rx7900gre", "w7900", "w7800"), "gfx1100"),
        **dict.fromkeys(("rdna3",), "gfx1100"),
        **dict.fromkeys(("rx7800xt", "rx7700xt", "w7700", "v710"), "gfx1101"),
        **dict.fromkeys(("rx7600xt", "rx7600", "w7600", "w7500"), "gfx1102"),
        **dict.fromkeys(("phoenix", "hawk-point", "780m", "760m"), "gfx1103"),
        **dict.fromkeys(("strix-point", "890m", "880m"), "gfx1150"),
        **dict.fromkeys(("strix-halo", "8060s", "8050s", "rdna3.5"), "gfx1151"),
        **dict.fromkeys(("rx9060xt", "rx9060"), "gfx1200"),
        **dict.fromkeys(("rx9070xt", "rx9070", "r9700", "r9600d", "rdna4"), "gfx1201"),
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


def arch_named(name: str) -> str:
    """Returns the architecture of a GPU by any name that compiles take, and some more.

    It may be an architecture, with features (`gfx942:sramecc+:xnack-`) or a variant (`sm_90a`), or
    a product (`mi300x`, `h100`, `rtx4090`), in letters of any size. Features and variants do not
    change the LDS; a variant that has instructions of its own has a row of its own.

    Raises:
        UnknownTargetError: there is no such GPU, or its LDS is not known.
    """
    plain = name.strip().lower() if isinstance(name, str) else ""
    if model := _MODEL.fullmatch(plain):
        found = _SERIES.get(model[1], name)
    elif plain not in known_targets() and (arch := _ARCH.fullmatch(plain)):
        found = arch[1] or arch[2]
    else:
        found = _PRODUCTS.get(plain, plain)
    if found not in known_targets():
        named = ", ".join(known_targets())
        hint = did_you_mean(str(name), [*known_targets(), *_PRODUCTS])
        allowed = f"{named}, and products such as mi300x and h100{hint}"
        raise UnknownTargetError("GPU", repr(name), allowed)
    return found


def products_of(arch: str) -> tuple[str, ...]:
    """Returns the names of products and generations with an architecture; GeForce cards have none
    of their own."""
    return tuple(name for name, found in _PRODUCTS.items() if found == arch)
