# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All LDS of a kernel is listed: what can be followed with its accesses, all else with a reason."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.bank_model.accesses import AccessKind
from bankwise.dialect_utils.gpu_target import launch_of
from bankwise.dialect_utils.kernels import functions_in, kernels_of, operations_of_kernel
from bankwise.dialect_utils.memory.lds_reading import ReadAllocation, read_allocations

from ...functions import launched

WS = "#gpu.address_space<workgroup>"

BYTES = f"memref<4096xi8, {WS}>"
TILE = f"memref<8x8xf32, {WS}>"


def read(text: str) -> list[ReadAllocation]:
    """Returns what is read of the last function of a module, and of each `gpu.launch` in it."""
    module = ir.Module.parse(text).operation
    function = functions_in(module)[-1]
    found: list[ReadAllocation] = []
    for kernel in kernels_of(function):
        found += read_allocations(kernel, launch_of(kernel, "gfx942"), "no launch")
    return found


def of_body(body: str, arguments: str = "", before: str = "") -> list[ReadAllocation]:
    return read(
        f"""{before} func.func @k({arguments}) attributes {{{launched()}}} {{
          %c0 = arith.constant 0 : index %c64 = arith.constant 64 : index
          %t = gpu.thread_id x
          {body}
          return }}"""
    )


def reasons(found: list[ReadAllocation]) -> list[str]:
    return [each.unknown[0].reason if each.unknown else "" for each in found]


@pytest.mark.usefixtures("context")
class TestUnread:
    @pytest.mark.parametrize(
        "kind",
        [
            "memref<64xf32, 3>",
            "memref<64xf32, 3 : i32>",
            "memref<64xf32, strided<[2]>, 3>",
            "memref<64xf32, #spirv.storage_class<Workgroup>>",
            f"memref<*xf32, {WS}>",
            "!llvm.ptr<3>",
            "!spirv.ptr<!spirv.array<4 x f32>, Workgroup>",
        ],
    )
    def test_what_an_unknown_operation_makes(self, kind: str) -> None:
        ir.Context.current.allow_unregistered_dialects = True
        found = of_body(f'%m = "test.make"() : () -> {kind}')
        assert reasons(found) == ["made by test.make, which is not followed"]

    def test_a_cast_from_memory_of_which_nothing_is_known(self) -> None:
        cast = f"%m = memref.memory_space_cast %g : memref<8x8xf32> to {TILE}"
        (reason,) = reasons(of_body(cast, "%g: memref<8x8xf32>"))
        assert reason == "made by memref.memory_space_cast, which is not followed"

    def test_memory_of_the_llvm_dialect_in_a_loop(self) -> None:
        found = of_body(
            "scf.for %i = %c0 to %c64 step %c64 { %p = llvm.mlir.addressof @lds : !llvm.ptr<3> }",
            before="llvm.mlir.global external @lds() {addr_space = 3 : i32} : !llvm.array<4 x f32>",
        )
        assert reasons(found) == ["made by llvm.mlir.addressof, which is not followed"]

    def test_an_argument_without_a_shape(self) -> None:
        (reason,) = reasons(of_body("", f"%m: memref<*xf32, {WS}>"))
        assert "only ranked memrefs are followed" in reason

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            (f"%b = memref.alloc() : {BYTES} call @other(%b) : ({BYTES}) -> ()", "by func.call"),
            (
                f"""%a = memref.alloc() : {BYTES}
                %b = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 16>] : {BYTES}
                %m = memref.view %b[%c0][] : {BYTES} to {TILE}
                %v = memref.load %m[%t, %c0] : {TILE}""",
                "the bytes that it shows are swizzled",
            ),
            (
                f"""%b = memref.alloc() : {BYTES}
                %s = memref.load %g[%c0] : memref<1xindex>
                %m = memref.view %b[%s][] : {BYTES} to {TILE}
                %v = memref.load %m[%t, %c0] : {TILE}""",
                "the byte at which it begins depends on the result of memref.load",
            ),
            (
                f"""%b = memref.alloc() : {BYTES} %c2 = arith.constant 2 : index
                %m = memref.view %b[%c2][] : {BYTES} to {TILE}
                %v = memref.load %m[%t, %c0] : {TILE}""",
                "no multiples of its elements' 4",
            ),
        ],
    )
    def test_memory_that_is_lost_on_its_way(self, body: str, reason: str) -> None:
        other = f"func.func private @other({BYTES})"
        found = of_body(body, "%g: memref<1xindex>", other)
        assert reason in reasons(found)[-1]

    def test_a_host_function_has_no_lanes_of_its_launch(self) -> None:
        text = f"""func.func @k() attributes {{{launched()}}} {{
          %c1 = arith.constant 1 : index %c64 = arith.constant 64 : index
          %m = memref.alloc() : {TILE}
          gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
              threads(%x, %y, %z) in (%g = %c64, %h = %c1, %i = %c1) {{
            %v = memref.load %m[%x, %y] : {TILE}
            gpu.terminator
          }}
          return }}"""
        assert "inside gpu.launch" in reasons(read(text))[0]


@pytest.mark.usefixtures("context")
class TestRead:
    def test_no_lds(self) -> None:
        assert not of_body("", "%a: memref<64xf32, 1>, %b: memref<3xf32>, %c: !llvm.ptr<1>")

    def test_a_global_is_one_allocation(self) -> None:
        get = f"memref.get_global @g : {TILE}"
        found = of_body(
            f"%a = {get} %b = {get} %v = memref.load %a[%c0, %c0] : {TILE} "
            f"%w = memref.load %b[%c0, %c0] : {TILE}",
            before=f'memref.global "private" @g : {TILE}',
        )
        assert reasons(found) == [""]
        assert len(found[0].accesses) == 2

    def test_accesses_are_in_the_order_of_the_text(self) -> None:
        """Passes of the compiler leave uses in an order that differs from run to run."""
        module = ir.Module.parse(
            f"""func.func @k() attributes {{{launched()}}} {{
              %c0 = arith.constant 0 : index %v = arith.constant 0.0 : f32
              %m = memref.alloc() : {TILE}
              memref.store %v, %m[%c0, %c0] : {TILE}
              %w = memref.load %m[%c0, %c0] : {TILE}
              return }}"""
        )
        (kernel,) = functions_in(module.operation)
        (store,) = (each for each in operations_of_kernel(kernel) if each.name == "memref.store")
        store.operands[1] = store.operands[1]  # It is the last use that was made now.
        (found,) = read_allocations(kernel, launch_of(kernel, "gfx942"))
        order = [AccessKind.WRITE, AccessKind.READ]
        assert [each.kind for each in found.accesses] == order
        assert [each.kind for each in found.costing] == order

    def test_bytes_are_what_shows_them(self) -> None:
        found = of_body(
            f"""%b = gpu.dynamic_shared_memory : memref<?xi8, {WS}>
            %w = memref.view %b[%c64][%c64] : memref<?xi8, {WS}> to memref<?xi8, {WS}>
            %m = memref.view %b[%c64][] : memref<?xi8, {WS}> to {TILE}
            %v = memref.load %m[%c0, %c0] : {TILE}"""
        )
        assert [each.type for each in found] == ["memref<?xi8>", "memref<8x8xf32>"]
        assert reasons(found)[1] == ""

    def test_views_of_views_add_up(self) -> None:
        (_, inner) = of_body(
            f"""%b = memref.alloc() : {BYTES} %c4 = arith.constant 4 : index
            %w = memref.view %b[%c4][] : {BYTES} to memref<1024xi8, {WS}>
            %m = memref.view %w[%c64][] : memref<1024xi8, {WS}> to {TILE}
            %v = memref.load %m[%c0, %c0] : {TILE}"""
        )
        assert inner.accesses[0].elements.min() == 17

    def test_bytes_that_are_accessed_themselves_too(self) -> None:
        raw, shown = of_body(
            f"""%b = memref.alloc() : {BYTES}
            %m = memref.view %b[%c0][] : {BYTES} to {TILE}
            %v = memref.load %m[%c0, %c0] : {TILE}
            %u = memref.load %b[%t] : {BYTES}"""
        )
        assert len(raw.accesses) == len(shown.accesses) == 1
        assert raw.fixed
        assert shown.fixed
