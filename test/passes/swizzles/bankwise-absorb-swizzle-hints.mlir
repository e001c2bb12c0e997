// RUN: bankwise-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-absorb-swizzle-hints))' --mlir-print-local-scope | FileCheck %s

func.func @single() {
  %alloc0 = memref.alloc() : memref<8192xbf16, #gpu.address_space<workgroup>>
  %hint0 = iree_codegen.swizzle_hint %alloc0[#iree_codegen.xor_shuffle<128, 8>] : memref<8192xbf16, #gpu.address_space<workgroup>>
  %alloc1 = memref.alloc() alignment = 16 {kept} : memref<16384xbf16, #gpu.address_space<workgroup>>
  %hint1 = iree_codegen.swizzle_hint %alloc1[#iree_codegen.rotate_rows<256, 16>] : memref<16384xbf16, #gpu.address_space<workgroup>>
  "test.use"(%hint1) : (memref<16384xbf16, #gpu.address_space<workgroup>>) -> ()
  memref.dealloc %alloc0 : memref<8192xbf16, #gpu.address_space<workgroup>>
  memref.dealloc %alloc1 : memref<16384xbf16, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @single
//       CHECK:   memref.alloc() {iree_codegen.swizzle = #iree_codegen.xor_shuffle<128, 8>} : memref<8192xbf16, #gpu.address_space<workgroup>>
//       CHECK:   %[[A:.+]] = memref.alloc() alignment = 16 {iree_codegen.swizzle = #iree_codegen.rotate_rows<256, 16>, kept} : memref<16384xbf16, #gpu.address_space<workgroup>>
//   CHECK-NOT:   iree_codegen.swizzle_hint
//       CHECK:   "test.use"(%[[A]])

// Allocation outwards; a view between two hints and one behind them keep the elements' order.
func.func @chain(%v: vector<4xf16>, %i: index) {
  %alloc = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<8, 4, 64, 1>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %1 = memref.expand_shape %0 [[0, 1]] output_shape [32, 64] : memref<2048xf16, #gpu.address_space<workgroup>> into memref<32x64xf16, #gpu.address_space<workgroup>>
  %2 = memref.collapse_shape %1 [[0, 1]] : memref<32x64xf16, #gpu.address_space<workgroup>> into memref<2048xf16, #gpu.address_space<workgroup>>
  %3 = iree_codegen.swizzle_hint %2[#iree_codegen.xor_shuffle<16, 8, 128, 1>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %4 = memref.expand_shape %3 [[0, 1]] output_shape [32, 64] : memref<2048xf16, #gpu.address_space<workgroup>> into memref<32x64xf16, #gpu.address_space<workgroup>>
  vector.store %v, %4[%i, %i] : memref<32x64xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  return
}

// CHECK-LABEL: func.func @chain
//       CHECK:   %[[A:.+]] = memref.alloc() {iree_codegen.swizzle = [#iree_codegen.xor_shuffle<8, 4, 64, 1>, #iree_codegen.xor_shuffle<16, 8, 128, 1>]}
//  CHECK-NEXT:   %[[E0:.+]] = memref.expand_shape %[[A]]
//  CHECK-NEXT:   %[[C:.+]] = memref.collapse_shape %[[E0]]
//  CHECK-NEXT:   %[[E1:.+]] = memref.expand_shape %[[C]]
//  CHECK-NEXT:   vector.store %{{.+}}, %[[E1]]

// Two hints that say the same, one with its default spelled out, and an unused third that differs.
func.func @same_twice(%v: vector<4xf16>, %i: index) -> vector<4xf16> {
  %alloc = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %1 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4, 64, 1>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %2 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  vector.store %v, %0[%i] : memref<2048xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  %r = vector.load %1[%i] : memref<2048xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  return %r : vector<4xf16>
}

// CHECK-LABEL: func.func @same_twice
//       CHECK:   %[[A:.+]] = memref.alloc() {iree_codegen.swizzle = #iree_codegen.xor_shuffle<64, 4>}
//  CHECK-NEXT:   vector.store %{{.+}}, %[[A]]
//  CHECK-NEXT:   vector.load %[[A]]

// A hint that nothing uses beside an access without one says nothing.
func.func @only_unused(%i: index) -> f16 {
  %alloc = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %r = memref.load %alloc[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  return %r : f16
}

// CHECK-LABEL: func.func @only_unused
//       CHECK:   memref.alloc() : memref<2048xf16
//  CHECK-NEXT:   memref.load

// xor_shuffle<64, 4> repeats after 1024 elements, so two buffers of 512 would not be swizzled alike.
func.func @gather(%src: memref<4096xf16>, %i: index) {
  %long = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %long[#iree_codegen.xor_shuffle<64, 4>] : memref<1024xf16, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %src[%i], %0[%i] : vector<2xf16>, memref<4096xf16>, memref<1024xf16, #gpu.address_space<workgroup>>
  %short = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %1 = iree_codegen.swizzle_hint %short[#iree_codegen.xor_shuffle<64, 4>] : memref<512xf16, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %src[%i], %1[%i] : vector<2xf16>, memref<4096xf16>, memref<512xf16, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @gather
//       CHECK:   memref.alloc() {iree_codegen.swizzle = #iree_codegen.xor_shuffle<64, 4>} : memref<1024xf16
//       CHECK:   memref.alloc() {bankwise.permuted_elements = 512 : i64, iree_codegen.swizzle = #iree_codegen.xor_shuffle<64, 4>} : memref<512xf16

func.func @no_hint(%i: index) -> f16 {
  %alloc = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<2048xf16, #gpu.address_space<workgroup>>
  %r = memref.load %alloc[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  return %r : f16
}

// CHECK-LABEL: func.func @no_hint
//       CHECK:   memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>}
