# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocations and copies as stock's bufferization callbacks make them."""

import pytest
from iree.compiler.passmanager import PassManager

from bankwise.dialect_utils.diagnostics import PassFailure
from bankwise.iree_plugin.native_callbacks import (
    AROUND_NATIVE_PASS,
    allocate_as_stock,
    copy_as_stock,
)

from ..functions import parse

(BUFFERIZE,) = AROUND_NATIVE_PASS


pytestmark = pytest.mark.usefixtures("context")


def allocated(text):
    """Returns the function's text after the callback."""
    parsed = parse(text)
    allocate_as_stock(parsed.function)
    parsed.module.operation.verify()
    return parsed.module.operation.get_asm(use_local_scope=True)


def test_private_memory_goes_to_the_stack():
    text = allocated(
        """
        func.func @f(%v: f32, %i: index) {
          %p = memref.alloc() : memref<4xf32, #gpu.address_space<private>>
          %n = memref.alloc() : memref<8xf32>
          %w = memref.alloc() : memref<16xf32, #gpu.address_space<workgroup>>
          memref.store %v, %p[%i] : memref<4xf32, #gpu.address_space<private>>
          memref.store %v, %n[%i] : memref<8xf32>
          memref.store %v, %w[%i] : memref<16xf32, #gpu.address_space<workgroup>>
          return
        }
        """
    )
    assert "memref.alloca() : memref<4xf32, #gpu.address_space<private>>" in text
    assert "memref.alloca() : memref<8xf32, #gpu.address_space<private>>" in text
    assert "memref.alloc() : memref<16xf32, #gpu.address_space<workgroup>>" in text


def test_other_address_spaces_become_workgroup_memory_with_their_views():
    text = allocated(
        """
        func.func @f(%v: f32, %i: index) {
          %c = memref.alloc() : memref<8x8xf32, #gpu.address_space<constant>>
          %s = memref.subview %c[%i, 0] [2, 8] [1, 1]
              : memref<8x8xf32, #gpu.address_space<constant>>
              to memref<2x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<constant>>
          memref.store %v, %s[%i, %i]
              : memref<2x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<constant>>
          return
        }
        """
    )
    assert "constant>" not in text
    assert "memref<2x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<workgroup>>" in text


@pytest.mark.parametrize(
    ("view", "follows"),
    [
        (
            "memref.transpose %c (i, j) -> (j, i) : memref<8x8xf32, #gpu.address_space<constant>> "
            "to memref<8x8xf32, strided<[1, 8]>, #gpu.address_space<constant>>",
            True,
        ),
        (
            "memref.memory_space_cast %c : memref<8x8xf32, #gpu.address_space<constant>> "
            "to memref<8x8xf32>",
            False,
        ),
    ],
)
def test_a_view_follows_unless_it_chooses_its_own_address_space(view, follows):
    text = f"""
        func.func @f() {{
          %c = memref.alloc() : memref<8x8xf32, #gpu.address_space<constant>>
          %v = {view}
          return
        }}
        """
    if follows:
        assert "to memref<8x8xf32, strided<[1, 8]>, #gpu.address_space<workgroup>>" in allocated(
            text
        )
    else:
        with pytest.raises(PassFailure, match=r"'memref\.memory_space_cast' passes on a buffer"):
            allocated(text)


CARRIED = """
        func.func @f(%n: index, %v: f32, %at: index, %arg: MEMREF) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c = memref.alloc() : MEMREF
          %d = memref.alloc() : MEMREF
          %p = arith.cmpi slt, %n, %c1 : index
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %c) -> MEMREF {
            %inner = scf.for %j = %c0 to %n step %c1 iter_args(%e = %b) -> MEMREF {
              memref.store %v, %e[%j] : MEMREF
              scf.yield %e : MEMREF
            }
            scf.yield YIELDED : MEMREF
          }
          %one = scf.if %p -> MEMREF {
            scf.yield %r : MEMREF
          } else {
            scf.yield %d : MEMREF
          }
          memref.store %v, %one[%at] : MEMREF
          return
        }
        """.replace("MEMREF", "memref<8xf32, #gpu.address_space<constant>>")


@pytest.mark.parametrize("yielded", ["%inner", "%d"])
def test_a_buffer_that_loops_and_choices_carry_is_moved(yielded):
    text = allocated(CARRIED.replace("YIELDED", yielded))
    # What is left is the argument, whose space nobody changes.
    assert text.count("constant>") == 1
    assert text.count("memref.alloc() : memref<8xf32, #gpu.address_space<workgroup>>") == 2


def test_a_buffer_that_a_loop_joins_with_another_address_space_is_refused():
    with pytest.raises(PassFailure, match="joins a buffer with one that stays"):
        allocated(CARRIED.replace("YIELDED", "%arg"))


def test_buffers_of_each_lane_are_marked():
    """Not what lanes share, nor what was in workgroup memory before."""
    text = allocated(
        """
        func.func @f() {
          %shared = memref.alloc() : memref<1xf32, #gpu.address_space<constant>>
          scf.forall (%lane) in (64) {
            %own = memref.alloc() : memref<2xf32, #gpu.address_space<constant>>
            %meant = memref.alloc() : memref<3xf32, #gpu.address_space<workgroup>>
          } {mapping = [#gpu.thread<linear_dim_0>]}
          scf.forall (%block) in (64) {
            %all = memref.alloc() : memref<4xf32, #gpu.address_space<constant>>
          } {mapping = [#iree_codegen.workgroup_mapping<x>]}
          return
        }
        """
    )
    assert (
        "memref.alloc() {bankwise.of_each_lane} : memref<2xf32, #gpu.address_space<workgroup>>"
        in text
    )
    assert text.count("memref.alloc() : memref<") == 3


def test_a_buffer_that_leaves_the_function_is_refused():
    with pytest.raises(PassFailure, match=r"'func\.return' passes on a buffer"):
        allocated(
            """
            func.func @f() -> memref<8xf32, #gpu.address_space<constant>> {
              %c = memref.alloc() : memref<8xf32, #gpu.address_space<constant>>
              return %c : memref<8xf32, #gpu.address_space<constant>>
            }
            """
        )


COPY = """
          linalg.generic {
              indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (MAP)>],
              iterator_types = ["parallel", "parallel"]}
              ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) MARK {
          ^bb0(%in: f32, %out: f32):
            linalg.yield %VALUE : f32
          }
"""


@pytest.mark.parametrize(
    ("map_", "value", "mark", "copies"),
    [
        ("i, j", "in", "", True),
        ("i, j", "in", "attrs = {bankwise.of_the_program}", False),
        ("j, i", "in", "", False),
        ("i, j", "out", "", False),
    ],
    ids=["inserted", "of the program", "transpose", "keeps its output"],
)
def test_inserted_copies_become_memref_copies(map_, value, mark, copies):
    generic = COPY.replace("MAP", map_).replace("VALUE", value).replace("MARK", mark)
    parsed = parse(f"func.func @f(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {{{generic} return }}")
    copy_as_stock(parsed.function)
    parsed.module.operation.verify()
    text = str(parsed)
    assert ("memref.copy %arg0, %arg1" in text) == copies
    assert ("linalg.generic" in text) != copies
    assert "of_the_program" not in text


def test_the_uses_of_private_memory_keep_their_order():
    parsed = parse("""
        func.func @f(%v: f32, %i: index) {
          %p = memref.alloc() : memref<4xf32>
          memref.store %v, %p[%i] {first} : memref<4xf32>
          memref.store %v, %p[%i] {second} : memref<4xf32>
          return
        }
    """)

    def users():
        (allocation,) = parsed.operations("memref.alloc", "memref.alloca")
        return [
            [each for each in ("first", "second") if each in use.owner.attributes]
            for use in allocation.results[0].uses
        ]

    before = users()
    allocate_as_stock(parsed.function)
    assert users() == before


def test_the_programs_own_copies_stay_generic_across_bufferization():
    text = """
        func.func @f(%a: tensor<4x4xf32>, %b: memref<4x4xf32>) {
          %e = bufferization.alloc_tensor() : tensor<4x4xf32>
          %r = linalg.generic {
              indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
              iterator_types = ["parallel", "parallel"]}
              ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
          ^bb0(%in: f32, %out: f32):
            linalg.yield %in : f32
          } -> tensor<4x4xf32>
          iree_codegen.store_to_buffer %r, %b : tensor<4x4xf32> into memref<4x4xf32>
          return
        }
        """
    parsed = parse(text)
    function = parsed.function
    with AROUND_NATIVE_PASS[BUFFERIZE](function):
        PassManager.parse(f"func.func({BUFFERIZE})").run(function)
    parsed.module.operation.verify()
    assert str(parsed).count("linalg.generic") == 1
    assert str(parsed).count("memref.copy") == 1
    assert "of_the_program" not in str(parsed)
