# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An operation and the configuration chosen for it, as text that outlives its compile.

IREE's tuning specs say the same: an operation that is equal, its operands' types included, gets the
configuration (`iree_plugin/tuning_spec.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_codegen

from ..bank_model.quick_tuple import NamedTuple
from .diagnostics import Refusal
from .lowering_config import CONFIG, TRANSLATION_INFO
from .operations import children

_FUNCTION = "func.func @f({arguments}) {{\n  return\n}}"
_UNKNOWN = "<<UNKNOWN SSA VALUE>>"
"""What MLIR prints for a value that is defined outside of what it prints."""


class TunedOperation(NamedTuple):
    """An operation and its configuration, all of it MLIR's text.

    Attributes:
        operands: the block arguments that `operation` uses, as `%arg0: tensor<4xf16>`.
        operation: the operation as it is without a configuration.
        compilation_info: the tiles and the launch.
        others: the names and the other attributes of its configuration.
    """

    operands: str
    operation: str
    compilation_info: str
    others: tuple[tuple[str, str], ...]

    @staticmethod
    def of(operation: ir.Operation, configuration: Mapping[str, ir.Attribute]) -> TunedOperation:
        """Describes an operation, and the attributes chosen for it and its function.

        Raises:
            Refusal: its body uses values from outside, which are no part of its text.
        """
        operands, text = _alone(operation, configuration)
        info = iree_codegen.CompilationInfoAttr.get(
            configuration[CONFIG], configuration[TRANSLATION_INFO], ctx=operation.context
        )
        others = [
            (name, str(attribute))
            for name, attribute in configuration.items()
            if name not in (CONFIG, TRANSLATION_INFO)
        ]
        return TunedOperation(operands, text, str(info), tuple(others))


def _alone(operation: ir.Operation, without: Mapping[str, object]) -> tuple[str, str]:
    """Returns the text of the operands, as arguments, and of the operation without attributes."""
    arguments = ", ".join(f"%arg{n}: {each.type}" for n, each in enumerate(operation.operands))
    module = ir.Module.parse(_FUNCTION.format(arguments=arguments), operation.context)
    (function,) = children(module.operation)
    block = function.regions[0].blocks[0]
    copy = operation.clone(ip=ir.InsertionPoint.at_block_begin(block)).operation
    for index, argument in enumerate(block.arguments):
        copy.operands[index] = argument
    for name in without:
        if name in copy.attributes:
            del copy.attributes[name]
    _head, *body = function.get_asm(use_local_scope=True).rstrip().splitlines()
    *inner, _return, _end = (line.removeprefix("  ") for line in body)
    text = "\n".join(inner)
    if _UNKNOWN in text:
        raise Refusal("its body uses values of the function around it")
    return arguments, text
