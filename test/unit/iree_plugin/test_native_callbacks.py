# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocations as stock's bufferization callback makes them."""

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.diagnostics import PassFailure
from bankwise.iree_plugin.native_callbacks import allocate_as_stock


@pytest.fixture
def context():
    session = Session()
    yield session.context
    session.close()


def allocated(text, context):
    """The function's text after the callback."""
    with context:
        module = ir.Module.parse(text)
        allocate_as_stock(module.body.operations[0].operation)
        module.operation.verify()
        return module.operation.get_asm(use_local_scope=True)


def test_private_memory_goes_to_the_stack(context):
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
        """,
        context,
    )
    assert "memref.alloca() : memref<4xf32, #gpu.address_space<private>>" in text
    assert "memref.alloca() : memref<8xf32, #gpu.address_space<private>>" in text
    assert "memref.alloc() : memref<16xf32, #gpu.address_space<workgroup>>" in text


def test_other_address_spaces_become_workgroup_memory_with_their_views(context):
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
        """,
        context,
    )
    assert "constant>" not in text
    assert "memref<2x8xf32, strided<[8, 1], offset: ?>, #gpu.address_space<workgroup>>" in text


def test_a_buffer_that_a_loop_carries_is_refused(context):
    with pytest.raises(PassFailure, match=r"'scf\.for' passes on a buffer"):
        allocated(
            """
            func.func @f(%n: index) {
              %c0 = arith.constant 0 : index
              %c1 = arith.constant 1 : index
              %c = memref.alloc() : memref<8xf32, #gpu.address_space<constant>>
              %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %c)
                  -> memref<8xf32, #gpu.address_space<constant>> {
                scf.yield %b : memref<8xf32, #gpu.address_space<constant>>
              }
              return
            }
            """,
            context,
        )
