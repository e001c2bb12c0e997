# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Putting a function back, taking back what was said of it, and dropping its hints."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.diagnostics import Diagnostic, DiagnosticSink, PassFailure
from bankwise.dialect_utils.swizzle_hint import HINT_NAME, STOWED_SWIZZLE
from bankwise.dialect_utils.tuned_operation import TunedOperation
from bankwise.iree_plugin.function_copy import FunctionCopy
from bankwise.iree_plugin.replay import RecoverableFailure
from bankwise.iree_plugin.second_attempt import (
    UnresolvedHints,
    check_resolved,
    drop_hints,
    go_without,
    taken_back_on_failure,
)
from bankwise.passes.base import DroppedHints, PassContext, UnresolvedHint
from bankwise.passes.decisions import Action, Decision
from bankwise.report.observed_compile import ObserveLds

from ..functions import Parsed, parse

pytestmark = pytest.mark.usefixtures("context")

_HINTED = """
!t = memref<1024xf16, #gpu.address_space<workgroup>>
func.func @f(%i: index, %g: memref<1024xf16>) -> f16 attributes {first = 1} {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : !t
  %h0 = iree_codegen.swizzle_hint %a[#iree_codegen.rotate_rows<64, 4>] : !t
  %h1 = iree_codegen.swizzle_hint %h0[#iree_codegen.xor_shuffle<64, 4>] : !t
  BESIDE
  %v = memref.load %h1[%i] : !t
  return %v : f16
}
"""
_GATHER = "amdgpu.gather_to_lds %g[%i], %a[%c0] : vector<2xf16>, memref<1024xf16>, !t"


def _hinted(beside: str = "") -> Parsed:
    return parse(_HINTED.replace("BESIDE", beside))


def test_a_restored_function_is_what_it_was():
    parsed = _hinted()
    before = str(parsed)
    copy = FunctionCopy.of(parsed.function)
    drop_hints(parsed.function)
    parsed.function.attributes["second"] = ir.UnitAttr.get(parsed.module.context)
    del parsed.function.attributes["first"]
    assert str(parsed) != before
    given_up = copy.restore(parsed.function)
    assert str(parsed) == before
    assert parsed.module.operation.verify()
    assert "swizzle_hint" not in str(given_up.copy)
    # The copy is as it was, for another attempt.
    drop_hints(parsed.function)
    copy.restore(parsed.function)
    assert str(parsed) == before


def test_all_hints_are_dropped():
    parsed = _hinted()
    assert drop_hints(parsed.function)
    assert "iree_codegen" not in str(parsed)
    assert parsed.module.operation.verify()


def test_no_hint_is_dropped_where_data_may_be_permuted():
    parsed = _hinted(_GATHER)
    before = str(parsed)
    assert not drop_hints(parsed.function)
    assert str(parsed) == before


@pytest.mark.parametrize("recoverable", [True, False])
def test_only_a_recoverable_failure_takes_back_what_was_said(recoverable: bool):
    parsed = _hinted()
    heard: list[Diagnostic] = []
    context = PassContext(sink=DiagnosticSink(heard.append))
    decision = Decision("p", "f", "a", "", Action.KEEP, "")
    context.log.add(decision)
    tuned = TunedOperation("", "", "", ())
    context.tuned.append(tuned)
    context.assumptions.append((ObserveLds(), lambda function: None))
    failure = PassFailure(parsed.function.location, "why")
    error = RecoverableFailure(ObserveLds(), failure) if recoverable else failure
    with pytest.raises(type(error)), taken_back_on_failure(context):
        context.sink.warning(parsed.function.location, "said")
        context.log.add(decision)
        context.tuned.append(tuned)
        raise error
    assert [diagnostic.message for diagnostic in heard] == ([] if recoverable else ["said"])
    assert len(context.log.decisions) == (1 if recoverable else 2)
    assert len(context.tuned) == (1 if recoverable else 2)
    # What the first attempt took for granted need not hold of the second one.
    assert len(context.assumptions) == (0 if recoverable else 1)
    context.sink.warning(parsed.function.location, "afterwards")
    assert heard[-1].message == "afterwards"


def test_an_observer_forgets_a_function_that_starts_again():
    parsed = _hinted()
    observer = ObserveLds()
    observer.run(parsed.function, PassContext())
    observer.forget(parsed.function)
    assert not observer.seen


def _dropped(hints: str, allocations: str) -> DroppedHints:
    location = ir.Location.unknown()
    return DroppedHints(
        location, "memref<4xf16>", "why", frozenset({hints}), frozenset({allocations})
    )


def test_a_second_attempt_goes_without_the_hints_that_a_function_came_with():
    parsed = _hinted()
    first, second = parsed.operations(HINT_NAME)
    heard: list[Diagnostic] = []
    context = PassContext(sink=DiagnosticSink(heard.append))
    context.dropped.append(_dropped(str(second.location), "elsewhere"))
    with pytest.raises(UnresolvedHints):
        check_resolved(context, FunctionCopy.of(parsed.function))
    go_without(context.dropped[0], parsed.function, context)
    assert parsed.operations(HINT_NAME) == [first]
    assert [each.message for each in heard] == ["swizzle hints of memref<4xf16> dropped: why"]
    assert context.unresolved == {"elsewhere": UnresolvedHint("why", is_ours=False)}


def test_a_second_attempt_goes_without_a_stowed_swizzle_that_a_function_came_with():
    parsed = _hinted()
    (allocation,) = parsed.operations("memref.alloc")
    place, context = str(allocation.location), PassContext()
    assert STOWED_SWIZZLE in allocation.attributes
    go_without(_dropped("nowhere", place), parsed.function, context)
    assert STOWED_SWIZZLE not in allocation.attributes
    assert len(parsed.operations(HINT_NAME)) == 2
    assert context.unresolved == {place: UnresolvedHint("why", is_ours=False)}


def test_hints_of_ours_are_given_up_once():
    parsed = _hinted()
    context = PassContext()
    context.dropped.append(_dropped("nowhere", "here"))
    with pytest.raises(UnresolvedHints):
        check_resolved(context, FunctionCopy.of(parsed.function))
    go_without(context.dropped[0], parsed.function, context)
    assert context.unresolved == {"here": UnresolvedHint("why", is_ours=True)}
    check_resolved(context, FunctionCopy.of(parsed.function))
