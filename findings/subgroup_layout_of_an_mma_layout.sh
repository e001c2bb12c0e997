#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: a question for the layout of a matrix instruction is answered by empty lists and no error.
# Version: the Python bindings of iree-base-compiler 3.13.0.
# Input: `iree_gpu.get_single_subgroup_layout` with the `#iree_gpu.mma_layout` that a lowering configuration holds, and
#   with the `MMAIntrinsicAttr` of the same instruction. The docstring says "a given MMA or VirtualMMA intrinsic", the
#   signature `attr: Attribute`, and the class of the first is called `MMAAttr`.
# Seen: `[] [] [] []` for the first, and `[1, 1] [16, 4] [1, 4] [1, 16]` for the second.
# Expected: the layout, as for the second, or an error that names the attributes that it takes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet iree-base-compiler==3.13.0

cat > layout.py <<'PYTHON'
from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

with ir.Context():
    of_a_configuration = ir.Attribute.parse("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>")
    intrinsic = iree_gpu.MMAIntrinsicAttr.get(iree_gpu.MMAIntrinsic.MFMA_F32_16x16x16_F16)
    for attribute in (of_a_configuration, intrinsic):
        layout = iree_gpu.get_single_subgroup_layout(attribute, 0)
        print(type(attribute).__name__, layout.outer, layout.thread, layout.element, layout.tstrides)
PYTHON
venv/bin/python layout.py | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: empty lists were seen for MMAAttr" >&2; exit 1; }
MMAAttr [] [] [] []
MMAIntrinsicAttr [1, 1] [16, 4] [1, 4] [1, 16]
EXPECTED
