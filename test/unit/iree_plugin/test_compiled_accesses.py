# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which LDS instructions assembly has, and whether they settle what a pass could not know."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.bank_model.accesses import AccessKind
from bankwise.dialect_utils.diagnostics import PassFailure
from bankwise.iree_plugin.compiled_accesses import widths_of
from bankwise.passes.base import Unsettled

READ, WRITE = AccessKind.READ, AccessKind.WRITE
AMD = """
one:
	ds_write_b64 v0, v[2:3] offset:8
.LBB0_1:
	ds_read2st64_b32 v[0:1], v2 offset1:1
	ds_read_u16_d16_hi v0, v1
	s_endpgm
two:
	ds_read_b128 v[0:3], v1
"""
RDNA = """
one:
	ds_load_2addr_b32 v[0:1], v2 offset1:1
	ds_load_2addr_stride64_b64 v[0:3], v2 offset1:1
	ds_load_u16_d16_hi v0, v1
	ds_load_tr16_b128 v[0:3], v4
	ds_store_2addr_b64 v0, v[2:3], v[4:5] offset1:1
	ds_store_b128 v0, v[2:5]
"""
NVIDIA = """
.visible .entry one(
	.param .u64 .ptr one_param_0
)
{
$L__BB0_1:
	ld.shared.v4.b32 	{%r1, %r2, %r3, %r4}, [%rd1];
	ld.global.v4.b32 	{%r1, %r2, %r3, %r4}, [%rd1];
	st.shared.b16 	[%rd2], %rs1;
}
"""


def test_instructions_of_each_kernel() -> None:
    assert widths_of(AMD) == {
        "one": {(WRITE, 8): 1, (READ, 4): 2, (READ, 2): 1},
        "two": {(READ, 16): 1},
    }
    reads = {(READ, 4): 2, (READ, 8): 2, (READ, 2): 1, (READ, 16): 1}
    assert widths_of(RDNA) == {"one": {**reads, (WRITE, 8): 2, (WRITE, 16): 1}}
    assert widths_of(NVIDIA) == {"one": {(READ, 16): 1, (WRITE, 2): 1}}


@pytest.mark.parametrize(
    ("compiled", "stands"),
    [
        ({(READ, 8): 2, (WRITE, 4): 9}, False),
        ({(READ, 4): 1, (READ, 8): 2}, True),
        # As many as if everything was joined, among them narrow ones without conflicts.
        ({(READ, 4): 3, (READ, 8): 2}, False),
    ],
    ids=["joined", "apart", "as_predicted"],
)
def test_a_failure_stands_if_the_code_has_the_instructions(
    compiled: dict[tuple[AccessKind, int], int], stands: bool
) -> None:
    with ir.Context():
        failure = PassFailure(ir.Location.unknown(), "it conflicts")
    joined = {(READ, 4): 3, (READ, 8): 2, (WRITE, 16): 1}
    assert Unsettled("one", failure, frozenset({(READ, 4)}), joined).stands(compiled) == stands
