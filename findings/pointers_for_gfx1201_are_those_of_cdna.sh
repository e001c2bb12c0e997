#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: aster adds to pointers by an instruction of CDNA in code for gfx1201, so that its own assembler refuses each
#   kernel that takes an address by `global_addr`.
# Version: mlir-asm 0.0.4 (aster), which names gfx1201 among its targets. Its wheel is for Python 3.12, so that python3
#   has to be one.
# Input: a kernel that copies a word per lane, compiled by the default pipeline for gfx942 and for gfx1201, and
#   assembled by `compile_to_hsaco`.
# Seen: for gfx1201 "instruction not supported on this GPU" for `v_lshl_add_u64`, and None in the place of code.
# Expected: an addition of RDNA, such as `v_add_co_u32` and `v_add_co_ci_u32`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet mlir-asm==0.0.4 numpy==2.5.5

cat > copy_words.py <<'PYTHON'
from aster import ir
from aster.compiler.core import compile_mlir_module_to_asm, compile_to_hsaco
from aster.core.target import Target
from aster.dialects.amdgcn import AccessKind
from aster.dialects.kernel_builder import KernelBuilder
from aster.pass_pipelines import make_default_pass_pipeline


def copy(chip, isa):
    with ir.Context():
        b = KernelBuilder("module", "copy", target=chip, isa=isa)
        b.add_ptr_arg(AccessKind.ReadOnly)
        b.add_ptr_arg(AccessKind.WriteOnly)
        source, target = b.load_args()
        b.set_block_dims(64)
        b.set_grid_dims(1)
        offset = b.affine_apply(ir.AffineExpr.get_dim(0) * 4, [b.thread_id()])
        word, loaded = b.global_load_dword(b.global_addr(source, offset))
        b.wait_deps(loaded)
        b.global_store_dword(word, b.global_addr(target, offset))
        return compile_mlir_module_to_asm(b.build(), pass_pipeline=make_default_pass_pipeline(), kernel_name="copy")


for chip, isa in (("gfx942", "cdna3"), ("gfx1201", "rdna4")):
    code = compile_to_hsaco(copy(chip, isa), getattr(Target, chip)())
    print(f"{chip}: {'no code' if code is None else 'code'}", flush=True)
PYTHON
venv/bin/python copy_words.py 2>&1 | grep -oE '^gfx.*|not supported on this GPU|v_[a-z0-9_]+' | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: code for gfx1201 was refused" >&2; exit 1; }
gfx942: code
not supported on this GPU
v_lshl_add_u64
not supported on this GPU
v_lshl_add_u64
gfx1201: no code
EXPECTED
