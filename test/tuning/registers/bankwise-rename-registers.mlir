// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-rename-registers))' --mlir-print-local-scope | FileCheck %s

#copy = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [2, 1], outer_tile = [1, 1], thread_tile = [32, 8], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [8, 1]>
#operand = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [16, 1]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>

// The V tile of an attention, by columns of the operand: lane l reads the columns l, l + 16, l + 32
// and l + 48 of a row. It reads four neighbours instead, and so do all that share the columns.

// CHECK-LABEL: func.func @columns
// CHECK:         %[[READ:.+]] = vector.transfer_read {{.+}} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
// CHECK-NEXT:    %[[WIDE:.+]] = iree_vector_ext.to_layout %[[READ]] to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 4],
// CHECK-NEXT:    %[[SIMT:.+]] = iree_vector_ext.to_simt %[[WIDE]] : vector<64x64xf16> -> vector<4x1x1x1x4x4xf16>
// CHECK-NEXT:    %[[CUT:.+]] = vector.shape_cast %[[SIMT]] : vector<4x1x1x1x4x4xf16> to vector<2x2x2x2x2x2xf16>
// CHECK-NEXT:    %[[TURNED:.+]] = vector.transpose %[[CUT]], [0, 1, 4, 5, 2, 3]
// CHECK-NEXT:    %[[NARROW:.+]] = vector.shape_cast %[[TURNED]] : vector<2x2x2x2x2x2xf16> to vector<4x4x1x1x4x1xf16>
// CHECK-NEXT:    %[[SIMD:.+]] = iree_vector_ext.to_simd %[[NARROW]] : vector<4x4x1x1x4x1xf16> -> vector<64x64xf16>
// CHECK-NEXT:    %[[OPERAND:.+]] = iree_vector_ext.to_layout %[[SIMD]] to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1],
// CHECK-NEXT:    %[[SAME:.+]] = iree_vector_ext.to_layout %[[OPERAND]]
// CHECK-NEXT:    %[[SUM:.+]] = arith.addf %[[SAME]], %[[SAME]]
// CHECK-NEXT:    %[[OUT:.+]] = iree_vector_ext.to_layout %[[SUM]]
// CHECK:         %[[STORED:.+]] = iree_vector_ext.to_layout %{{.+}} to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 4],
// CHECK-NEXT:    vector.transfer_write %[[STORED]]
func.func @columns(%v: tensor<64x64xf16>, %out: tensor<64x64xf16>) -> tensor<64x64xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %x = iree_vector_ext.to_layout %g to layout(#copy) : vector<64x64xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x64xf16>
  %s = arith.addf %y, %y : vector<64x64xf16>
  %o = vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16>
  return %o : tensor<64x64xf16>
}
