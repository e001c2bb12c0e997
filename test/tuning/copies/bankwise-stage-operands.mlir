// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-stage-operands))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-stage-operands))' --mlir-print-local-scope | FileCheck %s --check-prefix=AMD

#fragment = #iree_vector_ext.nested_layout<subgroup_tile = [4, 1], batch_tile = [1, 6], outer_tile = [2, 2], thread_tile = [8, 4], element_tile = [1, 2], subgroup_strides = [1, 0], thread_strides = [4, 1]>

// 12 runs of 8 elements do not divide 128 threads: 4 threads move 4 runs of a row, and 32 rows.

// CHECK-LABEL: func.func @rows_of_96
// CHECK:         gpu.barrier memfence [#gpu.address_space<workgroup>]
// CHECK:         %[[READ:.+]] = vector.transfer_read %{{.+}} : tensor<64x96xf16>, vector<64x96xf16>
// CHECK:         %[[COPY:.+]] = iree_vector_ext.to_layout %[[READ]] to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [2, 3], outer_tile = [1, 1], thread_tile = [32, 4], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [4, 1]>)
// CHECK:         %[[TILE:.+]] = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x96xf16, #gpu.address_space<workgroup>>
// CHECK:         %[[WRITTEN:.+]] = vector.transfer_write %[[COPY]], %[[TILE]]
// CHECK:         %[[WAITED:.+]] = iree_gpu.value_barrier %[[WRITTEN]]
// CHECK:         %[[AGAIN:.+]] = vector.transfer_read %[[WAITED]]
// CHECK:         iree_vector_ext.to_layout %[[AGAIN]] to layout({{.+}}) : vector<64x96xf16>
func.func @rows_of_96(%t: tensor<64x96xf16>) -> vector<64x96xf16> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %r = vector.transfer_read %t[%c0, %c0], %p {in_bounds = [true, true]} : tensor<64x96xf16>, vector<64x96xf16>
  %l = iree_vector_ext.to_layout %r to layout(#fragment) <{shared_memory_conversion}> : vector<64x96xf16>
  return %l : vector<64x96xf16>
}

#other = #iree_vector_ext.nested_layout<subgroup_tile = [4, 1], batch_tile = [1, 12], outer_tile = [1, 1], thread_tile = [16, 2], element_tile = [1, 4], subgroup_strides = [1, 0], thread_strides = [2, 1]>

// What two operands use is read once, and each has a tile of its own.

// CHECK-LABEL: func.func @one_tensor
// CHECK:         %[[READ:.+]] = vector.transfer_read %{{.+}} : tensor<64x96xf16>, vector<64x96xf16>
// CHECK:         %[[COPY:.+]] = iree_vector_ext.to_layout %[[READ]]
// CHECK:         vector.transfer_write %[[COPY]]
// CHECK:         %[[FIRST:.+]] = vector.transfer_read
// CHECK:         vector.transfer_write %[[COPY]]
// CHECK:         %[[SECOND:.+]] = vector.transfer_read
// CHECK-DAG:     iree_vector_ext.to_layout %[[FIRST]]
// CHECK-DAG:     iree_vector_ext.to_layout %[[SECOND]]
// CHECK-NOT:     shared_memory_conversion
func.func @one_tensor(%t: tensor<64x96xf16>) -> (vector<64x96xf16>, vector<64x96xf16>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %r = vector.transfer_read %t[%c0, %c0], %p {in_bounds = [true, true]} : tensor<64x96xf16>, vector<64x96xf16>
  %k = iree_vector_ext.to_layout %r to layout(#fragment) <{shared_memory_conversion}> : vector<64x96xf16>
  %v = iree_vector_ext.to_layout %r to layout(#other) <{shared_memory_conversion}> : vector<64x96xf16>
  return %k, %v : vector<64x96xf16>, vector<64x96xf16>
}

#whole_fragment = #iree_vector_ext.nested_layout<subgroup_tile = [4, 1], batch_tile = [1, 4], outer_tile = [2, 2], thread_tile = [8, 4], element_tile = [1, 2], subgroup_strides = [1, 0], thread_strides = [4, 1]>

// IREE derives a layout of this copy, and makes it.

// CHECK-LABEL: func.func @rows_of_64
// CHECK-NOT:     bufferization.alloc_tensor
// CHECK:         shared_memory_conversion
func.func @rows_of_64(%t: tensor<64x64xf16>) -> vector<64x64xf16> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %r = vector.transfer_read %t[%c0, %c0], %p {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %l = iree_vector_ext.to_layout %r to layout(#whole_fragment) <{shared_memory_conversion}> : vector<64x64xf16>
  return %l : vector<64x64xf16>
}

// CHECK-LABEL: func.func @beyond_the_end
// CHECK-NOT:     bufferization.alloc_tensor
// CHECK:         shared_memory_conversion
func.func @beyond_the_end(%t: tensor<60x96xf16>) -> vector<64x96xf16> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %p = arith.constant 0.0 : f16
  %r = vector.transfer_read %t[%c0, %c0], %p {in_bounds = [false, true]} : tensor<60x96xf16>, vector<64x96xf16>
  // expected-remark @+1 {{the operand is left to IREE to stage: the read may be out of bounds}}
  %l = iree_vector_ext.to_layout %r to layout(#fragment) <{shared_memory_conversion}> : vector<64x96xf16>
  return %l : vector<64x96xf16>
}

#binding = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
#odd = #iree_vector_ext.nested_layout<subgroup_tile = [4, 1], batch_tile = [1, 5], outer_tile = [2, 2], thread_tile = [8, 4], element_tile = [1, 2], subgroup_strides = [1, 0], thread_strides = [4, 1]>

// Rows of 75 elements begin at odd ones. Lanes of AMD's load 8 elements from there.

// AMD-LABEL:   func.func @rows_of_75
// AMD:         to layout(#iree_vector_ext.nested_layout<{{.*}} batch_tile = [1, 5], outer_tile = [1, 1], thread_tile = [64, 2], element_tile = [1, 8],
// expected-remark @+1 {{operands are staged by IREE: waves of 64 lanes}}
func.func @rows_of_75() -> vector<64x80xf16> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 64>} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#binding) binding(0) alignment(64) offset(%c0) flags(ReadOnly) {bankwise.shape = array<i64: 64, 75>} : memref<64x80xf16>
  %t = iree_codegen.load_from_buffer %b : memref<64x80xf16> -> tensor<64x80xf16>
  %r = vector.transfer_read %t[%c0, %c0], %p {in_bounds = [true, true]} : tensor<64x80xf16>, vector<64x80xf16>
  %l = iree_vector_ext.to_layout %r to layout(#odd) <{shared_memory_conversion}> : vector<64x80xf16>
  return %l : vector<64x80xf16>
}
