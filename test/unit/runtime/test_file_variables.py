# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The variables of a kernel's file as inputs and outputs of a run."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bankwise.runtime.argument_values import ArgumentError
from bankwise.runtime.assembly_run import AssemblyRun, run_assembly

DOUBLED = """\
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
k:
\tv_lshlrev_b32_e32 v1, 2, v0
\tv_mov_b32_e32 v3, 0
\ts_getpc_b64 s[4:5]
\ts_add_u32 s4, s4, _ZN4math5tableE@rel32@lo+4
\ts_addc_u32 s5, s5, _ZN4math5tableE@rel32@hi+12
\tglobal_load_dword v2, v1, s[4:5]
\ts_waitcnt vmcnt(0)
\tv_add_f32_e32 v2, v2, v2
\tglobal_store_dword v1, v2, s[4:5]
\ts_endpgm
.Lfunc_end0:
\t.data
_ZN4math5tableE:
\t.long 0x3f800000, 0x40000000
\t.size _ZN4math5tableE, 8
odd:
\t.byte 1, 2, 3
\t.section .rodata
\t.amdhsa_kernel k
\t\t.amdhsa_next_free_vgpr 8
\t\t.amdhsa_accum_offset 8
\t.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.kernels:
  - {.name: k, .kernarg_segment_size: 0, .reqd_workgroup_size: [2, 1, 1]}
...
\t.end_amdgpu_metadata
"""


def run(**given: np.ndarray) -> AssemblyRun:
    return run_assembly(DOUBLED, [], grid=(1,), variables=given)


def test_a_variable_begins_as_the_file_says():
    done = run()
    assert done.changed == ("_ZN4math5tableE",)
    assert done.variables["_ZN4math5tableE"].view(np.float32).tolist() == [2, 4]
    assert done.variables["odd"].tolist() == [1, 2, 3]
    assert run().variables["_ZN4math5tableE"].view(np.float32).tolist() == [2, 4]


@pytest.mark.parametrize("name", ["_ZN4math5tableE", "table", "math::table"])
def test_a_variable_begins_as_the_caller_says(name: str):
    left = run(**{name: np.array([[5], [-7]], np.float32)}).variables["_ZN4math5tableE"]
    assert left.dtype == np.float32
    assert left.tolist() == [[10], [-14]]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tables", "has no variable 'tables'; it has _ZN4math5tableE, odd"),
        ("table", "the variable 'table' has 8 bytes, and its value 4"),
    ],
)
def test_a_value_that_does_not_fit(name: str, message: str):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        run(**{name: np.zeros(1, np.float32)})
