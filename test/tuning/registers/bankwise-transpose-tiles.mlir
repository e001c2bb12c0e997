// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-transpose-tiles))' --iree-gpu-test-target=gfx942 --mlir-print-local-scope | FileCheck %s
// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-transpose-tiles))' --iree-gpu-test-target=sm_80 | FileCheck %s --check-prefix=OTHER

// OTHER-NOT: vector.transpose

// A lane of 256 copies 4 rows of 4 columns, and reads 4 rows of a column at once.

// CHECK-LABEL: func.func @values
// CHECK:         %[[GLOBAL:.+]] = vector.transfer_read %{{.+}} : memref<64x64xf16>
// CHECK:         %[[COPY:.+]] = iree_vector_ext.to_layout %[[GLOBAL]] to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [16, 16], element_tile = [4, 4], subgroup_strides = [0, 0], thread_strides = [16, 1]>)
// CHECK:         %[[HELD:.+]] = iree_vector_ext.to_simt %[[COPY]]
// CHECK:         %[[ROWS:.+]] = vector.shape_cast %[[HELD]] : vector<1x1x1x1x4x4xf16> to vector<1x1x4x4xf16>
// CHECK:         %[[COLUMNS:.+]] = vector.transpose %[[ROWS]], [0, 1, 3, 2]
// CHECK:         %[[REGISTERS:.+]] = vector.shape_cast %[[COLUMNS]] : vector<1x1x4x4xf16> to vector<1x1x1x1x1x1x1x4x4xf16>
// CHECK:         %[[BLOCKS:.+]] = iree_vector_ext.to_simd %[[REGISTERS]] : vector<1x1x1x1x1x1x1x4x4xf16> -> vector<16x64x4xf16>
// CHECK:         bufferization.alloc_tensor() {{.*}} : tensor<16x64x4xf16, #gpu.address_space<workgroup>>
// CHECK:         %[[READ:.+]] = vector.transfer_read %{{.+}} : tensor<16x64x4xf16, #gpu.address_space<workgroup>>, vector<16x64x4xf16>
// CHECK:         iree_vector_ext.to_layout %[[READ]] to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1, 1], batch_tile = [4, 4, 1], outer_tile = [1, 1, 1], thread_tile = [4, 16, 1], element_tile = [1, 1, 4], subgroup_strides = [0, 0, 0], thread_strides = [16, 1, 0]>)
// CHECK:         %[[OPERAND:.+]] = iree_vector_ext.to_layout %{{.+}} to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [16, 1]>)
func.func @values(%v: memref<64x64xf16>) -> vector<64x64xf16> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f16
  %global = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf16>, vector<64x64xf16>
  %copy = iree_vector_ext.to_layout %global to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [2, 1], outer_tile = [1, 1], thread_tile = [32, 8], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [8, 1]>) : vector<64x64xf16>
  %tile = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %written = vector.transfer_write %copy, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %there = iree_gpu.value_barrier %written : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %read = vector.transfer_read %there[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %operand = iree_vector_ext.to_layout %read to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [16, 1]>) : vector<64x64xf16>
  return %operand : vector<64x64xf16>
}

// -----

// Lanes read neighbours along the rows of memory.

// CHECK-LABEL: func.func @keys
// CHECK-NOT:     vector.transpose
func.func @keys(%v: memref<64x64xf16>) -> vector<64x64xf16> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f16
  %global = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf16>, vector<64x64xf16>
  %copy = iree_vector_ext.to_layout %global to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [2, 1], outer_tile = [1, 1], thread_tile = [32, 8], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [8, 1]>) : vector<64x64xf16>
  %tile = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %written = vector.transfer_write %copy, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %there = iree_gpu.value_barrier %written : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %read = vector.transfer_read %there[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %operand = iree_vector_ext.to_layout %read to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 2], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [1, 16]>) : vector<64x64xf16>
  return %operand : vector<64x64xf16>
}

// -----

// One wave reads what it has copied itself: nobody else would read what it transposes.

// CHECK-LABEL: func.func @one_wave
// CHECK-NOT:     vector.transpose
func.func @one_wave(%v: memref<64x64xf16>) -> vector<64x64xf16> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f16
  %global = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf16>, vector<64x64xf16>
  %copy = iree_vector_ext.to_layout %global to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [8, 1], outer_tile = [1, 1], thread_tile = [8, 8], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [8, 1]>) : vector<64x64xf16>
  %tile = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %written = vector.transfer_write %copy, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %there = iree_gpu.value_barrier %written : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %read = vector.transfer_read %there[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %operand = iree_vector_ext.to_layout %read to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [16, 1]>) : vector<64x64xf16>
  return %operand : vector<64x64xf16>
}

// -----

// 128 lanes do not share 16 x 10 blocks of 4 rows and 8 columns evenly, nor 16 x 20 of 4 columns. Of 16 x 40 blocks of 2
// columns each lane copies 5, which lie in the same rows.

// CHECK-LABEL: func.func @ten_blocks
// CHECK:         iree_vector_ext.to_layout %{{.+}} to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 5], outer_tile = [1, 1], thread_tile = [16, 8], element_tile = [4, 2], subgroup_strides = [0, 0], thread_strides = [8, 1]>)
// CHECK:         vector.shape_cast %{{.+}} : vector<1x5x1x1x4x2xf16> to vector<5x1x4x2xf16>
// CHECK:         bufferization.alloc_tensor() {{.*}} : tensor<16x80x4xf16, #gpu.address_space<workgroup>>
func.func @ten_blocks(%v: memref<64x80xf16>) -> vector<64x80xf16> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f16
  %global = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x80xf16>, vector<64x80xf16>
  %copy = iree_vector_ext.to_layout %global to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 5], outer_tile = [1, 1], thread_tile = [64, 2], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [2, 1]>) : vector<64x80xf16>
  %tile = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x80xf16, #gpu.address_space<workgroup>>
  %written = vector.transfer_write %copy, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<64x80xf16>, tensor<64x80xf16, #gpu.address_space<workgroup>>
  %there = iree_gpu.value_barrier %written : tensor<64x80xf16, #gpu.address_space<workgroup>>
  %read = vector.transfer_read %there[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x80xf16, #gpu.address_space<workgroup>>, vector<64x80xf16>
  %operand = iree_vector_ext.to_layout %read to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 5], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [16, 1]>) : vector<64x80xf16>
  return %operand : vector<64x80xf16>
}

// -----

// 256 lanes cannot share blocks of 4 rows and 2 columns of 16 rows evenly.

// CHECK-LABEL: func.func @few
// CHECK-NOT:     vector.transpose
func.func @few(%v: memref<16x64xf16>) -> vector<16x64xf16> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f16
  %global = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x64xf16>, vector<16x64xf16>
  %copy = iree_vector_ext.to_layout %global to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [16, 16], element_tile = [1, 4], subgroup_strides = [0, 0], thread_strides = [16, 1]>) : vector<16x64xf16>
  %tile = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<16x64xf16, #gpu.address_space<workgroup>>
  %written = vector.transfer_write %copy, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<16x64xf16>, tensor<16x64xf16, #gpu.address_space<workgroup>>
  %there = iree_gpu.value_barrier %written : tensor<16x64xf16, #gpu.address_space<workgroup>>
  %read = vector.transfer_read %there[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<16x64xf16, #gpu.address_space<workgroup>>, vector<16x64xf16>
  %operand = iree_vector_ext.to_layout %read to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 4], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [16, 1]>) : vector<16x64xf16>
  return %operand : vector<16x64xf16>
}

// -----

// Elements of 4 bytes have no neighbours in a register.

// CHECK-LABEL: func.func @wide
// CHECK-NOT:     vector.transpose
func.func @wide(%v: memref<64x64xf32>) -> vector<64x64xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %global = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xf32>, vector<64x64xf32>
  %copy = iree_vector_ext.to_layout %global to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], outer_tile = [1, 1], thread_tile = [16, 16], element_tile = [1, 4], subgroup_strides = [0, 0], thread_strides = [16, 1]>) : vector<64x64xf32>
  %tile = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf32, #gpu.address_space<workgroup>>
  %written = vector.transfer_write %copy, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, tensor<64x64xf32, #gpu.address_space<workgroup>>
  %there = iree_gpu.value_barrier %written : tensor<64x64xf32, #gpu.address_space<workgroup>>
  %read = vector.transfer_read %there[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf32, #gpu.address_space<workgroup>>, vector<64x64xf32>
  %operand = iree_vector_ext.to_layout %read to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [16, 1]>) : vector<64x64xf32>
  return %operand : vector<64x64xf32>
}
