// RUN: bankwise-report %s --target=gfx942 | FileCheck %s
// RUN: bankwise-report %s --target=gfx942 --format=markdown | FileCheck %s --check-prefix=MD
// RUN: bankwise-report - --target=gfx942 --format=json < %s | FileCheck %s --check-prefix=JSON
// RUN: bankwise-report %s --target=gfx942 --bank-map --access=2 | FileCheck %s --check-prefix=MAP
// RUN: bankwise-report %s --target=gfx950 --access=2 | FileCheck %s --check-prefix=CDNA4
// RUN: bankwise-report %s | FileCheck %s --check-prefix=UNKNOWN

// Tensors, before any pass has chosen a layout: what the solver proposes.

#copy = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], outer_tile = [1, 1], thread_tile = [16, 16], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [16, 1]>
#operand = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [1, 16]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>

// CHECK:      Bank conflicts of bankwise-report.mlir
// CHECK:      @k_tile: gfx942, 256 lanes in 4 waves of 64
// CHECK-NEXT: conflict cycles of a workgroup: 1,536 before, 128 padded, 0 proposed
// CHECK-NEXT: LDS cycles: 2,176 as it stands, 640 ideal
// CHECK-NEXT: LDS bytes: 16,384 before, 16,896 padded, 16,384 proposed
// CHECK:      1. tensor<64x128xf16>  68:8
// CHECK-NEXT: proposed: swizzled with xor_shuffle<64, 16, 128, 1>: 1,536 -> 0 conflict cycles
// CHECK:      LDS cycles as it stands / ideal: 2,176 / 640
// CHECK-NEXT: LDS bytes before / padded / proposed: 16,384 / 16,896 / 16,384
// CHECK:      access runs before padded proposed cycles ideal
// CHECK:      1 write x 4: 4 ds_write_b128 69:8 4 0 128 0 128 128
// CHECK-NEXT: row = 16*i + 4*wave + lane/16, column =
// CHECK-NEXT: 8*(lane%16)
// CHECK-NEXT: 2 read x 16: 16 ds_read_b128 71:8 4 1,536 0 0 2,048 512
// CHECK-NEXT: row = 16*(i/4) + lane%16, column =
// CHECK:      @nothing_here: no workgroup allocations

// MD:      ### Bank conflicts of `bankwise-report.mlir`
// MD:      **`@k_tile`**: gfx942, 256 lanes in 4 waves of 64
// MD:      | 1 | `tensor<64x128xf16>` | 68:8 | 1,536 / 128 / 0 (proposed) | 2,176 / 640 | 16,384 / 16,896 / 16,384 | proposed: swizzled with xor\_shuffle\<64, 16, 128, 1\>:
// MD:      | 2 | read x 16 | 71:8 | `16 ds_read_b128` | `row = 16*(i/4) + lane%16, column = 32*(i%4) + 8*(lane/16); i = 0..15` | 4 | 1,536 | 0 | 0 | 2,048 | 512 |

// JSON:      "version": 1,
// JSON:      "mode": "ir",
// JSON:      "name": "k_tile",
// JSON:      "file": "-",
// JSON:      "type": "tensor<64x128xf16>",
// JSON:      "location": "<stdin>:68:8",
// JSON:      "proposed": true,
// JSON:      "chosen": {
// JSON:      "swizzles": [
// JSON-NEXT: "xor_shuffle<64, 16, 128, 1>"
// JSON:      "number": 2,
// JSON:      "formulas": {
// JSON-NEXT: "row": "16*(i/4) + lane%16",
// JSON-NEXT: "column": "32*(i%4) + 8*(lane/16)"

// MAP-NOT: 1 before
// MAP:      2 before, ds_read_b128, wave 0, phase 1 of 8: 4 cycles
// MAP-NEXT: bank 0 1 2 3
// MAP-NEXT: 1 0 0 0 0 20 20 20 20
// MAP:      = 4! 4!
// MAP:      2 proposed, ds_read_b128, wave 0, phase 1 of 8: 1 cycle
// MAP-NOT:  !

// CDNA4: @k_tile: gfx950, 256 lanes in 4 waves of 64
// CDNA4: 2 read x 16: 16 ds_read_b128

// UNKNOWN: conflict cycles of a workgroup: not known
// UNKNOWN: not known: the function has no GPU target
func.func @k_tile(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @nothing_here() {
  return
}
