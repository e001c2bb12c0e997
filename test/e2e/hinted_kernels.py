# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The frame of hand-written kernels in which 64 lanes move 1024 elements through the LDS."""

from __future__ import annotations

from .dispatches import dispatch_module

_ALIASES = """
#any = strided<[1], offset: ?>
!tile = memref<8x128xf16, #lds>
!half = memref<512xf16, #lds>
!two_rows = memref<2x128xf16, strided<[128, 1], offset: ?>, #lds>"""
_FRAME = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %plain = stream.binding.subspan %in0[%c0] : !stream.binding -> memref<1024xf16>
      %a = amdgpu.fat_raw_buffer_cast %plain resetOffset
          : memref<1024xf16> to memref<1024xf16, #raw>
      %c = stream.binding.subspan %out0[%c0] : !stream.binding -> memref<1024xf16, #any>
      %t = gpu.thread_id x upper_bound 64
      %own = affine.apply affine_map<(t) -> (t * 8)>(%t)
      %row = affine.apply affine_map<(t) -> (t floordiv 16)>(%t)
      %column = affine.apply affine_map<(t) -> (t mod 16)>(%t)"""


def hinted_kernel(body: str, *, table: bool = False) -> str:
    """Returns the module of a kernel whose lanes execute `body`.

    The body finds the input in %plain, and as a raw buffer in %a, the output in %c, and the number
    of its lane in %t. Lanes stand in 4 rows of 16: %row and %column say where, and %own is 8 * %t.
    With `table` the function has another input of 64 numbers, of which the body gets %in1.
    """
    inputs = ["1024xf16", *(["64xi32"] if table else [])]
    return dispatch_module(_FRAME + body, inputs, ["1024xf16"], aliases=_ALIASES)
