// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-load-before-sums))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#read = #hal.pipeline.binding<storage_buffer, ReadOnly>
#layout = #hal.pipeline.layout<bindings = [#read, #read, #hal.pipeline.binding<storage_buffer>]>
#lanes = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>

// The weights are loaded with the row. What the kernel may write is loaded where it was.

// CHECK-LABEL: func.func @weights
// CHECK:         %[[AT:.+]] = arith.muli
// CHECK-NEXT:    %[[X:.+]] = vector.load %{{.+}}[%[[AT]]] : memref<256xf16
// CHECK-NEXT:    %[[W:.+]] = vector.load %{{.+}}[%[[AT]]] : memref<256xf16
// CHECK:         vector.reduction
// CHECK:         gpu.shuffle
// CHECK:         vector.load %{{.+}}[%[[AT]]] : memref<256xf32
// CHECK:         arith.mulf %{{.+}}, %[[W]]
func.func @weights() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  %all = arith.constant 32 : i32
  %x = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) flags(ReadOnly) : memref<256xf16>
  %w = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) flags(ReadOnly) : memref<256xf16>
  %o = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<256xf32>
  %lane = gpu.thread_id x
  %at = arith.muli %lane, %c8 : index
  %row = vector.load %x[%at] : memref<256xf16>, vector<8xf16>
  %sum = vector.reduction <add>, %row : vector<8xf16> into f16
  // expected-remark @+1 {{1 of the loads behind the sum come before it}}
  %other, %valid = gpu.shuffle xor %sum, %one, %all : f16
  %whole = arith.addf %sum, %other : f16
  %weights = vector.load %w[%at] : memref<256xf16>, vector<8xf16>
  %old = vector.load %o[%at] : memref<256xf32>, vector<8xf32>
  %sums = vector.broadcast %whole : f16 to vector<8xf16>
  %product = arith.mulf %sums, %weights : vector<8xf16>
  %wide = arith.extf %product : vector<8xf16> to vector<8xf32>
  %new = arith.addf %wide, %old : vector<8xf32>
  vector.store %new, %o[%at] : memref<256xf32>, vector<8xf32>
  return
}

// What is loaded at a place that the sum tells has to wait for it.

// CHECK-LABEL: func.func @by_sum
// CHECK:         gpu.shuffle
// CHECK:         vector.load
func.func @by_sum() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %all = arith.constant 32 : i32
  %x = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) flags(ReadOnly) : memref<256xi32>
  %w = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) flags(ReadOnly) : memref<256xf16>
  %o = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<256xf16>
  %lane = gpu.thread_id x
  %row = vector.load %x[%lane] : memref<256xi32>, vector<1xi32>
  %each = vector.extract %row[0] : i32 from vector<1xi32>
  %other, %valid = gpu.shuffle xor %each, %one, %all : i32
  %place = arith.index_cast %other : i32 to index
  %weights = vector.load %w[%place] : memref<256xf16>, vector<8xf16>
  vector.store %weights, %o[%c0] : memref<256xf16>, vector<8xf16>
  return
}

// The lanes of a workgroup of 1024 have 64 registers, of which 32 elements of a row take as many in f32.

// CHECK-LABEL: func.func @registers
// CHECK:         gpu.shuffle
// CHECK:         vector.load
func.func @registers() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [1024, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %all = arith.constant 32 : i32
  %x = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) flags(ReadOnly) : memref<65536xf16>
  %w = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) flags(ReadOnly) : memref<65536xf16>
  %o = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<65536xf16>
  %lane = gpu.thread_id x
  %row = vector.load %x[%lane] : memref<65536xf16>, vector<32xf16>
  %sum = vector.reduction <add>, %row : vector<32xf16> into f16
  %other, %valid = gpu.shuffle xor %sum, %one, %all : f16
  %weights = vector.load %w[%lane] : memref<65536xf16>, vector<32xf16>
  %sums = vector.broadcast %other : f16 to vector<32xf16>
  %product = arith.mulf %sums, %weights : vector<32xf16>
  vector.store %product, %o[%lane] : memref<65536xf16>, vector<32xf16>
  return
}
