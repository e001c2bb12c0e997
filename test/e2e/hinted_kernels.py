# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The frame of hand-written kernels in which 64 lanes move 1024 elements through the LDS."""

from __future__ import annotations

_FRAME = """
#translation = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline
    workgroup_size = [64, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>
#raw = #amdgpu.address_space<fat_raw_buffer>
#any = strided<[1], offset: ?>
!tile = memref<8x128xf16, #lds>
!half = memref<512xf16, #lds>
!two_rows = memref<2x128xf16, strided<[128, 1], offset: ?>, #lds>
stream.executable private @kernels {
  stream.executable.export public @k workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @k(%a_binding: !stream.binding,TABLE_BINDING %c_binding: !stream.binding)
        attributes {translation_info = #translation} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %plain = stream.binding.subspan %a_binding[%c0] : !stream.binding -> memref<1024xf16>
      %a = amdgpu.fat_raw_buffer_cast %plain resetOffset
          : memref<1024xf16> to memref<1024xf16, #raw>
      %c = stream.binding.subspan %c_binding[%c0] : !stream.binding -> memref<1024xf16, #any>
      %t = gpu.thread_id x upper_bound 64
      %own = affine.apply affine_map<(t) -> (t * 8)>(%t)
      %row = affine.apply affine_map<(t) -> (t floordiv 16)>(%t)
      %column = affine.apply affine_map<(t) -> (t mod 16)>(%t)
BODY
      return
    }
  }
}
func.func @k(%a: tensor<1024xf16>TABLE_ARGUMENT) -> tensor<1024xf16> {
  %r = flow.dispatch @kernels::@k(%aTABLE_OPERAND)
      : (tensor<1024xf16>TABLE_TYPE) -> tensor<1024xf16>
  return %r : tensor<1024xf16>
}
"""


def hinted_kernel(body: str, *, table: bool = False) -> str:
    """Returns the module of a kernel whose lanes execute `body`.

    The body finds the input in %plain, and as a raw buffer in %a, the output in %c, and the number
    of its lane in %t. Lanes stand in 4 rows of 16: %row and %column say where, and %own is 8 * %t.
    With `table` the function has another input of 64 numbers, of which the body gets %t_binding.
    """
    given = {
        "BODY": body,
        "TABLE_BINDING": " %t_binding: !stream.binding," if table else "",
        "TABLE_ARGUMENT": ", %t: tensor<64xi32>" if table else "",
        "TABLE_OPERAND": ", %t" if table else "",
        "TABLE_TYPE": ", tensor<64xi32>" if table else "",
    }
    source = _FRAME
    for name, text in given.items():
        source = source.replace(name, text)
    return source
