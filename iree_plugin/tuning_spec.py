# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chosen tiles as a tuning spec, with which `iree-compile` chooses the same without us.

A tuning spec is a module of the transform dialect for `--iree-codegen-tuning-spec-path`. IREE
runs its `@__kernel_config` on every dispatch: each `@match_...` recognizes an operation that is
equal to the one in it, and what it yields becomes the operation's configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from ..dialect_utils.tuned_operation import TunedOperation

_OP, _PARAM, _VALUE = "!transform.any_op", "!transform.any_param", "!transform.any_value"
_INFO = "compilation_info"

_MODULE = """\
module attributes {{{default}transform.with_named_sequence}} {{
{sequences}
}}
"""
_MATCH = f"""\
transform.named_sequence @match_{{index}}(%op: {_OP} {{{{transform.readonly}}}}) -> ({{types}}) {{{{
  transform.iree.match.has_no_lowering_config %op : {_OP}
  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{{{
  ^bb0({{operands}}):
{{operation}}
  }}}} : ({_OP}) -> ({_VALUE}, {_VALUE})
{{constants}}
  transform.yield %op, {{values}} : {{types}}
}}}}"""
_APPLY = f"""\
transform.named_sequence @apply_{{others}}(%op: {_OP} {{{{transform.readonly}}}}, {{values}}) {{{{
{{annotations}}
  transform.yield
}}}}"""
_CONFIGURE = f"""\
transform.named_sequence @__kernel_config(%module: {_OP} {{{{transform.consumed}}}}) -> {_OP}
    attributes {{{{iree_codegen.tuning_spec_entrypoint}}}} {{{{
  %result = transform.foreach_match in %module
{{pairs}}
    : ({_OP}) -> {_OP}
  transform.yield %result : {_OP}
}}}}"""
_LEAVE = f"""\
transform.named_sequence @__kernel_config(%module: {_OP} {{transform.readonly}}) -> {_OP}
    attributes {{iree_codegen.tuning_spec_entrypoint}} {{
  transform.yield %module : {_OP}
}}"""


def tuning_spec(tuned: Sequence[TunedOperation]) -> str:
    """Returns the text of a tuning spec that configures each of the operations as it is.

    Of entries for equal operations the first is taken.
    """
    each = {(one.operands, one.operation): one for one in reversed(tuned)}
    operations = list(reversed(each.values()))
    if not operations:
        return _MODULE.format(default="", sequences=indent(_LEAVE, "  "))
    names = dict.fromkeys(_names(operation) for operation in operations)
    pairs = [
        f"    @match_{index} -> @apply_{len(operation.others)}"
        for index, operation in enumerate(operations)
    ]
    sequences = [
        *map(_apply, names),
        *(_match(index, operation) for index, operation in enumerate(operations)),
        _CONFIGURE.format(pairs=",\n".join(pairs)),
    ]
    return _MODULE.format(
        default="iree_codegen.tuning_spec_with_default_entrypoint, ",
        sequences="\n".join(indent(sequence, "  ") for sequence in sequences),
    )


def _names(operation: TunedOperation) -> tuple[str, ...]:
    return (_INFO, *(name for name, _ in operation.others))


def _match(index: int, operation: TunedOperation) -> str:
    names = _names(operation)
    attributes = [operation.compilation_info, *(text for _, text in operation.others)]
    constants = [
        f"  %{name} = transform.param.constant {attribute} -> {_PARAM}"
        for name, attribute in zip(names, attributes, strict=True)
    ]
    return _MATCH.format(
        index=index,
        types=", ".join([_OP, *[_PARAM] * len(names)]),
        operands=operation.operands,
        operation=indent(operation.operation, "    "),
        constants="\n".join(constants),
        values=", ".join(f"%{name}" for name in names),
    )


def _apply(names: tuple[str, ...]) -> str:
    annotations = [f'  transform.annotate %op "{n}" = %{n} : {_OP}, {_PARAM}' for n in names]
    return _APPLY.format(
        others=len(names) - 1,
        values=", ".join(f"%{name}: {_PARAM} {{transform.readonly}}" for name in names),
        annotations="\n".join(annotations),
    )
