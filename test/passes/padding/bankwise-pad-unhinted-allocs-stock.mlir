// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-pad-unhinted-allocs{padding-bits=64}))' --mlir-print-local-scope > %t.ours
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(iree-codegen-gpu-reduce-bank-conflicts{padding-bits=64}))' --mlir-print-local-scope > %t.stock
// RUN: diff %t.ours %t.stock
// RUN: FileCheck %s --input-file %t.ours

// The stock pass and padding-bits=64 leave the same text.

// CHECK-LABEL: func.func @rows(
// CHECK: memref.alloc() : memref<64x68xf16, #gpu.address_space<workgroup>>
// CHECK: memref.alloc() : memref<8x66xf32, #gpu.address_space<workgroup>>
// CHECK: memref.alloc() : memref<8x8xf64, #gpu.address_space<workgroup>>
func.func @rows(%i: index) -> (f16, f32) {
  %a = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<8x64xf32, #gpu.address_space<workgroup>>
  %d = memref.alloc() : memref<8x7xf64, #gpu.address_space<workgroup>>
  %v = memref.load %a[%i, %i] : memref<64x64xf16, #gpu.address_space<workgroup>>
  %w = memref.load %b[%i, %i] : memref<8x64xf32, #gpu.address_space<workgroup>>
  memref.dealloc %b : memref<8x64xf32, #gpu.address_space<workgroup>>
  memref.dealloc %a : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v, %w : f16, f32
}

// The alignment is dropped, a rank-1 allocation padded at its end, one of rank 0 not at all.

// CHECK-LABEL: func.func @odd_ones(
// CHECK: memref.alloc() : memref<68xf16, #gpu.address_space<workgroup>>
// CHECK: memref.alloc() : memref<f16, #gpu.address_space<workgroup>>
func.func @odd_ones(%i: index) -> (f16, f16) {
  %a = memref.alloc() alignment = 16 : memref<64xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<f16, #gpu.address_space<workgroup>>
  %v = memref.load %a[%i] : memref<64xf16, #gpu.address_space<workgroup>>
  %w = memref.load %b[] : memref<f16, #gpu.address_space<workgroup>>
  return %v, %w : f16, f16
}

// CHECK-LABEL: func.func @views(
// CHECK: memref.collapse_shape {{.+}} into memref<32x64xf16, strided<[68, 1]>
// CHECK: memref.subview {{.+}} to memref<16xf16, strided<[2], offset: ?>
// CHECK: memref.expand_shape {{.+}} into memref<8x4x8x8xf16, strided<[272, 68, 8, 1]>
// CHECK: memref.cast {{.+}} to memref<?x64xf16, strided<[68, 1]>
func.func @views(%i: index) -> (f16, f16, f16) {
  %a = memref.alloc() : memref<8x4x64xf16, #gpu.address_space<workgroup>>
  %c = memref.collapse_shape %a [[0, 1], [2]] : memref<8x4x64xf16, #gpu.address_space<workgroup>> into memref<32x64xf16, #gpu.address_space<workgroup>>
  %s = memref.subview %c[%i, 8] [1, 16] [1, 2] : memref<32x64xf16, #gpu.address_space<workgroup>> to memref<16xf16, strided<[2], offset: ?>, #gpu.address_space<workgroup>>
  %e = memref.expand_shape %a [[0], [1], [2, 3]] output_shape [8, 4, 8, 8] : memref<8x4x64xf16, #gpu.address_space<workgroup>> into memref<8x4x8x8xf16, #gpu.address_space<workgroup>>
  %k = memref.cast %c : memref<32x64xf16, #gpu.address_space<workgroup>> to memref<?x64xf16, #gpu.address_space<workgroup>>
  %u = memref.load %s[%i] : memref<16xf16, strided<[2], offset: ?>, #gpu.address_space<workgroup>>
  %v = memref.load %e[%i, %i, %i, %i] : memref<8x4x8x8xf16, #gpu.address_space<workgroup>>
  %w = memref.load %k[%i, %i] : memref<?x64xf16, #gpu.address_space<workgroup>>
  return %u, %v, %w : f16, f16, f16
}

// CHECK-LABEL: func.func @collapsed_rows(
// CHECK: memref.alloc() : memref<32x64xf16, #gpu.address_space<workgroup>>
// CHECK: memref.alloc() : memref<32x68xf16, #gpu.address_space<workgroup>>
func.func @collapsed_rows(%i: index) -> (f16, f16) {
  %a = memref.alloc() : memref<32x64xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<32x64xf16, #gpu.address_space<workgroup>>
  %c = memref.collapse_shape %a [[0, 1]] : memref<32x64xf16, #gpu.address_space<workgroup>> into memref<2048xf16, #gpu.address_space<workgroup>>
  %v = memref.load %c[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  %w = memref.load %b[%i, %i] : memref<32x64xf16, #gpu.address_space<workgroup>>
  return %v, %w : f16, f16
}

// 64 KiB, the limit without a target: with the padding 69632 bytes.

// CHECK-LABEL: func.func @over_the_limit(
// CHECK: memref.alloc() : memref<512x64xf16, #gpu.address_space<workgroup>>
func.func @over_the_limit(%i: index) -> f16 {
  %a = memref.alloc() : memref<512x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %a[%i, %i] : memref<512x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// The allocation counts in multiples of its alignment: 61440 bytes and 64 * 8 more would do, but
// the 4096 of alignment of the second do not.

// CHECK-LABEL: func.func @over_the_limit_by_alignment(
// CHECK: memref.alloc() : memref<480x64xf16, #gpu.address_space<workgroup>>
func.func @over_the_limit_by_alignment(%i: index) -> f16 {
  %a = memref.alloc() : memref<480x64xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc() alignment = 4096 : memref<2xf16, #gpu.address_space<workgroup>>
  %v = memref.load %a[%i, %i] : memref<480x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// CHECK-LABEL: func.func @dynamic(
// CHECK: memref.alloc() : memref<32x64xf16, #gpu.address_space<workgroup>>
func.func @dynamic(%i: index) -> f16 {
  %a = memref.alloc() : memref<32x64xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc(%i) : memref<?x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %a[%i, %i] : memref<32x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// CHECK-LABEL: func.func @other_memory(
// CHECK: memref.alloc() : memref<32x64xf16>
func.func @other_memory(%i: index) -> f16 {
  %a = memref.alloc() : memref<32x64xf16>
  %v = memref.load %a[%i, %i] : memref<32x64xf16>
  return %v : f16
}
