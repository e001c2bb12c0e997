# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our arithmetic against AMD's own pseudocode, on edge cases and random words.

The text comes with the tinygrad wheel, which carries the pseudocode of the ISA documents as data.
Every row of our tables that a chip has is compared with the text of its document, unless `SKIPPED`
says why not. The chips of RDNA run waves of 64 lanes here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from tinygrad.runtime.autogen.amd.cdna.str_pcode import PCODE as CDNA_TEXTS
from tinygrad.runtime.autogen.amd.rdna3.str_pcode import PCODE as RDNA3_TEXTS
from tinygrad.runtime.autogen.amd.rdna4.str_pcode import PCODE as RDNA4_TEXTS

from bankwise.emulator import vector_alu
from bankwise.emulator.chips import CHIPS
from bankwise.emulator.instruction_text import EXEC, VCC
from bankwise.emulator.mnemonics import arithmetic_names, lacks
from bankwise.emulator.operands import bits_of
from bankwise.emulator.packed_math import DOT_PRODUCTS, PACKED_OPS
from bankwise.emulator.scalar_alu import CONDITIONAL_MOVES, EXEC_OPS, SCALAR_OPS, SIMM16, UIMM16
from bankwise.emulator.scalar_floats import SCALAR_ACCUMULATIONS, SCALAR_COMPARES, SCALAR_FLOATS
from bankwise.emulator.vector_alu import ALL_LANE_OPS, COMPARE_MNEMONICS
from bankwise.emulator.wave_state import SCC, WaveGroup

from .amd_pseudocode import BUILTINS, Pseudocode, Value, real
from .small_kernels import kernel, machine_of, program_of

VECTOR_SPECIAL = frozenset(vector_alu._SPECIAL)
"""Vector instructions with a step of their own."""

U64 = npt.NDArray[np.uint64]
LANES = 128
WAVES = LANES // 64
SCALAR_TRIALS = 200
RESULT = 20

# -- what is not compared, and why -----------------------------------------------------------------

_NO_TEXT = "the documents have no pseudocode of it"
_APPROXIMATE = "the hardware approximates; the text says nothing of the rounding"
_FREXP = "the text takes the exponent field, which says nothing about zeros and subnormal numbers"
_LDEXP = "the text multiplies by 2 ** n, which leaves the range before the product does"
_ROUND = "the text rounds x + 0.5 down, which is wrong next to 0.5 and loses the sign of zero"
_DIVIDE = "the text forgets f32's range or the direction; checked by whole divisions"
_OTHER = "the text has operands that are no registers; checked by a test of its own"

SKIPPED: Mapping[str, str] = {
    **dict.fromkeys(("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"), _NO_TEXT),
    **dict.fromkeys(("v_nop", "v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"), _NO_TEXT),
    **{
        f"v_{name}_{kind}": _APPROXIMATE
        for name in ("exp", "log", "rcp", "rsq", "sqrt", "sin", "cos")
        for kind in ("f16", "f32", "f64")
        if kind != "f64" or name in ("rcp", "rsq", "sqrt")
    },
    "v_rcp_iflag_f32": _APPROXIMATE,
    **{f"v_frexp_mant_{kind}": _FREXP for kind in ("f16", "f32", "f64")},
    **dict.fromkeys(("v_frexp_exp_i16_f16", "v_frexp_exp_i32_f32", "v_frexp_exp_i32_f64"), _FREXP),
    **{f"v_ldexp_{kind}": _LDEXP for kind in ("f16", "f32", "f64")},
    **{f"v_rndne_{kind}": _ROUND for kind in ("f16", "f32", "f64")},
    **{
        f"v_{name}_{kind}": _DIVIDE for name in ("div_scale", "div_fmas") for kind in ("f32", "f64")
    },
    "v_cvt_off_f32_i4": "the text names a table that the documents do not print",
    "v_maximum3_f32": "the text calls a function that the documents do not define",
    "v_minimum3_f32": "the text calls a function that the documents do not define",
    "v_pk_maximum3_f16": "the text calls a function that the documents do not define",
    "v_pk_minimum3_f16": "the text calls a function that the documents do not define",
    "v_trig_preop_f64": "the text names the digits of 2 / pi; checked by a test of its own",
    "v_fmamk_f32": _OTHER,
    "v_fmaak_f32": _OTHER,
    "v_pk_mov_b32": _OTHER,
    "v_bitop3_b32": _OTHER,
    "v_bitop3_b16": _OTHER,
    "s_getpc_b64": _OTHER,
    **dict.fromkeys(("v_fmamk_f16", "v_fmaak_f16", "s_fmamk_f32", "s_fmaak_f32"), _OTHER),
    **{
        f"v_s_{name}_{kind}": _APPROXIMATE
        for name in ("exp", "log", "rcp", "rsq", "sqrt")
        for kind in ("f16", "f32")
    },
    **{f"s_rndne_{kind}": _ROUND for kind in ("f16", "f32")},
    **dict.fromkeys(
        (
            *("v_cvt_norm_i16_f16", "v_cvt_norm_u16_f16", "v_cvt_pk_i16_f32", "v_cvt_pk_u16_f32"),
            *(f"v_cvt_pk_norm_{to}_{kind}" for to in ("i16", "u16") for kind in ("f16", "f32")),
        ),
        "the text calls a function that the documents do not define",
    ),
    **{
        f"v_dot4_f32_{a}_{b}": "the text names types that the translator does not know"
        for a in ("fp8", "bf8")
        for b in ("fp8", "bf8")
    },
    "v_dot2_bf16_bf16": "the translator has no sums of bf16",
    "v_fmac_dx9_zero_f32": "the text gives a third source, which the instruction does not have",
}
_ALIAS = "LLVM takes the name for that of another instruction, which is compared"
_RDNA: Mapping[str, str] = dict.fromkeys(("v_dot4_i32_i8", "v_dot8_i32_i4"), _ALIAS)
SKIPPED_OF: Mapping[str, Mapping[str, str]] = {
    "gfx950": {},
    "gfx1151": {**_RDNA, "v_sat_pk_u8_i16": "the text does not say that its numbers have signs"},
    "gfx1201": _RDNA,
}
"""What is not compared with one document."""

# -- running the text ------------------------------------------------------------------------------

_DOCUMENTS = {"gfx950": CDNA_TEXTS, "gfx1151": RDNA3_TEXTS, "gfx1201": RDNA4_TEXTS}
"""A chip of each document. That of RDNA3 has the scalar floats of RDNA3.5 too."""


@cache
def _texts(arch: str) -> Mapping[str, str]:
    return {
        key.name.removesuffix("_E32").removesuffix("_E64"): text
        for key, text in _DOCUMENTS[arch].items()
        if type(key).__name__.startswith(("VOP", "SOP"))
    }


@cache
def _own_names(arch: str) -> Mapping[str, str]:
    """Returns names by those that chips share, without second names that a document leaves out."""
    texts, names = _texts(arch), arithmetic_names(CHIPS[arch])
    return {
        shared: own
        for own, shared in names.items()
        if own.upper() in texts or shared.upper() not in texts
    }


def own_name(arch: str, name: str) -> str:
    """Returns the name that a chip has for an instruction."""
    return _own_names(arch).get(name, name)


def _text(arch: str, name: str) -> str | None:
    return _texts(arch).get(own_name(arch, name).upper())


def _by_text(arch: str, name: str) -> Callable[..., Value]:
    """Returns a function of the language that is another instruction, such as `v_min_f32(x, y)`."""

    def compute(*arguments: Value) -> Value:
        registers = {f"S{i}": Value(a.bits, 64) for i, a in enumerate(arguments)}
        kind = "u32" if name == "v_sad_u8" else name.rsplit("_", 1)[1]
        bits = _pseudocode(arch, name).run({**registers, **_SETTINGS})["D0"].bits
        return Value(bits & (1 << bits_of(kind)) - 1, bits_of(kind), kind[0])

    return compute


_CALLED = [
    *(f"v_{name}_{kind}" for name in ("min", "max", "min3", "max3")
      for kind in ("f16", "f32", "i16", "u16", "i32", "u32")),
    *(f"v_{name}_{kind}" for name in ("minimum", "maximum") for kind in ("f16", "f32")),
    "v_sad_u8",
]  # fmt: skip
_SETTINGS = {
    "WAVE_MODE": Value(0xFFFF, 64),
    **dict.fromkeys(("ROUND_MODE", "ROUND_NEAREST_EVEN", "ROUND_TOWARD_ZERO"), Value(0, 32)),
    **{f"UNDERFLOW_F{width}": real(0.0, width) for width in (32, 64)},
    **{f"OVERFLOW_F{width}": real(float("inf"), width) for width in (32, 64)},
    **{
        f"MAX_FLOAT_F{width}": real(float(np.finfo(kind).max), width)
        for width, kind in ((32, np.float32), (64, np.float64))
    },
    "TRAPSTS": Value(0, 32),
    "INF": real(float("inf"), 64),
    "OPSEL": Value(0, 32),
    "NEG": Value(0, 32),
    "D0": Value(0, 64),
}


@cache
def _pseudocode(arch: str, name: str) -> Pseudocode:
    called = {own_name(arch, each): _by_text(arch, each) for each in _CALLED}
    functions = {**BUILTINS, **called}
    if name in ("v_cvt_pkrtz_f16_f32", "s_cvt_pk_rtz_f16_f32"):
        functions["f32_to_f16"] = lambda x: (
            BUILTINS["f32_to_f16"](x) if x.is_nan else real(x.real, 16, toward_zero=True)
        )
    text = _text(arch, name)
    assert text is not None
    if name.startswith("s_bcnt"):
        # The text tests 64 bits of a result that has 32.
        text = text.replace("D0.u64", "D0.u32")
    # Attributes that are names of their own here.
    text = text.replace("WAVE_MODE.IEEE", "WAVE_MODE").replace("TRAPSTS.INVALID", "TRAPSTS")
    for width in (16, 32):
        text = text.replace(f"INF.f{width}", f"{width}'F(INF)")
    return Pseudocode(text, functions)


# -- operands --------------------------------------------------------------------------------------

_EDGES: Mapping[int, list[int]] = {
    16: [
        *(0, 1, 2, 15, 16, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x3C00, 0xBC00, 0x3800, 0x0400, 0x03FF),
        *(0x83FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7C01, 0xFD00, 0x7E00, 0xFE01, 0x3E00, 0xC100),
    ],
    32: [
        *(0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x800000, 0xFFFFFF),
        *(0x3F800000, 0xBF800000, 0x3F000000, 0x007FFFFF, 0x807FFFFF, 0x7F7FFFFF, 0xFF7FFFFF),
        *(0x7F800000, 0xFF800000, 0x7F800001, 0xFFA00000, 0x7FC00000, 0xFFC00001, 0x4F000000),
        *(0x4F800000, 0xCF000000, 0x477FE000, 0x477FF000, 0x33000000, 0x38800000, 0xBFC00000),
    ],
    64: [
        *(0, 1, 63, 64, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
        *(0x3FF0000000000000, 0xBFF0000000000000, 0x3FE0000000000000, 0x000FFFFFFFFFFFFF),
        *(0x7FEFFFFFFFFFFFFF, 0xFFF0000000000000, 0x7FF0000000000000, 0x7FF0000000000001),
        *(0x7FF8000000000000, 0xFFFC000000000000, 0x41DFFFFFFFC00000, 0x41F0000000000000),
        *(0x36A0000000000000, 0x380FFFFFE0000000, 0xC1E0000000200000, 0xBFF8000000000000),
    ],
}  # fmt: skip


def operands(name: str, widths: tuple[int, ...], count: int) -> list[U64]:
    """Returns words for each source: edge cases, random bits, and small numbers, mixed."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    sources: list[U64] = []
    for width in widths:
        edges = random.choice(np.array(_EDGES[width], np.uint64), count)
        noise = random.integers(0, 2**64, count, np.uint64, endpoint=False)
        container = {16: np.float16, 32: np.float32, 64: np.float64}[width]
        floats = (random.integers(-40, 40, count) / 8).astype(container)
        plain = floats.view(f"u{width // 8}").astype(np.uint64)
        small = random.integers(0, 70, count).astype(np.uint64)
        choice = random.choice(4, count, p=(0.45, 0.25, 0.2, 0.1))
        words = np.choose(choice, [edges, noise, plain, small])
        if width < 64:
            words &= np.uint64((1 << width) - 1)
        if sources:
            # Equal operands, or such that differ in the sign.
            sign = np.uint64(1 << width - 1)
            related = random.choice(3, count, p=(0.8, 0.1, 0.1))
            mask = np.uint64(2**width - 1)
            words = np.choose(related, [words, sources[0] & mask, sources[0] & mask ^ sign])
        # What lies above a 16-bit operand must not matter.
        sources.append(words | (noise & np.uint64(0xFFFF0000) if width == 16 else np.uint64(0)))
    return sources


# -- our side --------------------------------------------------------------------------------------


class Registers:
    """A machine on which one instruction runs, on all lanes or all waves at once."""

    def __init__(self, arch: str, code: str, waves: int) -> None:
        wide = "\t\t.amdhsa_wavefront_size32 0" if CHIPS[arch].is_rdna else ""
        parsed = kernel(f"\t{code}", arch=arch, directives=wide)
        self.machine = machine_of(parsed, waves, started=False)
        for half in (0, 1):
            self.machine.define_scalar(EXEC.index + half, np.full(waves, 0xFFFFFFFF, np.uint32))
        self.program = program_of(parsed)

    def set_vector(self, index: int, words: U64) -> None:
        """Writes a pair of registers in every lane."""
        for half in (0, 1):
            part = (words >> np.uint64(32 * half)).astype(np.uint32)
            self.machine.define_vector(index + half, part.reshape(-1, 64))

    def set_scalar(self, index: int, words: U64) -> None:
        """Writes a pair of scalar registers of every wave."""
        for half in (0, 1):
            part = (words >> np.uint64(32 * half)).astype(np.uint32)
            self.machine.define_scalar(index + half, part)

    def run(self) -> None:
        """Executes the instruction."""
        step = self.program.steps[0]
        assert step is not None
        with np.errstate(all="ignore"):  # As the executor runs them.
            step(WaveGroup(self.machine, np.arange(self.machine.waves)))

    def vector(self, index: int) -> U64:
        """Returns a pair of registers of every lane."""
        low, high = (self.machine.vgpr[index + i].reshape(-1).astype(np.uint64) for i in (0, 1))
        return low | high << np.uint64(32)

    def scalar(self, index: int) -> U64:
        """Returns a pair of scalar registers of every wave."""
        low, high = (self.machine.sgpr[index + i].astype(np.uint64) for i in (0, 1))
        return low | high << np.uint64(32)


def _register(register: str, index: int, width: int) -> str:
    return f"{register}[{index}:{index + 1}]" if width == 64 else f"{register}{index}"


def _alike(ours: int, theirs: Value | int, kind: str) -> bool:
    """Returns whether bits are equal, or both are NaNs of a float type."""
    width = bits_of(kind)
    mask = (1 << width) - 1
    bits = theirs if isinstance(theirs, int) else theirs.bits
    if ours & mask == bits & mask:
        return True
    both = Value(ours & mask, width, kind[0]), Value(bits & mask, width, kind[0])
    return kind[0] == "f" and all(value.is_nan for value in both)


def _all_alike(ours: int, theirs: int, kinds: list[str]) -> bool:
    """Returns whether numbers are alike that are made of parts of some types, the low one first."""
    shift = 0
    for kind in kinds:
        if not _alike(ours >> shift, theirs >> shift, kind):
            return False
        shift += bits_of(kind)
    return True


class LaneComparison:
    """Runs a vector instruction both ways and compares registers and masks."""

    def __init__(self, arch: str, name: str, code: str, widths: tuple[int, ...]) -> None:
        self.arch, self.name = arch, name
        self.sources = operands(name, widths, LANES)
        self.ours = Registers(arch, f"{own_name(arch, name)} {code}", WAVES)
        random = np.random.default_rng(zlib.crc32(name.encode()) + 1)
        for number, words in enumerate(self.sources):
            self.ours.set_vector(2 * number, words)
        self.old = random.choice(self.sources[0], LANES)
        self.ours.set_vector(RESULT, self.old)
        self.vcc = random.integers(0, 2**64, WAVES, np.uint64, endpoint=False)
        self.ours.set_scalar(VCC.index, self.vcc)
        self.ours.run()

    def expected(self) -> list[dict[str, Value]]:
        """Returns the text's registers after each lane."""
        results: list[dict[str, Value]] = []
        for lane in range(LANES):
            registers = {f"S{i}": Value(int(w[lane]), 64) for i, w in enumerate(self.sources)}
            registers |= {
                **_SETTINGS,
                "D0": Value(int(self.old[lane]), 64),
                "laneId": Value(lane % 64, 32),
                "VCC": Value(int(self.vcc[lane // 64]), 64),
                "EXEC": Value(2**64 - 1, 64),
            }
            results.append(_pseudocode(self.arch, self.name).run(registers))
        return results

    def fail(self, lane: int, ours: int, theirs: int) -> None:
        """Reports a lane."""
        words = [hex(int(source[lane])) for source in self.sources]
        pytest.fail(f"{self.name} of {words}: {ours:#x}, the text gives {theirs:#x}")

    def check_result(self, kinds: list[str]) -> None:
        """Compares the destination, made of parts of types `kinds` from the low one on."""
        ours = self.ours.vector(RESULT).tolist()
        for lane, registers in enumerate(self.expected()):
            if self.ignores(lane):
                continue
            theirs = registers["D0"].bits
            if not _all_alike(ours[lane], theirs, kinds):
                self.fail(lane, ours[lane], theirs)

    def ignores(self, lane: int) -> bool:
        """Returns whether the text is known to be wrong or open on a lane's operands."""
        words = [int(source[lane]) for source in self.sources]
        if self.name.startswith("v_fract_"):
            # The text's difference rounds up to 1; the hardware's result is always below.
            value = _as_float(words[0], self.name[-3:])
            return -(2.0**-11) < value < 0
        if self.name.startswith("v_div_fixup_"):
            # A quotient is NaN only if it overflowed on the way: see lane_ops._div_fixup.
            return _as_float(words[0], self.name[-3:]) != _as_float(words[0], self.name[-3:])
        return False

    def check_mask(self, register: str, index: int) -> None:
        """Compares a lane mask."""
        ours = self.ours.scalar(index).tolist()
        for lane, registers in enumerate(self.expected()):
            bit = registers[register].bits >> (0 if register == "D1" else lane % 64) & 1
            if ours[lane // 64] >> lane % 64 & 1 != bit:
                self.fail(lane, ours[lane // 64] >> lane % 64 & 1, bit)


def _as_float(word: int, kind: str) -> float:
    width = bits_of(kind)
    return Value(word & (1 << width) - 1, width, "f").real


# -- the tests -------------------------------------------------------------------------------------


def _checked(names: object) -> list[tuple[str, str]]:
    """Returns the names of a table that are compared, for each chip that has the instruction."""
    return [
        (arch, name)
        for arch in _DOCUMENTS
        for name in sorted(names)  # type: ignore[call-overload]
        if not lacks(CHIPS[arch], own_name(arch, name)) and not skipped(arch, name)
    ]


def skipped(arch: str, name: str) -> str:
    """Returns why an instruction is not compared with a chip's document; empty if it is."""
    return SKIPPED.get(name, "") or SKIPPED_OF[arch].get(name, "")


@pytest.mark.sampled
@pytest.mark.parametrize(("arch", "name"), _checked(ALL_LANE_OPS))
def test_lane_operation(arch: str, name: str) -> None:
    op = ALL_LANE_OPS[name]
    widths = tuple(bits_of(kind) for kind in op.sources)
    sources = ", ".join(_register("v", 2 * i, width) for i, width in enumerate(widths))
    code = f"{_register('v', RESULT, bits_of(op.result))}, {sources}"
    LaneComparison(arch, name, code, widths).check_result(_parts(name) or [op.result])


def _parts(name: str) -> list[str]:
    pairs = ("v_cvt_pkrtz_f16_f32", "v_cvt_pk_f16_f32", "s_cvt_pk_rtz_f16_f32")
    return ["f16", "f16"] if name in pairs else []


@pytest.mark.sampled
@pytest.mark.parametrize(("arch", "name"), _checked(COMPARE_MNEMONICS))
def test_compare(arch: str, name: str) -> None:
    kind = name.rsplit("_", 1)[1]
    width = bits_of(kind)
    second = 32 if "_class_" in name else width
    only_exec = name.startswith("v_cmpx") and CHIPS[arch].is_rdna
    target = "" if only_exec else "vcc, "
    code = f"{target}{_register('v', 0, width)}, {_register('v', 2, second)}"
    comparison = LaneComparison(arch, name, code, (width, second))
    if only_exec:
        comparison.check_mask("EXEC", EXEC.index)
        return
    comparison.check_mask("D0", VCC.index)
    if name.startswith("v_cmpx"):
        assert (comparison.ours.scalar(EXEC.index) == comparison.ours.scalar(VCC.index)).all()


@pytest.mark.parametrize(("arch", "name"), _checked(PACKED_OPS))
def test_packed_operation(arch: str, name: str) -> None:
    op = PACKED_OPS[name]
    width = 64 if op.result == "f32" else 32
    sources = ", ".join(_register("v", 2 * i, width) for i in range(len(op.sources)))
    code = f"{_register('v', RESULT, width)}, {sources}"
    comparison = LaneComparison(arch, name, code, (width,) * len(op.sources))
    comparison.check_result([op.result, op.result])


@pytest.mark.parametrize(("arch", "name"), _checked(DOT_PRODUCTS))
def test_dot_product(arch: str, name: str) -> None:
    accumulates = name[6] == "c"
    sources = "v0, v2" if accumulates else "v0, v2, v4"
    comparison = LaneComparison(arch, name, f"v{RESULT}, {sources}", (32, 32, 32))
    comparison.check_result([DOT_PRODUCTS[name].result])


_CARRIES = [name for name in VECTOR_SPECIAL if "_co_" in name]


@pytest.mark.parametrize(("arch", "name"), _checked(VECTOR_SPECIAL))
def test_special_vector_instruction(arch: str, name: str) -> None:
    if name.startswith("v_fmac"):
        width, kind = bits_of(name[-3:]), name[-3:]
        sources = f"{_register('v', 0, width)}, {_register('v', 2, width)}"
        code = f"{_register('v', RESULT, width)}, {sources}"
        LaneComparison(arch, name, code, (width, width)).check_result([kind])
    elif name in ("v_cndmask_b32", "v_cndmask_b16"):
        width = bits_of(name[-3:])
        comparison = LaneComparison(arch, name, f"v{RESULT}, v0, v2, vcc", (width, width))
        comparison.check_result([f"u{width}"])
    elif name in _CARRIES:
        carry = ", vcc" if name.endswith(("addc_co_u32", "subb_co_u32", "subbrev_co_u32")) else ""
        code = f"v{RESULT}, vcc, v0, v2{carry}"
        comparison = LaneComparison(arch, name, code, (32, 32))
        comparison.check_result(["u32"])
        comparison.check_mask("VCC", VCC.index)
    elif name in ("v_mad_u64_u32", "v_mad_i64_i32"):
        code = f"v[{RESULT}:{RESULT + 1}], vcc, v0, v2, v[4:5]"
        comparison = LaneComparison(arch, name, code, (32, 32, 64))
        comparison.check_result(["u64"])
        comparison.check_mask("D1", VCC.index)
    else:
        pytest.fail(f"'{name}' has neither a comparison here nor a reason in SKIPPED")


class ScalarComparison:
    """Runs a scalar instruction both ways, a wave per set of operands."""

    def __init__(
        self, arch: str, name: str, code: str, widths: tuple[int, ...], literal: int | None
    ) -> None:
        self.arch, self.name = arch, name
        self.sources = operands(name, widths, SCALAR_TRIALS)
        self.ours = Registers(arch, f"{own_name(arch, name)} {code}", SCALAR_TRIALS)
        random = np.random.default_rng(zlib.crc32(name.encode()) + 1)
        for number, words in enumerate(self.sources):
            self.ours.set_scalar(2 * number, words)
        self.old = random.choice(
            self.sources[0] if self.sources else self.wide(random), SCALAR_TRIALS
        )
        self.ours.set_scalar(RESULT, self.old)
        self.scc = random.integers(0, 2, SCALAR_TRIALS).astype(bool)
        self.ours.machine.scc[:] = self.scc
        self.ours.machine.s_defined.complete[SCC] = True
        self.exec = self.wide(random)
        self.ours.set_scalar(EXEC.index, self.exec)
        self.literal = literal
        self.ours.run()

    @staticmethod
    def wide(random: np.random.Generator) -> U64:
        """Returns random 64-bit words, some of them 0."""
        words = random.integers(0, 2**64, SCALAR_TRIALS, np.uint64, endpoint=False)
        return words * random.integers(0, 2, SCALAR_TRIALS, np.uint64)

    def check(self, width: int, kinds: list[str] | None = None) -> None:
        """Compares a result of `width` bits (0: none), SCC and EXEC.

        It is made of parts of types `kinds` from the low one on, in which NaNs are alike.
        """
        result, scc = self.ours.scalar(RESULT).tolist(), self.ours.machine.scc.tolist()
        exec_after = self.ours.scalar(EXEC.index).tolist()
        mask = (1 << width) - 1
        for trial in range(SCALAR_TRIALS):
            registers = {f"S{i}": Value(int(w[trial]), 64) for i, w in enumerate(self.sources)}
            if self.literal is not None:
                registers[f"S{len(self.sources)}"] = Value(self.literal & 0xFFFF, 64)
                registers["SIMM16"] = Value(self.literal & 0xFFFF, 16)
            registers |= {
                **_SETTINGS,
                "D0": Value(int(self.old[trial]), 64),
                "SCC": Value(int(self.scc[trial]), 1),
                "EXEC": Value(int(self.exec[trial]), 64),
            }
            if self.ignores(trial):
                continue
            after = _pseudocode(self.arch, self.name).run(registers)
            if kinds and _all_alike(result[trial], after["D0"].bits, kinds):
                result[trial] = after["D0"].bits
            ours = (result[trial] & mask, int(scc[trial]), exec_after[trial])
            theirs = (after["D0"].bits & mask, after["SCC"].bits & 1, after["EXEC"].bits)
            if ours != theirs:
                words = [hex(int(source[trial])) for source in self.sources]
                pytest.fail(f"{self.name} of {words}: {ours}, the text gives {theirs}")

    def ignores(self, trial: int) -> bool:
        """Returns whether the text is known to be wrong or open on these operands."""
        if self.name.startswith("s_bfe_"):
            # Fields that are wider than the register.
            return int(self.sources[1][trial]) >> 16 & 127 > int(self.name[-2:])
        return False


def _check_scalar(
    arch: str, name: str, result: int, widths: tuple[int, ...], constant: bool
) -> None:
    """Compares an instruction with a result of `result` bits (0: none), whose sources are
    registers and perhaps a constant of 16 bits."""
    registers = [_register("s", 2 * i, width) for i, width in enumerate(widths)]
    destination = [_register("s", RESULT, result)] if result else []
    for literal in (0, 5, 0x7FFF, 0x8000, 0xFFFF) if constant else (None,):
        last = [] if literal is None else [f"{literal:#x}"]
        code = ", ".join([*destination, *registers, *last])
        ScalarComparison(arch, name, code, widths, literal).check(result)


@pytest.mark.sampled
@pytest.mark.parametrize(("arch", "name"), _checked(SCALAR_OPS))
def test_scalar_operation(arch: str, name: str) -> None:
    op = SCALAR_OPS[name]
    widths = tuple(bits_of(kind) for kind in op.sources if kind[1:].isdigit())
    constant = SIMM16 in op.sources or UIMM16 in op.sources
    _check_scalar(arch, name, bits_of(op.result) if op.result else 0, widths, constant)


@pytest.mark.sampled
@pytest.mark.parametrize(("arch", "name"), _checked({**SCALAR_FLOATS, **SCALAR_ACCUMULATIONS}))
def test_scalar_float(arch: str, name: str) -> None:
    op = {**SCALAR_FLOATS, **SCALAR_ACCUMULATIONS}[name]
    own = op.sources[:-1] if name in SCALAR_ACCUMULATIONS else op.sources
    widths = tuple(bits_of(kind) for kind in own)
    registers = ", ".join(f"s{2 * i}" for i in range(len(widths)))
    comparison = ScalarComparison(arch, name, f"s{RESULT}, {registers}", widths, None)
    comparison.check(bits_of(op.result), _parts(name) or [op.result])


@pytest.mark.sampled
@pytest.mark.parametrize(("arch", "name"), _checked(SCALAR_COMPARES))
def test_scalar_compare_of_floats(arch: str, name: str) -> None:
    _check_scalar(arch, name, 0, (bits_of(name[-3:]),) * 2, constant=False)


@pytest.mark.parametrize(("arch", "name"), _checked(EXEC_OPS))
def test_change_of_exec(arch: str, name: str) -> None:
    width = bits_of(name[-3:])
    _check_scalar(arch, name, width, (width,), constant=False)


@pytest.mark.parametrize(("arch", "name"), _checked(CONDITIONAL_MOVES))
def test_conditional_move(arch: str, name: str) -> None:
    width, constant = bits_of(name[-3:]), name == "s_cmovk_i32"
    _check_scalar(arch, name, width, () if constant else (width,), constant)


ROWS = {
    *ALL_LANE_OPS, *COMPARE_MNEMONICS, *PACKED_OPS, *DOT_PRODUCTS, *VECTOR_SPECIAL, *SCALAR_OPS,
    *SCALAR_FLOATS, *SCALAR_ACCUMULATIONS, *SCALAR_COMPARES, *EXEC_OPS, *CONDITIONAL_MOVES,
    "v_pk_mov_b32", "v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16",
}  # fmt: skip


@pytest.mark.parametrize(("arch", "least"), [("gfx950", 400), ("gfx1151", 450), ("gfx1201", 450)])
def test_what_is_skipped(arch: str, least: int) -> None:
    here = {name for name in ROWS if not lacks(CHIPS[arch], own_name(arch, name))}
    assert SKIPPED.keys() <= ROWS and SKIPPED_OF[arch].keys() <= here - SKIPPED.keys()
    without_text = {name for name in here if _text(arch, name) is None}
    assert without_text <= {name for name in here if skipped(arch, name)}
    assert len([name for name in here if not skipped(arch, name)]) > least
