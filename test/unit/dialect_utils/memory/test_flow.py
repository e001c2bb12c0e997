# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which allocations a buffer may be, and which of them are hinted."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.memory.flow import is_hinted, lds_allocations, roots_of

from ...functions import lds, parse

TILE = lds("8x16xf16")


@pytest.fixture(scope="module", autouse=True)
def unregistered_operations(context: ir.Context) -> None:
    context.allow_unregistered_dialects = True


def test_roots() -> None:
    kind = lds("64xf16")
    parsed = parse(
        f"""func.func @f(%arg: {kind}, %p: i1, %n: index) {{
          %a = memref.alloc() : {kind}
          %b = memref.alloca() : {kind}
          %ab = arith.select %p, %a, %b : {kind}
          %all = scf.if %p -> {kind} {{
            scf.yield %ab : {kind}
          }} else {{
            scf.yield %arg : {kind}
          }}
          "test.access"(%all) {{name = "all"}} : ({kind}) -> ()
          %o = "test.view"(%a) : ({kind}) -> {kind}
          "test.access"(%o) {{name = "opaque"}} : ({kind}) -> ()
          cf.br ^next(%a : {kind})
        ^next(%x: {kind}):
          "test.access"(%x) {{name = "branch"}} : ({kind}) -> ()
          return
        }}""",
    )
    everything, opaque, branch = (op.operands[0] for op in parsed.operations("test.access"))
    entry = parsed.function.regions[0].blocks[0]
    a, b = (parsed.operations(name)[0].results[0] for name in ("memref.alloc", "memref.alloca"))
    assert roots_of(everything) == (a, b, entry.arguments[0])
    for value, reason in ((opaque, "test.view"), (branch, "block with predecessors")):
        with pytest.raises(Refusal, match=reason):
            roots_of(value)


def hints_are_found(allocation: str, body: str = "") -> bool:
    parsed = parse(f"func.func @f() {{ %m = {allocation} : {TILE}\n{body} return }}")
    (found,) = lds_allocations(parsed.function)
    return is_hinted(found)


@pytest.mark.parametrize(
    ("body", "hinted"),
    [
        (f"%h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<16, 4>] : {TILE}", True),
        (
            f"%c = memref.cast %m : {TILE} to {lds('?x16xf16')}\n"
            "%h = iree_codegen.swizzle_hint %c[#iree_codegen.xor_shuffle<16, 4>] "
            f": {lds('?x16xf16')}",
            True,
        ),
        (f"memref.dealloc %m : {TILE}", False),
    ],
)
def test_is_hinted(body: str, hinted: bool) -> None:
    assert hints_are_found("memref.alloc()", body) is hinted


def test_stowed_swizzle_is_a_hint() -> None:
    stowed = "{iree_codegen.swizzle = #iree_codegen.xor_shuffle<16, 4>}"
    assert hints_are_found(f"memref.alloc() {stowed}")


def test_only_workgroup_memory_is_listed() -> None:
    parsed = parse(f"""func.func @f() {{
      %m = memref.alloc() : {TILE}
      %p = memref.alloc() : memref<4xf16>
      %q = memref.alloca() : memref<4xf16, #gpu.address_space<private>>
      return
    }}""")
    assert len(lds_allocations(parsed.function)) == 1
