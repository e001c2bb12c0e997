# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning specs are valid, and each operation is in them once."""

from __future__ import annotations

import pytest

from bankwise.iree_plugin.tuning_spec import tuning_spec
from bankwise.tuning.retile import Retile, RetileMode

from ..functions import parse, run
from ..tuning.tiles.configured_kernels import AttentionIr, MatmulIr

MATMUL = MatmulIr(m=4096, n=4096, k=4096)


@pytest.mark.usefixtures("context")
def test_specs_verify() -> None:
    found = [
        tuned
        for kernel in (AttentionIr(), MATMUL, MATMUL, AttentionIr(mask=True))
        for tuned in run(parse(kernel.text()), Retile(RetileMode.ON)).context.tuned
    ]
    assert len(found) == 4
    for tuned, matched in ((found, 3), (found[1:3], 1), ([], 0)):
        text = tuning_spec(tuned)
        assert parse(text).module.operation.verify()
        assert ("tuning_spec_with_default_entrypoint" in text) == bool(tuned)
        assert text.count("@match_") == 2 * matched
        assert text.count("#iree_codegen.compilation_info") == matched
    first = found[1]
    other = first._replace(compilation_info=first.compilation_info.replace("128", "64"))
    assert tuning_spec([first, other]) == tuning_spec([first]) != tuning_spec([other])
