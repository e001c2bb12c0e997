# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code of matrix products of floats: of all waves of a group, one after the other.

It forms the sums that NumPy forms: of products in f64, one after the other by k. The products of
f32, f16 and bf16 are exact there, so that it does not matter whether they are rounded before they
are added. A sum that is no number is left to NumPy, which knows what NaN it is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...bank_model.matrix_instructions import WAVE as LANES
from .code import CHUNK
from .machine_code import CompiledFunction

Table = npt.NDArray[np.int64]


class Product(NamedTuple):
    """A matrix product of a wave.

    Elements are told apart by their places: element number `part` of the word of a lane in register
    `r` has the place `(r * parts + part) * 64 + lane`, where a word has so many parts.

    Attributes:
        source: the type of the factors' elements.
        registers_a: the registers of A.
        registers_b: those of B.
        steps_a: how far the place of A's element k of a row lies behind that of element 0.
        steps_b: the same of B's columns.
        rows: [elements of a lane, 4], the place of element 0 of the row of A that each 16 results
            of a lane's neighbours belong to.
        columns: likewise, the place of element 0 of the first of their columns of B.
    """

    source: str
    registers_a: int
    registers_b: int
    steps_a: Sequence[int]
    steps_b: Sequence[int]
    rows: Table
    columns: Table


PARTS: Mapping[str, int] = {"f32": 1, "f16": 2, "bf16": 2}
"""How many elements of a type a word has, for the types whose products there is code for."""


class _Field:
    """The places of the arguments."""

    NAMES = ("a", "b", "c", "out", "waves", "rows", "columns", "numbers")


class MatrixCode:
    """The code of one kind of product.

    Raises:
        RuntimeError: LLVM cannot compile it for this processor.
    """

    def __init__(self, product: Product) -> None:
        self._places = [np.ascontiguousarray(t) for t in (product.rows, product.columns)]
        words = product.registers_a + product.registers_b
        self._numbers = np.zeros(words * LANES * PARTS[product.source])
        self._function = CompiledFunction(_text(product))
        self._context = (ctypes.c_int64 * len(_Field.NAMES))()
        for index, array in enumerate((*self._places, self._numbers), 5):
            self._context[index] = array.ctypes.data

    def sums(
        self, a: npt.NDArray[np.uint32], b: npt.NDArray[np.uint32], c: npt.NDArray[np.uint32]
    ) -> npt.NDArray[np.uint32] | None:
        """Returns A B + C as words [elements of a lane, n, 64]; None where a sum is no number.

        Args:
            a: the registers of A, [registers, n, 64].
            b: those of B.
            c: those of C, like the result.
        """
        arrays = [np.ascontiguousarray(each) for each in (a, b, c)]
        out = np.empty(arrays[2].shape, np.uint32)
        for index, array in enumerate((*arrays, out)):
            self._context[index] = array.__array_interface__["data"][0]
        self._context[4] = a.shape[1]
        return None if self._function.call(ctypes.addressof(self._context), 0) else out


def _text(product: Product) -> str:
    """Returns the module."""
    lines = ["define i64 @region(ptr %context, i64 %unused) {", "begin:"]
    for index, name in enumerate(_Field.NAMES):
        kind = "i64" if name == "waves" else "ptr"
        lines += [
            f"%at_{name} = getelementptr i64, ptr %context, i64 {index}",
            f"%{name} = load {kind}, ptr %at_{name}, align 8",
        ]
    size = product.registers_a * LANES * PARTS[product.source]
    lines += [
        f"%numbers_b = getelementptr double, ptr %numbers, i64 {size}",
        "%stride = mul i64 %waves, 256",
        *("br label %wave", "wave:", "%w = phi i64 [0, %begin], [%w_next, %wave_end]"),
        "%bad = phi i1 [false, %begin], [%worse, %wave_end]",
        "%start = mul i64 %w, 256",
        *_conversion("a", "%numbers", product.registers_a, product.source),
        *_conversion("b", "%numbers_b", product.registers_b, product.source),
        *_sums(product),
        "wave_end:",
        "%w_next = add i64 %w, 1",
        "%more = icmp ult i64 %w_next, %waves",
        *("br i1 %more, label %wave, label %end", "end:"),
        *("%result = zext i1 %worse to i64", "ret i64 %result", "}"),
        f"declare <{CHUNK} x double> @llvm.fma.v{CHUNK}f64(<{CHUNK} x double>, "
        f"<{CHUNK} x double>, <{CHUNK} x double>)",
        f"declare i1 @llvm.vector.reduce.or.v{CHUNK}i1(<{CHUNK} x i1>)",
    ]
    return "\n".join(lines)


def _conversion(name: str, target: str, registers: int, source: str) -> list[str]:
    """Returns code that turns a factor's elements into f64, 16 lanes at a time."""
    words, lines = f"<{CHUNK} x i32>", list[str]()
    for register in range(registers):
        for first in range(0, LANES, CHUNK):
            own = f"{name}{register}_{first}"
            lines += [
                f"%row_{own} = mul i64 %stride, {register}",
                f"%sum_{own} = add i64 %row_{own}, %start",
                f"%off_{own} = add i64 %sum_{own}, {4 * first}",
                f"%from_{own} = getelementptr i8, ptr %{name}, i64 %off_{own}",
                f"%words_{own} = load {words}, ptr %from_{own}, align 4",
            ]
            for part in range(PARTS[source]):
                place = (register * PARTS[source] + part) * LANES + first
                lines += [
                    *_as_f64(f"{own}_{part}", f"%words_{own}", part, source),
                    f"%to_{own}_{part} = getelementptr double, ptr {target}, i64 {place}",
                    f"store <{CHUNK} x double> %f64_{own}_{part}, ptr %to_{own}_{part}, align 8",
                ]
    return lines


def _as_f64(own: str, name: str, part: int, source: str) -> list[str]:
    """Returns code that makes `%f64_*` of one part of words."""
    words, floats = f"<{CHUNK} x i32>", f"<{CHUNK} x float>"
    wide = f"%f64_{own} = fpext {floats} %f32_{own} to <{CHUNK} x double>"
    if source == "f32":
        return [f"%f32_{own} = bitcast {words} {name} to {floats}", wide]
    amounts = f"<{', '.join(['i32 16'] * CHUNK)}>"
    if source == "bf16":
        masks = f"<{', '.join([f'i32 {-1 << 16}'] * CHUNK)}>"
        text = f"and {words} {name}, {masks}" if part else f"shl {words} {name}, {amounts}"
        return [
            f"%bits_{own} = {text}",
            f"%f32_{own} = bitcast {words} %bits_{own} to {floats}",
            wide,
        ]
    shifted = f"lshr {words} {name}, {amounts}" if part else f"or {words} {name}, zeroinitializer"
    return [
        f"%bits_{own} = {shifted}",
        f"%half_{own} = trunc {words} %bits_{own} to <{CHUNK} x i16>",
        f"%f16_{own} = bitcast <{CHUNK} x i16> %half_{own} to <{CHUNK} x half>",
        f"%f32_{own} = fpext <{CHUNK} x half> %f16_{own} to {floats}",
        wide,
    ]


def _sums(product: Product) -> list[str]:
    """Returns a loop over the results of a wave, 16 at a time."""
    elements, parts = product.rows.shape
    vector = f"<{CHUNK} x double>"
    lines = [
        *("br label %sum", "sum:"),
        "%r = phi i64 [0, %wave], [%r_next, %sum]",
        "%worst = phi i1 [%bad, %wave], [%worse, %sum]",
        "%at_row = getelementptr i64, ptr %rows, i64 %r",
        "%row = load i64, ptr %at_row, align 8",
        "%factors = getelementptr double, ptr %numbers, i64 %row",
        "%at_column = getelementptr i64, ptr %columns, i64 %r",
        "%column = load i64, ptr %at_column, align 8",
        "%others = getelementptr double, ptr %numbers_b, i64 %column",
    ]
    total = f"<{', '.join(['double 0.0'] * CHUNK)}>"
    for k, (step_a, step_b) in enumerate(zip(product.steps_a, product.steps_b, strict=True)):
        lines += [
            f"%at_x{k} = getelementptr double, ptr %factors, i64 {step_a}",
            f"%x{k} = load double, ptr %at_x{k}, align 8",
            f"%one{k} = insertelement {vector} poison, double %x{k}, i32 0",
            f"%all{k} = shufflevector {vector} %one{k}, {vector} poison, "
            f"<{CHUNK} x i32> zeroinitializer",
            f"%at_y{k} = getelementptr double, ptr %others, i64 {step_b}",
            f"%y{k} = load {vector}, ptr %at_y{k}, align 8",
            f"%sum{k} = call {vector} @llvm.fma.v{CHUNK}f64({vector} %all{k}, {vector} %y{k}, "
            f"{vector} {total})",
        ]
        total = f"%sum{k}"
    return [*lines, *_results(total, parts, elements * parts)]


def _results(total: str, parts: int, count: int) -> list[str]:
    """Returns code that adds C to 16 sums, and rounds and stores them."""
    vector = f"<{CHUNK} x double>"
    return [
        f"%element = udiv i64 %r, {parts}",
        f"%part = urem i64 %r, {parts}",
        "%line = mul i64 %element, %stride",
        f"%inside = mul i64 %part, {4 * CHUNK}",
        "%both = add i64 %line, %inside",
        "%place = add i64 %both, %start",
        "%at_addend = getelementptr i8, ptr %c, i64 %place",
        f"%addend = load <{CHUNK} x float>, ptr %at_addend, align 4",
        f"%wide_addend = fpext <{CHUNK} x float> %addend to {vector}",
        f"%total = fadd {vector} {total}, %wide_addend",
        f"%nan = fcmp uno {vector} %total, %total",
        f"%some = call i1 @llvm.vector.reduce.or.v{CHUNK}i1(<{CHUNK} x i1> %nan)",
        "%worse = or i1 %worst, %some",
        f"%rounded = fptrunc {vector} %total to <{CHUNK} x float>",
        "%target = getelementptr i8, ptr %out, i64 %place",
        f"store <{CHUNK} x float> %rounded, ptr %target, align 4",
        "%r_next = add i64 %r, 1",
        f"%r_more = icmp ult i64 %r_next, {count}",
        "br i1 %r_more, label %sum, label %wave_end",
    ]
