# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is said of functions that another level would compute faster."""

from __future__ import annotations

from bankwise.tuning.advice import Advice, advice_text

FLAG = "--bankwise-level=fast"


def test_one_function_is_named_with_its_factor() -> None:
    assert advice_text([Advice("attention_0", "pass", (18930.0, 164.0))], FLAG) == (
        "1 attention keeps IREE's scalar instructions, and would run 115x faster (predicted) with "
        "--bankwise-level=fast (outputs right to rounding, not bitwise equal): attention_0"
    )


def test_times_of_several_functions_are_added_and_each_counts_once() -> None:
    given = [Advice("a", "pass", (30.0, 10.0)), Advice("b", "pass", (10.0, 10.0))]
    text = advice_text([*given, *given], FLAG)
    assert text.startswith("2 attentions keep")
    assert " 2.0x faster (predicted) " in text
    assert text.endswith(": a, b")


def test_no_factor_is_said_of_a_gpu_without_predictions() -> None:
    assert " would run faster with " in advice_text([Advice("a", "pass", None)], FLAG)


def test_of_many_functions_the_first_are_named() -> None:
    given = [Advice(f"f{number}", "pass", None) for number in range(20)]
    assert advice_text(given, FLAG).endswith(": f0, f1, f2, f3, f4, f5, f6, f7 and 12 others")
    assert advice_text([], FLAG) == ""


def test_matmuls_without_a_prediction_are_told_from_attentions() -> None:
    matmuls = [Advice(name, "pass", None, "matmul") for name in ("m0", "m1")]
    assert advice_text([Advice("a", "pass", (600.0, 20.0)), *matmuls], FLAG) == (
        "1 attention and 2 matmuls keep IREE's scalar instructions, and would run "
        f"faster (attentions 30x, predicted) with {FLAG} (outputs right to rounding, not bitwise "
        "equal): a, m0, m1"
    )
