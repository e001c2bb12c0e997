# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LDS that is not listed is found, whatever dialect and level it is on."""

from __future__ import annotations

import pytest

from bankwise.report.unread_lds import unread_lds

from .small_reports import WS, module_of


def reason(text: str) -> str:
    module = module_of(text)
    *_, function = (op for op in module.body.operations if "function_type" in op.attributes)
    found = unread_lds(function.operation)
    return found.reason if found else ""


@pytest.mark.parametrize(
    "kind",
    [
        "memref<64xf32, 3>",
        "memref<64xf32, 3 : i32>",
        "memref<64xf32, strided<[2]>, 3>",
        "memref<64xf32, #spirv.storage_class<Workgroup>>",
        f"memref<*xf32, {WS}>",
    ],
)
def test_memrefs_in_other_memory_spaces(kind: str):
    text = f'func.func @k() {{ %m = "test.make"() : () -> {kind} return }}'
    assert reason(text).startswith(f"it has LDS as {kind}")


def test_memory_of_the_llvm_dialect_in_a_loop():
    text = """
      llvm.mlir.global external @lds() {addr_space = 3 : i32} : !llvm.array<64 x f32>
      func.func @k(%n: index) {
        scf.for %i = %n to %n step %n { %p = llvm.mlir.addressof @lds : !llvm.ptr<3> }
        return
      }"""
    assert "!llvm.ptr<3>" in reason(text)


def test_memory_of_the_caller():
    assert "argument" in reason(f"func.func @k(%m: memref<64xf32, {WS}>) {{ return }}")


def test_memory_that_is_no_lds_or_is_listed():
    text = f"""func.func @k(%a: memref<64xf32, 1>, %b: memref<3xf32>, %c: !llvm.ptr<1>) {{
      %m = memref.alloc() : memref<64xf32, {WS}>
      return
    }}"""
    assert not reason(text)
