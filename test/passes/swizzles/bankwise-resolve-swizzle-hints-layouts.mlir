// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints,canonicalize,cse))' --mlir-print-local-scope --verify-diagnostics | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints{one-layout=true}))' --mlir-print-local-scope 2>&1 | FileCheck %s --check-prefix=ONE

// Memory that is used by several layouts: each access goes by its own hints. Hints of our own never
// give memory several layouts, and with one-layout=true are dropped where they seem to.

// Memory that is used twice, each time by another layout, as the op's documentation allows.
// CHECK-LABEL: func.func @reused
//       CHECK:   memref.store %arg0, %{{.+}}[%c64]
//       CHECK:   memref.load %{{.+}}[%c64]
//       CHECK:   memref.store %arg0, %{{.+}}[%c72]
//       CHECK:   memref.load %{{.+}}[%c72]
// ONE: warning: swizzle hints of memref<4096xf32> dropped: accesses go through different swizzles: xor_shuffle<64, 4, 64, 1> and rotate_rows<64, 4>
func.func @reused(%v: f32) -> (f32, f32) {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<4096xf32>
  memref.store %v, %0[%c68] : memref<4096xf32>
  %2 = memref.load %0[%c68] : memref<4096xf32>
  memref.store %v, %1[%c68] : memref<4096xf32>
  %3 = memref.load %1[%c68] : memref<4096xf32>
  return %2, %3 : f32, f32
}

// CHECK-LABEL: func.func @access_in_the_middle_of_a_chain
//       CHECK:   memref.load %{{.+}}[%c64]
//       CHECK:   memref.load %{{.+}}[%c76]
// ONE: warning: swizzle hints of memref<4096xf32> dropped: accesses go through different swizzles: xor_shuffle<64, 4, 64, 1> and rotate_rows<64, 4> of xor_shuffle<64, 4, 64, 1>
func.func @access_in_the_middle_of_a_chain() -> (f32, f32) {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = iree_codegen.swizzle_hint %0[#iree_codegen.rotate_rows<64, 4>] : memref<4096xf32>
  %2 = memref.load %0[%c68] : memref<4096xf32>
  %3 = memref.load %1[%c68] : memref<4096xf32>
  return %2, %3 : f32, f32
}

// Undefined by the op's documentation; it is what stock makes of it.
// CHECK-LABEL: func.func @beside_the_hint
//       CHECK:   memref.store %arg0, %{{.+}}[%c68]
//       CHECK:   memref.load %{{.+}}[%c64]
// ONE: warning: swizzle hints of memref<4096xf32> dropped: memref.store uses the allocation beside its swizzle hint
func.func @beside_the_hint(%v: f32) -> f32 {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  memref.store %v, %alloc[%c68] : memref<4096xf32>
  // expected-warning @+1 {{memref.load reads memref<4096xf32> through xor_shuffle<64, 4, 64, 1>, and nothing writes it so: what it reads is undefined}}
  %1 = memref.load %0[%c68] : memref<4096xf32>
  return %1 : f32
}

// The part starts at row 1, which the swizzle of the whole treats unlike row 0.
// CHECK-LABEL: func.func @part_in_the_middle
//       CHECK:   memref.load %alloc[%c64]
//       CHECK:   memref.load %subview[%c64]
// ONE: warning: swizzle hints of memref<4096xf32> dropped: a swizzle hint is on a part of an allocation that may start elsewhere than at a multiple of the 1024 elements in which the swizzle repeats, and not all parts are frames of one size
func.func @part_in_the_middle() -> (f32, f32) {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = memref.load %0[%c68] : memref<4096xf32>
  %part = memref.subview %alloc[64] [1024] [1] : memref<4096xf32> to memref<1024xf32, strided<[1], offset: 64>>
  %2 = iree_codegen.swizzle_hint %part[#iree_codegen.xor_shuffle<64, 4>] : memref<1024xf32, strided<[1], offset: 64>>
  %3 = memref.load %2[%c68] : memref<1024xf32, strided<[1], offset: 64>>
  return %1, %3 : f32, f32
}

// The part starts at an odd element: what is aligned in the part is not aligned in the LDS.
// CHECK-LABEL: func.func @part_at_an_odd_element
//       CHECK:   memref.alloc() :
//       CHECK:   vector.load %{{.+}}[%c64] :
// ONE: warning: swizzle hints of memref<4096xf32> dropped: a swizzle hint is on a part
func.func @part_at_an_odd_element() -> vector<4xf32> {
  %alloc = memref.alloc() : memref<4096xf32, #gpu.address_space<workgroup>>
  %c68 = arith.constant 68 : index
  %part = memref.subview %alloc[1] [1024] [1] : memref<4096xf32, #gpu.address_space<workgroup>> to memref<1024xf32, strided<[1], offset: 1>, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %part[#iree_codegen.xor_shuffle<64, 4>] : memref<1024xf32, strided<[1], offset: 1>, #gpu.address_space<workgroup>>
  %1 = vector.load %0[%c68] : memref<1024xf32, strided<[1], offset: 1>, #gpu.address_space<workgroup>>, vector<4xf32>
  return %1 : vector<4xf32>
}

// Frames of one size are one layout.
// CHECK-LABEL: func.func @frames
//       CHECK:   memref.load %{{.+}}[%c64]
//       CHECK:   memref.load %{{.+}}[%c64]
// ONE-NOT: warning
func.func @frames(%i: index) -> (f32, f32) {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %start = affine.apply affine_map<()[s0] -> (s0 * 256)>()[%i]
  %first = memref.subview %alloc[0] [256] [1] : memref<4096xf32> to memref<256xf32, strided<[1]>>
  %0 = iree_codegen.swizzle_hint %first[#iree_codegen.xor_shuffle<64, 4>] : memref<256xf32, strided<[1]>>
  %1 = memref.load %0[%c68] : memref<256xf32, strided<[1]>>
  %part = memref.subview %alloc[%start] [256] [1] : memref<4096xf32> to memref<256xf32, strided<[1], offset: ?>>
  %2 = iree_codegen.swizzle_hint %part[#iree_codegen.xor_shuffle<64, 4>] : memref<256xf32, strided<[1], offset: ?>>
  %3 = memref.load %2[%c68] : memref<256xf32, strided<[1], offset: ?>>
  return %1, %3 : f32, f32
}

// Views that leave every element where it is may lie behind a hint.
// CHECK-LABEL: func.func @views_behind_the_hint
//       CHECK:   %[[M:.+]] = memref.assume_alignment
//       CHECK:   memref.load %[[M]][%c64]
func.func @views_behind_the_hint() -> (f32, f32) {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = memref.assume_alignment %0, 16 : memref<4096xf32>
  %2 = memref.load %1[%c68] : memref<4096xf32>
  %3 = memref.cast %1 : memref<4096xf32> to memref<?xf32>
  %4 = memref.load %3[%c68] : memref<?xf32>
  return %2, %4 : f32, f32
}
