# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning specs are valid, and each operation is in them once."""

from __future__ import annotations

from dataclasses import replace

from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.operations import children
from bankwise.iree_plugin.tuning_spec import tuning_spec
from bankwise.passes.base import PassContext
from bankwise.passes.tiles.retile import Retile, RetileMode

from ..passes.tiles.configured_kernels import AttentionIr, MatmulIr

MATMUL = MatmulIr(m=4096, n=4096, k=4096)


def test_specs_verify() -> None:
    with Session().context:
        context = PassContext()
        for kernel in (AttentionIr(), MATMUL, MATMUL, AttentionIr(mask=True)):
            module = ir.Module.parse(kernel.text())
            Retile(RetileMode.ON).run(children(module.operation)[0], context)
        assert len(context.tuned) == 4
        for tuned, matched in ((context.tuned, 3), (context.tuned[1:3], 1), ([], 0)):
            text = tuning_spec(tuned)
            spec = ir.Module.parse(text)
            assert spec.operation.verify()
            assert ("tuning_spec_with_default_entrypoint" in text) == bool(tuned)
            assert text.count("@match_") == 2 * matched
            assert text.count("#iree_codegen.compilation_info") == matched
        first = context.tuned[1]
        other = replace(first, compilation_info=first.compilation_info.replace("128", "64"))
        assert tuning_spec([first, other]) == tuning_spec([first]) != tuning_spec([other])
