// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --bankwise-count-stock-layouts | FileCheck %s

// Nothing changes: what is counted is in the decisions.
// CHECK-LABEL: func @column
// CHECK: memref.alloc() : memref<64x32xf32,
// CHECK-NEXT: memref.load
func.func @column(%c0: index, %x: index) -> f32 {
  %tile = memref.alloc() : memref<64x32xf32, #gpu.address_space<workgroup>>
  %value = memref.load %tile[%x, %c0] : memref<64x32xf32, #gpu.address_space<workgroup>>
  return %value : f32
}
