// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --verify-diagnostics \
// RUN:   --bankwise-warn-unhinted-allocs | FileCheck %s

#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute>
    workgroup_size = [64, 1, 1] subgroup_size = 64>

// Every lane reads column 0 of its own row: all rows of 128 bytes begin at bank 0.
// CHECK-LABEL: func @column
// CHECK: memref.alloc() : memref<64x32xf32,
func.func @column() -> f32 attributes {translation_info = #translation} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-warning @+1 {{allocation of memref<64x32xf32> keeps 62 conflict cycles: it has no swizzle}}
  %tile = memref.alloc() : memref<64x32xf32, #gpu.address_space<workgroup>>
  %value = memref.load %tile[%x, %c0] : memref<64x32xf32, #gpu.address_space<workgroup>>
  return %value : f32
}

// No conflict: no warning.
func.func @row() -> f32 attributes {translation_info = #translation} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %tile = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %value = memref.load %tile[%c0, %x] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return %value : f32
}

// The hint decides.
func.func @hinted(%i: index) -> f32 attributes {translation_info = #translation} {
  %tile = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %hint = iree_codegen.swizzle_hint %tile[#iree_codegen.xor_shuffle<32, 1>] : memref<2048xf32, #gpu.address_space<workgroup>>
  %value = memref.load %hint[%i] : memref<2048xf32, #gpu.address_space<workgroup>>
  return %value : f32
}

// What cannot be counted may conflict.
func.func @unknown(%i: index) -> f32 attributes {translation_info = #translation} {
  // expected-warning @+1 {{allocation of memref<2048xf32> has no swizzle, and its conflicts are not known: }}
  %tile = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %value = memref.load %tile[%i] : memref<2048xf32, #gpu.address_space<workgroup>>
  return %value : f32
}
