// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints,canonicalize,cse))' --mlir-print-local-scope --verify-diagnostics | FileCheck %s

// Lengths and offsets that are not static.

// CHECK-LABEL: func.func @length_known_before_a_cast
//       CHECK:   memref.load %{{.+}}[%c64]
func.func @length_known_before_a_cast() -> f32 {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %cast = memref.cast %alloc : memref<4096xf32> to memref<?xf32>
  %0 = iree_codegen.swizzle_hint %cast[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32>
  %1 = memref.load %0[%c68] : memref<?xf32>
  return %1 : f32
}

// Whole rows, however many.
// CHECK-LABEL: func.func @whole_rows
//       CHECK:   memref.load %{{.+}}[%c64]
func.func @whole_rows(%n: index) -> f32 {
  %rows = affine.apply affine_map<()[s0] -> (s0 * 64)>()[%n]
  %alloc = memref.alloc(%rows) : memref<?xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32>
  %1 = memref.load %0[%c68] : memref<?xf32>
  return %1 : f32
}

// The part may end inside a row, but that row is in the allocation, and nothing else is done to it.
// CHECK-LABEL: func.func @part_of_whole_rows
//       CHECK:   memref.load %{{.+}}[%c64]
func.func @part_of_whole_rows(%n: index) -> f32 {
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %part = memref.subview %alloc[1024] [%n] [1] : memref<4096xf32> to memref<?xf32, strided<[1], offset: 1024>>
  %0 = iree_codegen.swizzle_hint %part[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32, strided<[1], offset: 1024>>
  %1 = memref.load %0[%c68] : memref<?xf32, strided<[1], offset: 1024>>
  return %1 : f32
}

// Nothing is known of the length, which is asked at run time. Rows that do not fill the buffer leave it
// plain: element 66 of 70 elements would lie at 70.
// CHECK-LABEL: func.func @argument
//  CHECK-SAME:   (%[[M:.+]]: memref<?xf32>, %[[I:.+]]: index, %{{.+}}: vector<4xf32>)
//   CHECK-DAG:   %[[DIM:.+]] = memref.dim %[[M]], %c0
//   CHECK-DAG:   %[[REST:.+]] = arith.andi %[[DIM]], %c63
//   CHECK-DAG:   %[[WHOLE:.+]] = arith.cmpi eq, %[[REST]], %c0
//   CHECK-DAG:   %[[O:.+]] = affine.apply {{.+}}()[%[[I]]]
//   CHECK-DAG:   %[[S:.+]] = arith.xori %[[O]]
//   CHECK-DAG:   %[[AT:.+]] = arith.select %[[WHOLE]], %[[S]], %[[O]]
//       CHECK:   vector.store %{{.+}}, %[[M]][%[[AT]]]
//       CHECK:   vector.load %{{.+}}[%[[AT]]] {{.*}}vector<4xf32>
//       CHECK:   vector.load %{{.+}}[%{{.+}}] {{.*}}vector<4xf32>
func.func @argument(%m: memref<?xf32>, %i: index, %v: vector<4xf32>) -> vector<8xf32> {
  %o = affine.apply affine_map<()[s0] -> (s0 * 8)>()[%i]
  %0 = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32>
  %cast = memref.assume_alignment %m, 16 : memref<?xf32>
  %1 = iree_codegen.swizzle_hint %cast[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32>
  vector.store %v, %0[%o] : memref<?xf32>, vector<4xf32>
  %w = vector.load %1[%o] : memref<?xf32>, vector<8xf32>
  return %w : vector<8xf32>
}

// CHECK-LABEL: func.func @allocation
//  CHECK-SAME:   (%[[N:.+]]: index)
//       CHECK:   arith.andi %[[N]], %c63
//       CHECK:   %[[AT:.+]] = arith.select %{{.+}}, %c64, %c68
//       CHECK:   memref.load %{{.+}}[%[[AT]]]
func.func @allocation(%n: index) -> f32 {
  %alloc = memref.alloc(%n) : memref<?xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32>
  %1 = memref.load %0[%c68] : memref<?xf32>
  return %1 : f32
}

// Two buffers may have two lengths, of which one may be whole rows and the other not.
// CHECK-LABEL: func.func @two_buffers
//   CHECK-NOT:   memref.dim
func.func @two_buffers(%a: memref<?xf32>, %b: memref<?xf32>, %p: i1, %i: index) -> (f32, f32) {
  // expected-warning @-1 {{dynamic size: it is not known that rows of 64 elements fill the buffer}}
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32>
  %1 = iree_codegen.swizzle_hint %b[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32>
  %s = arith.select %p, %0, %1 : memref<?xf32>
  %2 = memref.load %s[%i] : memref<?xf32>
  %3 = memref.load %0[%i] : memref<?xf32>
  return %2, %3 : f32, f32
}

// What lies behind the part is used as well, and could lie in a row with its end.
// CHECK-LABEL: func.func @part_beside_others
//       CHECK:   memref.load %{{.+}}[%c68]
func.func @part_beside_others(%n: index, %v: f32) -> f32 {
  // expected-warning @+1 {{dynamic size: it is not known that rows of 64 elements fill the buffer}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  memref.store %v, %alloc[%n] : memref<4096xf32>
  %part = memref.subview %alloc[0] [%n] [1] : memref<4096xf32> to memref<?xf32, strided<[1]>>
  %0 = iree_codegen.swizzle_hint %part[#iree_codegen.xor_shuffle<64, 4>] : memref<?xf32, strided<[1]>>
  memref.store %v, %0[%c68] : memref<?xf32, strided<[1]>>
  %1 = memref.load %0[%c68] : memref<?xf32, strided<[1]>>
  return %1 : f32
}

// Where the offset begins in a group is asked at run time.
// CHECK-LABEL: func.func @unknown_offset
//  CHECK-SAME:   (%[[O:.+]]: index, %{{.+}}: vector<4xf16>)
//       CHECK:   %[[IN:.+]] = arith.andi %[[O]], %c3
//       CHECK:   %[[IS:.+]] = arith.cmpi eq, %[[IN]], %c0
//       CHECK:   %[[V:.+]] = scf.if %[[IS]] -> (vector<4xf16>) {
//       CHECK:     vector.load %{{.+}}[%{{.+}}] alignment = 8 {{.*}}vector<4xf16>
//       CHECK:   } else {
//  CHECK-COUNT-4:   vector.load %{{.+}}[%{{.+}}] : {{.*}}vector<1xf16>
//       CHECK:   }
//       CHECK:   scf.if %[[IS]] {
//       CHECK:     vector.store %{{.+}}, %{{.+}}[%{{.+}}] alignment = 8 {{.*}}vector<4xf16>
//       CHECK:   } else {
//  CHECK-COUNT-4:   vector.store %{{.+}}[%{{.+}}] : {{.*}}vector<1xf16>
//       CHECK:   return %[[V]]
func.func @unknown_offset(%o: index, %v: vector<4xf16>) -> vector<4xf16> {
  %alloc = memref.alloc() : memref<4096xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf16, #gpu.address_space<workgroup>>
  %1 = vector.load %0[%o] : memref<4096xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  gpu.barrier
  vector.store %v, %0[%o] : memref<4096xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  return %1 : vector<4xf16>
}

// There is no access to half a byte.
func.func @unknown_offset_of_nibbles(%o: index) -> vector<8xi4> {
  // expected-warning @+1 {{its offset is not known, and its elements are no whole bytes, to be accessed one by one}}
  %alloc = memref.alloc() : memref<4096xi4>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 8>] : memref<4096xi4>
  %1 = vector.load %0[%o] : memref<4096xi4>, vector<8xi4>
  return %1 : vector<8xi4>
}
