// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-hint-vector-allocs))' --mlir-print-local-scope | FileCheck %s

#copy = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], outer_tile = [1, 1], thread_tile = [16, 16], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [16, 1]>
#operand = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [1, 16]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>

// The K tile of an attention: copied in rows, read as a matrix operand, 16 rows at a time.

// CHECK-LABEL: func.func @k_tile
// CHECK:         %[[ALLOC:.+]] = bufferization.alloc_tensor()
// CHECK-NEXT:    %[[HINT:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.xor_shuffle<64, 16, 128, 1>] : tensor<64x128xf16, #gpu.address_space<workgroup>>
// CHECK-NEXT:    %[[WRITE:.+]] = vector.transfer_write %{{.+}}, %[[HINT]]
// CHECK-NEXT:    iree_gpu.value_barrier %[[WRITE]]
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

#columns_of_4 = #iree_vector_ext.nested_layout<subgroup_tile = [4, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [1, 0], thread_strides = [16, 1]>
#rows = #iree_vector_ext.nested_layout<subgroup_tile = [4, 1], batch_tile = [1, 4], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 1], subgroup_strides = [1, 0], thread_strides = [1, 16]>

// The P tile of an f32 attention. No single swizzle frees it of conflicts; a chain of two does.
// The writer has no to_layout of its own: the layout of %s spreads through the elementwise ops,
// the broadcast row maximum takes it from there, and the reader's comes back through arith.mulf.

// CHECK-LABEL: func.func @p_tile
// CHECK:         %[[ALLOC:.+]] = bufferization.alloc_tensor()
// CHECK-NEXT:    %[[INNER:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.xor_shuffle<{{.+}}>]
// CHECK-NEXT:    %[[OUTER:.+]] = iree_codegen.swizzle_hint %[[INNER]][#iree_codegen.xor_shuffle<{{.+}}>]
// CHECK-NEXT:    vector.transfer_write %{{.+}}, %[[OUTER]]
func.func @p_tile(%qk: vector<64x16xf32>, %init: vector<64xf32>, %scale: f32) -> vector<64x16xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %s = iree_vector_ext.to_layout %qk to layout(#columns_of_4) : vector<64x16xf32>
  %max = vector.multi_reduction <maximumf>, %s, %init [1] : vector<64x16xf32> to vector<64xf32>
  %wide = vector.broadcast %max : vector<64xf32> to vector<16x64xf32>
  %turned = vector.transpose %wide, [1, 0] : vector<16x64xf32> to vector<64x16xf32>
  %d = arith.subf %s, %turned : vector<64x16xf32>
  %p = math.exp2 %d : vector<64x16xf32>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x16xf32, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %p, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x16xf32>, tensor<64x16xf32, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x16xf32, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x16xf32, #gpu.address_space<workgroup>>, vector<64x16xf32>
  %splat = vector.broadcast %scale : f32 to vector<64x16xf32>
  %m = arith.mulf %r, %splat : vector<64x16xf32>
  %y = iree_vector_ext.to_layout %m to layout(#rows) : vector<64x16xf32>
  return %y : vector<64x16xf32>
}

#expanded = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1, 1, 1], batch_tile = [4, 4, 1, 1], outer_tile = [1, 1, 1, 1], thread_tile = [1, 1, 16, 4], element_tile = [1, 1, 1, 8], subgroup_strides = [0, 0, 0, 0], thread_strides = [0, 0, 1, 16]>

// The reader's layout comes back through a transpose and a shape_cast.

// CHECK-LABEL: func.func @through_shape_cast
// CHECK:         iree_codegen.swizzle_hint %{{.+}}[#iree_codegen.xor_shuffle<64, 16, 128, 1>]
func.func @through_shape_cast(%k: vector<64x128xf16>) -> vector<4x4x16x32xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %cast = vector.shape_cast %r : vector<64x128xf16> to vector<4x16x4x32xf16>
  %turned = vector.transpose %cast, [0, 2, 1, 3] : vector<4x16x4x32xf16> to vector<4x4x16x32xf16>
  %y = iree_vector_ext.to_layout %turned to layout(#expanded) : vector<4x4x16x32xf16>
  return %y : vector<4x4x16x32xf16>
}

// The tile is carried by a loop that writes and reads it.

// CHECK-LABEL: func.func @loop_carried
// CHECK:         %[[ALLOC:.+]] = bufferization.alloc_tensor()
// CHECK-NEXT:    %[[HINT:.+]] = iree_codegen.swizzle_hint %[[ALLOC]]
// CHECK-NEXT:    scf.for {{.+}} iter_args(%{{.+}} = %[[HINT]],
func.func @loop_carried(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %loop:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %a, %v = %k) -> (tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>) {
    %w = vector.transfer_write %x, %t[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
    %b = iree_gpu.value_barrier %w : tensor<64x128xf16, #gpu.address_space<workgroup>>
    %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
    %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
    scf.yield %b, %y : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  }
  return %loop#1 : vector<64x128xf16>
}

// Read as it was written, in whole rows: nothing to gain.

// CHECK-LABEL: func.func @conflict_free
// CHECK-NOT:     swizzle_hint
func.func @conflict_free(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#copy) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

// Tensors outside workgroup memory are not looked at, and such a function needs no target.

// CHECK-LABEL: func.func @no_workgroup_memory
// CHECK:         bufferization.alloc_tensor() : tensor<64x128xf16>
// CHECK-NOT:     swizzle_hint
func.func @no_workgroup_memory() -> tensor<64x128xf16> {
  %a = bufferization.alloc_tensor() : tensor<64x128xf16>
  return %a : tensor<64x128xf16>
}
