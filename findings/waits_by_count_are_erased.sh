#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: `wait_lgkmcnt` of aster's `KernelBuilder` leaves no instruction behind. A kernel that waits by it between its
#   writes to LDS and a barrier has a race: other waves may read LDS before it is written.
# Version: mlir-asm 0.0.4 (aster), for gfx942; gfx950 is the same. Its wheel is for Python 3.12, so that python3 has to
#   be one.
# Input: a kernel of four waves that reverses 256 words by way of LDS, and waits for its `ds_write_b32` by `wait_deps`
#   with the token of the write, by `wait_lgkmcnt(0)`, or not at all.
# Seen: `s_waitcnt lgkmcnt(0)` stands before the barrier for `wait_deps` alone. With `wait_lgkmcnt(0)` the code is that
#   of the kernel that does not wait at all. Its docstring says "Insert s_waitcnt lgkmcnt=count".
# Where: `amdgcn-wait-insertion`, which `make_default_pass_pipeline` has, erases each `s_waitcnt` that does not carry
#   `immutable`, and inserts waits for registers alone. `KernelBuilder` sets no `immutable`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet mlir-asm==0.0.4 numpy==2.5.5

cat > reverse.py <<'PYTHON'
from aster import ir
from aster.compiler.core import compile_mlir_module_to_asm
from aster.dialects.amdgcn import AccessKind
from aster.dialects.kernel_builder import KernelBuilder
from aster.pass_pipelines import make_default_pass_pipeline


def reverse(wait):
    with ir.Context():
        b = KernelBuilder("module", "reverse", target="gfx942", isa="cdna3")
        b.add_ptr_arg(AccessKind.ReadOnly)
        b.add_ptr_arg(AccessKind.WriteOnly)
        source, target = b.load_args()
        b.set_block_dims(256)
        b.set_grid_dims(1)
        lane, lds = ir.AffineExpr.get_dim(0), ir.AffineExpr.get_dim(1)
        thread = b.thread_id()
        handle, begin = b.alloc_lds(1024)
        word, loaded = b.global_load_dword(b.global_addr(source, b.affine_apply(lane * 4, [thread])))
        b.wait_deps(loaded)
        written = b.ds_write_b32(word, b.index_to_vgpr(b.affine_apply(lane * 4 + lds, [thread, begin])))
        if wait == "wait_deps":
            b.wait_deps(written)
        elif wait == "wait_lgkmcnt":
            b.wait_lgkmcnt(0)
        b.s_barrier()
        mirrored = b.index_to_vgpr(b.affine_apply((255 - lane) * 4 + lds, [thread, begin]))
        word, loaded = b.ds_read_b32(mirrored)
        b.wait_deps(loaded)
        b.global_store_dword(word, b.global_addr(target, b.affine_apply(lane * 4, [thread])))
        b.dealloc_lds(handle)
        return compile_mlir_module_to_asm(b.build(), pass_pipeline=make_default_pass_pipeline(), kernel_name="reverse")


for wait in ("wait_deps", "wait_lgkmcnt", "nothing"):
    lines = [line.strip() for line in reverse(wait).splitlines()]
    barrier = lines.index("s_barrier")
    write = max(at for at in range(barrier) if lines[at].startswith("ds_write_b32"))
    print(f"{wait}: {', '.join(['ds_write_b32', *lines[write + 1 : barrier + 1]])}")
PYTHON
venv/bin/python reverse.py | tee seen
diff - seen <<'EXPECTED' >&2 || { echo "changed: a wait by wait_lgkmcnt was erased" >&2; exit 1; }
wait_deps: ds_write_b32, s_waitcnt lgkmcnt(0), s_barrier
wait_lgkmcnt: ds_write_b32, s_barrier
nothing: ds_write_b32, s_barrier
EXPECTED
