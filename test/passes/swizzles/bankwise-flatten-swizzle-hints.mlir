// RUN: bankwise-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-flatten-swizzle-hints))' --mlir-print-local-scope | FileCheck %s
// RUN: bankwise-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-flatten-swizzle-hints,iree-codegen-fold-memref-alias-ops,cse,canonicalize))' --mlir-print-local-scope | FileCheck %s --check-prefix=FOLD

func.func @flat_alloc() {
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  "test.use"(%0) : (memref<2048xf32, #gpu.address_space<workgroup>>) -> ()
  return
}

// CHECK-LABEL: func.func @flat_alloc
//       CHECK:   %[[ALLOC:.+]] = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
//       CHECK:   %[[HINT:.+]] = iree_codegen.swizzle_hint %[[ALLOC]]
//  CHECK-NEXT:   "test.use"(%[[HINT]])

func.func @three_dimensions() {
  %alloc = memref.alloc() : memref<4x8x16xf32, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<4x8x16xf32, #gpu.address_space<workgroup>>
  "test.use"(%0) : (memref<4x8x16xf32, #gpu.address_space<workgroup>>) -> ()
  return
}

// CHECK-LABEL: func.func @three_dimensions
//  CHECK-NEXT:   %[[ALLOC:.+]] = memref.alloc() : memref<512xf32, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   %[[HINT:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.rotate_rows<64, 4>] : memref<512xf32, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   %[[TILE:.+]] = memref.expand_shape %[[HINT]] {{\[\[}}0, 1, 2]] output_shape [4, 8, 16] : memref<512xf32, #gpu.address_space<workgroup>> into memref<4x8x16xf32, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   "test.use"(%[[TILE]])
//  CHECK-NEXT:   return

func.func @attributes_and_dealloc() {
  %alloc = memref.alloc() alignment = 64 {some.attribute = "kept"} : memref<16x128xi8, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<128, 16>] : memref<16x128xi8, #gpu.address_space<workgroup>>
  "test.use"(%0) : (memref<16x128xi8, #gpu.address_space<workgroup>>) -> ()
  memref.dealloc %alloc : memref<16x128xi8, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @attributes_and_dealloc
//  CHECK-NEXT:   %[[ALLOC:.+]] = memref.alloc() alignment = 64 {some.attribute = "kept"} : memref<2048xi8, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   %[[HINT:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.xor_shuffle<128, 16>]
//  CHECK-NEXT:   %[[TILE:.+]] = memref.expand_shape %[[HINT]]
//  CHECK-NEXT:   "test.use"(%[[TILE]])
//  CHECK-NEXT:   memref.dealloc %[[ALLOC]] : memref<2048xi8, #gpu.address_space<workgroup>>

// A hint of a hint of a hint; the middle one is used as well.
func.func @chain(%v: vector<4xf16>, %i: index, %j: index) -> vector<4xf16> {
  %cst = arith.constant 0.0 : f16
  %alloc = memref.alloc() : memref<32x64xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<8, 4, 64, 1>] : memref<32x64xf16, #gpu.address_space<workgroup>>
  %1 = iree_codegen.swizzle_hint %0[#iree_codegen.xor_shuffle<16, 8, 128, 1>] : memref<32x64xf16, #gpu.address_space<workgroup>>
  %2 = iree_codegen.swizzle_hint %1[#iree_codegen.xor_shuffle<32, 16, 256, 1>] : memref<32x64xf16, #gpu.address_space<workgroup>>
  vector.store %v, %1[%i, %j] : memref<32x64xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  %r = vector.transfer_read %2[%i, %j], %cst {in_bounds = [true]} : memref<32x64xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  return %r : vector<4xf16>
}

// CHECK-LABEL: func.func @chain
//       CHECK:   %[[ALLOC:.+]] = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   %[[H0:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.xor_shuffle<8, 4, 64, 1>]
//  CHECK-NEXT:   %[[H1:.+]] = iree_codegen.swizzle_hint %[[H0]][#iree_codegen.xor_shuffle<16, 8, 128, 1>]
//  CHECK-NEXT:   %[[TILE1:.+]] = memref.expand_shape %[[H1]]
//  CHECK-NEXT:   %[[H2:.+]] = iree_codegen.swizzle_hint %[[H1]][#iree_codegen.xor_shuffle<32, 16, 256, 1>]
//  CHECK-NEXT:   %[[TILE2:.+]] = memref.expand_shape %[[H2]]
//       CHECK:   vector.store %{{.+}}, %[[TILE1]]
//       CHECK:   vector.transfer_read %[[TILE2]]

// FOLD-LABEL: func.func @chain
//       FOLD:   %[[H1:.+]] = iree_codegen.swizzle_hint %{{.+}}[#iree_codegen.xor_shuffle<16, 8, 128, 1>]
//       FOLD:   %[[H2:.+]] = iree_codegen.swizzle_hint %[[H1]][#iree_codegen.xor_shuffle<32, 16, 256, 1>]
//       FOLD:   vector.store %{{.+}}, %[[H1]][%{{[^,]+}}] : memref<2048xf16
//       FOLD:   vector.transfer_read %[[H2]][%{{[^,]+}}], %{{.+}} : memref<2048xf16

// Two hints of one allocation, a subview of it beside them, and a hint inside a loop.
func.func @many_users(%i: index, %n: index) -> (vector<4xf16>, vector<4xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<4xf16>
  %alloc = memref.alloc() : memref<32x64xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<32x64xf16, #gpu.address_space<workgroup>>
  %sub = memref.subview %alloc[%i, 0] [1, 64] [1, 1] : memref<32x64xf16, #gpu.address_space<workgroup>> to memref<1x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %a = vector.transfer_read %sub[%c0, %i], %cst {in_bounds = [true]} : memref<1x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>, vector<4xf16>
  %b = vector.transfer_read %0[%i, %c0], %cst {in_bounds = [true]} : memref<32x64xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  scf.for %k = %c0 to %n step %c1 {
    %1 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<32x64xf16, #gpu.address_space<workgroup>>
    vector.store %zero, %1[%k, %c0] : memref<32x64xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  }
  memref.dealloc %alloc : memref<32x64xf16, #gpu.address_space<workgroup>>
  return %a, %b : vector<4xf16>, vector<4xf16>
}

// CHECK-LABEL: func.func @many_users
//       CHECK:   %[[ALLOC:.+]] = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   %[[PLAIN:.+]] = memref.expand_shape %[[ALLOC]]
//  CHECK-NEXT:   %[[H0:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.xor_shuffle<64, 4>]
//  CHECK-NEXT:   %[[TILE0:.+]] = memref.expand_shape %[[H0]]
//  CHECK-NEXT:   memref.subview %[[PLAIN]]
//       CHECK:   vector.transfer_read %[[TILE0]]
//       CHECK:   scf.for
//  CHECK-NEXT:     %[[H1:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.rotate_rows<64, 4>]
//  CHECK-NEXT:     %[[TILE1:.+]] = memref.expand_shape %[[H1]]
//  CHECK-NEXT:     vector.store %{{.+}}, %[[TILE1]]
//       CHECK:   memref.dealloc %[[ALLOC]] : memref<2048xf16

// FOLD-LABEL: func.func @many_users
//       FOLD:   %[[ALLOC:.+]] = memref.alloc() : memref<2048xf16
//   FOLD-NOT:   expand_shape
//   FOLD-NOT:   subview
//   FOLD-DAG:   vector.transfer_read %[[ALLOC]][%{{[^,]+}}], %{{.+}} : memref<2048xf16
//   FOLD-DAG:   vector.transfer_read %{{.+}}[%{{[^,]+}}], %{{.+}} : memref<2048xf16
//       FOLD:   vector.store %{{.+}}, %{{.+}}[%{{[^,]+}}] : memref<2048xf16

// Nothing uses the allocation but hints that nothing uses.
func.func @unused_hint() {
  %alloc = memref.alloc() : memref<2x64xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<2x64xf16, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @unused_hint
//  CHECK-NEXT:   %[[ALLOC:.+]] = memref.alloc() : memref<128xf16, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   iree_codegen.swizzle_hint %[[ALLOC]]
//  CHECK-NEXT:   return

func.func @no_hint(%i: index) -> f16 {
  %alloc = memref.alloc() : memref<2x64xf16, #gpu.address_space<workgroup>>
  %0 = memref.load %alloc[%i, %i] : memref<2x64xf16, #gpu.address_space<workgroup>>
  return %0 : f16
}

// CHECK-LABEL: func.func @no_hint
//       CHECK:   memref.alloc() : memref<2x64xf16

func.func @tensor() -> tensor<32x64xf32> {
  %0 = "bufferization.alloc_tensor"() <{memory_space = #gpu.address_space<workgroup>, operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> tensor<32x64xf32>
  %1 = iree_codegen.swizzle_hint %0[#iree_codegen.rotate_rows<64, 4>] : tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}

// CHECK-LABEL: func.func @tensor
//       CHECK:   %[[T:.+]] = bufferization.alloc_tensor() {{.*}} : tensor<32x64xf32>
//       CHECK:   %[[H:.+]] = iree_codegen.swizzle_hint %[[T]]
//       CHECK:   return %[[H]]
