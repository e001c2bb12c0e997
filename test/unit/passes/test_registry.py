# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The registry of passes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bankwise.iree_plugin.rooms import rooms_of
from bankwise.passes.base import FunctionPass, PassOptionError
from bankwise.passes.registry import UnknownPassError, make_pass, registered_passes

from ..room_passes import our_passes

TESTS = Path(__file__).parents[2]
_RUN, _NAME = re.compile(r"^// RUN: (.*)", re.MULTILINE), re.compile(r"bankwise-[\w-]+")


def test_every_pass_is_registered_under_its_name() -> None:
    assert {
        "bankwise-hint-vector-allocs",
        "bankwise-flatten-swizzle-hints",
        "bankwise-pad-unhinted-allocs",
        "bankwise-absorb-swizzle-hints",
        "bankwise-reinsert-swizzle-hints",
        "bankwise-resolve-swizzle-hints",
    } <= registered_passes().keys()
    assert registered_passes().keys() == {each.name for each in our_passes()}


@pytest.mark.parametrize("kind", our_passes())
def test_pass_has_defaults_a_summary_and_round_trips(kind: type[FunctionPass]) -> None:
    default = make_pass(kind.name, "")
    assert kind.name.startswith("bankwise-")
    assert kind.summary
    assert "\n" not in kind.summary
    annotated = {name for name, type_ in kind.__annotations__.items() if "ClassVar" not in type_}
    assert annotated <= {each.name for each in kind.option_fields()}, "an option without @dataclass"
    text = str(default)
    name, _, options = text.removesuffix("}").partition("{")
    assert make_pass(name, options) == default


def test_every_pass_is_run_by_a_lit_test() -> None:
    texts = [
        path.read_text() for room in rooms_of() for path in (TESTS / room.name).rglob("*.mlir")
    ]
    run = {name for text in texts for line in _RUN.findall(text) for name in _NAME.findall(line)}
    assert not sorted(registered_passes().keys() - run)


def test_unknown_name_suggests_the_closest() -> None:
    with pytest.raises(UnknownPassError, match="did you mean 'bankwise-pad-unhinted-allocs'"):
        make_pass("bankwise-pad-unhinted-alloc", "")
    with pytest.raises(UnknownPassError, match="-tiles' or 'bankwise-transpose-bytes'"):
        make_pass("bankwise-transpose-products", "")
    with pytest.raises(UnknownPassError) as caught:
        make_pass("zzz", "")
    assert str(caught.value) == "'zzz' does not refer to a registered pass"


def test_unknown_option() -> None:
    with pytest.raises(PassOptionError, match="has no option 'x'"):
        make_pass("bankwise-pad-unhinted-allocs", "x=1")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bankwise-overlap-copies", "slots=1"),
        ("bankwise-overlap-copies", "slots=-2"),
        ("bankwise-reload-operands", "most-registers=0"),
        ("bankwise-reload-operands", "most-registers=256"),
        ("bankwise-hint-vector-allocs", "max-chain=0"),
        ("bankwise-hint-vector-allocs", "max-chain=-1"),
        ("bankwise-swizzle-lds-allocs", "max-chain=-1"),
        ("bankwise-verify-lds-conflicts", "max-cycles=-1"),
    ],
)
def test_a_number_that_means_nothing_is_refused(name: str, options: str) -> None:
    option, _, value = options.partition("=")
    with pytest.raises(PassOptionError, match=f"option '{option}' expects .*, got '{value}'"):
        make_pass(name, options)
