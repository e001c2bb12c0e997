# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-native-exp2` keeps the error that it promises, and all special values.

The operations that the pass emits are computed in NumPy, with an `ex2.approx` that errs as far as
the PTX ISA lets it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from iree.compiler import ir

from bankwise.tuning.arithmetic.native_exp2 import NativeExp2
from bankwise.tuning.arithmetic.native_f32 import flushes_subnormals

from ...functions import Parsed, gpu_target, launched, parse, run

Floats = npt.NDArray[np.floating[Any]]

EX2_ERROR = 2.0**-22
"""The relative error of `ex2.approx` that the PTX ISA allows."""
PROMISED = {"math.exp2": 2.0**-21.6, "math.exp": 2.0**-21}
"""The relative errors that the pass promises; f32 rounds the error of `ex2` up."""
LEAST_NORMAL = float(np.finfo(np.float32).tiny)
MODE = "iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<{}>"


def ex2(x: Floats, error: float) -> Floats:
    """Returns 2^x with a relative error."""
    return (np.exp2(x.astype(np.float64)) * (1 + error)).astype(np.float32)


def fma(a: Floats, b: Floats, c: Floats) -> Floats:
    """Returns a b + c, rounded once: f64 holds the product of two f32 exactly.

    The sum is rounded to f64 first, which moves it by far less than the errors that are tested.
    """
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float32)


def computed(parsed: Parsed, x: Floats, error: float) -> Floats:
    """Returns what a function of one scalar returns for every number in `x`."""
    meaning: dict[str, Callable[..., Floats]] = {
        "arith.mulf": lambda a, b: a * b,
        "arith.negf": lambda a: -a,
        "math.fma": fma,
        # NaN loses, as in C's fmin and fmax.
        "arith.minnumf": np.fmin,
        "arith.maxnumf": np.fmax,
        "llvm.call_intrinsic": lambda a: ex2(a, error),
        "arith.extf": lambda a: a.astype(np.float32),
        "arith.truncf": lambda a: a.astype(np.float16),
    }
    block = parsed.function.regions[0].blocks[0]
    values: dict[ir.Value, Floats] = {block.arguments[0]: x}
    for view in block.operations:
        operation = view.operation
        operands = [values[operand] for operand in operation.operands]
        if operation.name == "func.return":
            return operands[0]
        if operation.name == "arith.constant":
            constant = ir.FloatAttr(operation.attributes["value"]).value
            values[operation.results[0]] = np.full(x.shape, constant, np.float32)
        else:
            values[operation.results[0]] = meaning[operation.name](*operands)
    raise AssertionError("the function returns nothing")


def rewritten(name: str, kind: str = "f32") -> Parsed:
    """Returns a function that computes an exponential of a scalar, behind the pass."""
    text = f"func.func @f(%x: {kind}) -> {kind} {{ %0 = {name} %x : {kind}\n return %0 : {kind} }}"
    parsed = parse(text)
    run(parsed, NativeExp2(), target="sm_80")
    return parsed


@pytest.mark.parametrize("error", [EX2_ERROR, 0.0, -EX2_ERROR])
@pytest.mark.parametrize("name", ["math.exp2", "math.exp"])
def test_the_error_is_the_promised_one(name: str, error: float) -> None:
    natural = name == "math.exp"
    largest = 88.7 if natural else 127.99
    random = np.random.default_rng(3)
    x = np.concatenate(
        [
            random.uniform(-largest, largest, 200_000),
            random.uniform(-2, 2, 50_000),
            random.standard_normal(50_000) * 2.0 ** random.integers(-40, 0, 50_000),
        ]
    ).astype(np.float32)
    wide = x.astype(np.float64)
    exact = np.exp(wide) if natural else np.exp2(wide)
    found = computed(rewritten(name), x, error).astype(np.float64)
    normal = exact >= 2 * LEAST_NORMAL
    assert np.abs(found / exact - 1)[normal].max() < PROMISED[name]
    assert np.abs(found - exact)[~normal].max() <= LEAST_NORMAL * 2.0**-20


@pytest.mark.parametrize("error", [EX2_ERROR, -EX2_ERROR])
@pytest.mark.parametrize("name", ["math.exp2", "math.exp"])
def test_exponentials_of_f16_are_rounded_once(name: str, error: float) -> None:
    """Of all numbers of f16 the result is what f32 would round to, or its neighbour where that is
    close; special values are the same."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exponential = np.exp if name == "math.exp" else np.exp2
    with np.errstate(over="ignore", invalid="ignore"):
        exact = exponential(x.astype(np.float64)).astype(np.float16)
        found = computed(rewritten(name, "f16"), x, error)
    steps = found.view(np.int16).astype(int) - exact.view(np.int16)
    assert np.abs(steps[~np.isnan(x)]).max() <= 1
    assert (steps != 0)[~np.isnan(x)].mean() < 2.0**-9
    assert np.isnan(found[np.isnan(x)]).all()


@pytest.mark.parametrize("name", ["math.exp2", "math.exp"])
def test_special_values_are_those_of_c(name: str) -> None:
    huge = float(np.finfo(np.float32).max)
    x = np.array(
        [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, -1e-45, 1e38, -1e38, huge, -huge, 130, -160],
        np.float32,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        found = computed(rewritten(name), x, 0.0)
        expected = np.exp(x) if name == "math.exp" else np.exp2(x)
    np.testing.assert_array_equal(found, expected)
    assert not np.signbit(found[found == 0]).any()


@pytest.mark.parametrize(
    ("arch", "kind", "works"),
    [
        ("sm_80", "f32", True),
        ("sm_90", "vector<4xf32>", True),
        ("sm_80", "f16", True),
        ("sm_80", "vector<2xbf16>", True),
        ("sm_80", "f64", False),
        ("gfx942", "f32", False),
    ],
)
def test_work_is_where_an_nvidia_gpu_has_exponentials(arch: str, kind: str, works: bool) -> None:
    parsed = parse(
        f"func.func @f(%x: {kind}) -> {kind} attributes {{{gpu_target(arch)}}} "
        f"{{ %0 = math.exp2 %x : {kind}\n return %0 : {kind} }}"
    )
    assert NativeExp2().has_work(parsed.function) == works
    found = run(parsed, NativeExp2())
    assert bool(parsed.operations("llvm.call_intrinsic")) == works
    assert bool(parsed.operations("math.exp2")) != works
    assert not NativeExp2().has_work(parsed.function)
    assert len(found.said) == works


def test_a_function_without_a_target_stays() -> None:
    parsed = parse("func.func @f(%x: f32) -> f32 { %0 = math.exp %x : f32\n return %0 : f32 }")
    assert not NativeExp2().has_work(parsed.function)
    run(parsed, NativeExp2())
    assert parsed.operations("math.exp")


@pytest.mark.parametrize(
    ("attributes", "flushes"),
    [
        ("", False),
        (MODE.format('"preserve-sign"'), True),
        (MODE.format('"positive-zero"'), True),
        (MODE.format("none"), False),
        (launched(options=MODE.format('"preserve-sign"')), True),
        (launched(options=MODE.format("none")), False),
        (launched(options="llvm_func_attrs = {}"), False),
        # Another attribute of the same kind says nothing about f32.
        (launched(options=MODE.replace("f32", "f64").format('"preserve-sign"')), False),
        # The attribute of the function is the later one.
        (MODE.format("none") + ", " + launched(options=MODE.format('"preserve-sign"')), False),
    ],
)
def test_the_attribute_decides_wherever_it_stands(attributes: str, flushes: bool) -> None:
    parsed = parse(f"func.func @f() attributes {{{attributes}}} {{ return }}")
    assert flushes_subnormals(parsed.function) == flushes
