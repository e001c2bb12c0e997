// RUN: bankwise-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-reinsert-swizzle-hints))' --mlir-print-local-scope | FileCheck %s

func.func @flat(%i: index) -> vector<8xbf16> {
  %alloc = memref.alloc() alignment = 16 {iree_codegen.swizzle = #iree_codegen.xor_shuffle<128, 8>, kept} : memref<1024xbf16, #gpu.address_space<workgroup>>
  %v = vector.load %alloc[%i] : memref<1024xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
  vector.store %v, %alloc[%i] : memref<1024xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
  memref.dealloc %alloc : memref<1024xbf16, #gpu.address_space<workgroup>>
  return %v : vector<8xbf16>
}

// CHECK-LABEL: func.func @flat
//  CHECK-NEXT:   %[[ALLOC:.+]] = memref.alloc() alignment = 16 {kept} : memref<1024xbf16, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   %[[HINT:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.xor_shuffle<128, 8>]
//  CHECK-NEXT:   vector.load %[[HINT]]
//  CHECK-NEXT:   vector.store %{{.+}}, %[[HINT]]
//  CHECK-NEXT:   memref.dealloc %[[ALLOC]]

// Every kind of access, through a chain: the first swizzle is next to the allocation.
func.func @accesses(%src: memref<8x128xf16>, %i: index, %m: vector<8xi1>, %p: vector<8xf16>) -> (vector<8xf16>, f16, vector<8xf16>) {
  %cst = arith.constant 0.0 : f16
  %alloc = memref.alloc() {iree_codegen.swizzle = [#iree_codegen.xor_shuffle<8, 4, 64, 1>, #iree_codegen.xor_shuffle<16, 8, 128, 1>]} : memref<8x128xf16, #gpu.address_space<workgroup>>
  %0 = vector.transfer_read %alloc[%i, %i], %cst {in_bounds = [true]} : memref<8x128xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  vector.transfer_write %0, %alloc[%i, %i] {in_bounds = [true]} : vector<8xf16>, memref<8x128xf16, #gpu.address_space<workgroup>>
  %1 = memref.load %alloc[%i, %i] : memref<8x128xf16, #gpu.address_space<workgroup>>
  memref.store %1, %alloc[%i, %i] : memref<8x128xf16, #gpu.address_space<workgroup>>
  %2 = vector.maskedload %alloc[%i, %i], %m, %p : memref<8x128xf16, #gpu.address_space<workgroup>>, vector<8xi1>, vector<8xf16> into vector<8xf16>
  vector.maskedstore %alloc[%i, %i], %m, %p : memref<8x128xf16, #gpu.address_space<workgroup>>, vector<8xi1>, vector<8xf16>
  amdgpu.gather_to_lds %src[%i, %i], %alloc[%i, %i] : vector<8xf16>, memref<8x128xf16>, memref<8x128xf16, #gpu.address_space<workgroup>>
  "test.use"(%alloc) : (memref<8x128xf16, #gpu.address_space<workgroup>>) -> ()
  return %0, %1, %2 : vector<8xf16>, f16, vector<8xf16>
}

// CHECK-LABEL: func.func @accesses
//       CHECK:   %[[ALLOC:.+]] = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
//  CHECK-NEXT:   %[[H0:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.xor_shuffle<8, 4, 64, 1>]
//  CHECK-NEXT:   %[[H1:.+]] = iree_codegen.swizzle_hint %[[H0]][#iree_codegen.xor_shuffle<16, 8, 128, 1>]
//  CHECK-NEXT:   %[[TILE:.+]] = memref.expand_shape %[[H1]] {{\[\[}}0, 1]] output_shape [8, 128]
//  CHECK-NEXT:   vector.transfer_read %[[TILE]]
//  CHECK-NEXT:   vector.transfer_write %{{.+}}, %[[TILE]]
//  CHECK-NEXT:   memref.load %[[TILE]]
//  CHECK-NEXT:   memref.store %{{.+}}, %[[TILE]]
//  CHECK-NEXT:   vector.maskedload %[[TILE]]
//  CHECK-NEXT:   vector.maskedstore %[[TILE]]
//  CHECK-NEXT:   amdgpu.gather_to_lds %{{.+}}, %[[TILE]][
//  CHECK-NEXT:   "test.use"(%[[TILE]])

// A view comes after the hint: its row 0 is row 1 of the allocation and is swizzled as that.
func.func @view(%i: index) -> vector<8xbf16> {
  %alloc = memref.alloc() {iree_codegen.swizzle = #iree_codegen.xor_shuffle<128, 8>} : memref<8x128xbf16, #gpu.address_space<workgroup>>
  %sub = memref.subview %alloc[1, 64] [4, 64] [1, 1] : memref<8x128xbf16, #gpu.address_space<workgroup>> to memref<4x64xbf16, strided<[128, 1], offset: 192>, #gpu.address_space<workgroup>>
  %v = vector.load %sub[%i, %i] : memref<4x64xbf16, strided<[128, 1], offset: 192>, #gpu.address_space<workgroup>>, vector<8xbf16>
  return %v : vector<8xbf16>
}

// CHECK-LABEL: func.func @view
//       CHECK:   %[[HINT:.+]] = iree_codegen.swizzle_hint %{{.+}} : memref<1024xbf16
//  CHECK-NEXT:   %[[TILE:.+]] = memref.expand_shape %[[HINT]]
//  CHECK-NEXT:   %[[SUB:.+]] = memref.subview %[[TILE]]
//  CHECK-NEXT:   vector.load %[[SUB]]

func.func @no_attribute(%i: index) -> vector<8xbf16> {
  %alloc = memref.alloc() : memref<8x128xbf16, #gpu.address_space<workgroup>>
  %v = vector.load %alloc[%i, %i] : memref<8x128xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
  return %v : vector<8xbf16>
}

// CHECK-LABEL: func.func @no_attribute
//  CHECK-NEXT:   %[[ALLOC:.+]] = memref.alloc() : memref<8x128xbf16
//  CHECK-NEXT:   vector.load %[[ALLOC]]

func.func @no_access() {
  %alloc = memref.alloc() {iree_codegen.swizzle = #iree_codegen.xor_shuffle<128, 8>} : memref<8x128xbf16, #gpu.address_space<workgroup>>
  memref.dealloc %alloc : memref<8x128xbf16, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @no_access
//  CHECK-NEXT:   %[[ALLOC:.+]] = memref.alloc() : memref<8x128xbf16
//  CHECK-NEXT:   memref.dealloc %[[ALLOC]]

func.func @dynamic_flat(%n: index) -> bf16 {
  %alloc = memref.alloc(%n) {iree_codegen.swizzle = #iree_codegen.xor_shuffle<128, 8>} : memref<?xbf16, #gpu.address_space<workgroup>>
  %v = memref.load %alloc[%n] : memref<?xbf16, #gpu.address_space<workgroup>>
  return %v : bf16
}

// CHECK-LABEL: func.func @dynamic_flat
//       CHECK:   %[[ALLOC:.+]] = memref.alloc(%{{.+}}) : memref<?xbf16
//  CHECK-NEXT:   %[[HINT:.+]] = iree_codegen.swizzle_hint %[[ALLOC]]
//  CHECK-NEXT:   memref.load %[[HINT]]

// Flat allocations that only change places in a loop: the hints stay outside.
func.func @flat_loop(%n: index, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.xor_shuffle<64, 4>} : memref<1024xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc() {iree_codegen.swizzle = #iree_codegen.xor_shuffle<64, 4, 64, 1>} : memref<1024xf16, #gpu.address_space<workgroup>>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (memref<1024xf16, #gpu.address_space<workgroup>>, memref<1024xf16, #gpu.address_space<workgroup>>) {
    %v = memref.load %x[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
    scf.yield %y, %x : memref<1024xf16, #gpu.address_space<workgroup>>, memref<1024xf16, #gpu.address_space<workgroup>>
  }
  return
}

// CHECK-LABEL: func.func @flat_loop
//       CHECK:   %[[A:.+]] = memref.alloc() :
//  CHECK-NEXT:   %[[HA:.+]] = iree_codegen.swizzle_hint %[[A]][#iree_codegen.xor_shuffle<64, 4>]
//  CHECK-NEXT:   %[[B:.+]] = memref.alloc() :
//  CHECK-NEXT:   %[[HB:.+]] = iree_codegen.swizzle_hint %[[B]][#iree_codegen.xor_shuffle<64, 4, 64, 1>]
//  CHECK-NEXT:   scf.for {{.*}} iter_args(%[[X:.+]] = %[[HA]], %{{.+}} = %[[HB]])
//  CHECK-NEXT:     memref.load %[[X]]

// Two tiles of one multi-buffered allocation: each memref that is accessed gets its hints, once.
func.func @frames(%n: index, %i: index) -> vector<4xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant dense<0.0> : vector<4xf16>
  %alloc = memref.alloc() {iree_codegen.swizzle = [#iree_codegen.xor_shuffle<64, 4>, #iree_codegen.rotate_rows<64, 8>]} : memref<2x512xf16, #gpu.address_space<workgroup>>
  %s = memref.subview %alloc[0, 0] [1, 512] [1, 1] : memref<2x512xf16, #gpu.address_space<workgroup>> to memref<512xf16, strided<[1], offset: 0>, #gpu.address_space<workgroup>>
  %e = memref.expand_shape %s [[0, 1]] output_shape [8, 64] : memref<512xf16, strided<[1], offset: 0>, #gpu.address_space<workgroup>> into memref<8x64xf16, #gpu.address_space<workgroup>>
  %first = memref.cast %e : memref<8x64xf16, #gpu.address_space<workgroup>> to memref<8x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %first) -> (memref<8x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>) {
    %which = affine.apply affine_map<(d0) -> ((d0 + 1) mod 2)>(%k)
    %s2 = memref.subview %alloc[%which, 0] [1, 512] [1, 1] : memref<2x512xf16, #gpu.address_space<workgroup>> to memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %e2 = memref.expand_shape %s2 [[0, 1]] output_shape [8, 64] : memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>> into memref<8x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
    vector.store %cst, %s2[%i] : memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, vector<4xf16>
    %v = vector.load %x[%i, %c0] : memref<8x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>, vector<4xf16>
    %w = vector.load %x[%c0, %i] : memref<8x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>, vector<4xf16>
    scf.yield %e2 : memref<8x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  }
  %v = vector.load %r[%i, %c0] : memref<8x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>, vector<4xf16>
  return %v : vector<4xf16>
}

// CHECK-LABEL: func.func @frames
//       CHECK:   %[[ALLOC:.+]] = memref.alloc() : memref<2x512xf16
//       CHECK:   scf.for {{.*}} iter_args(%[[X:.+]] = %{{.+}})
//  CHECK-NEXT:     %[[C:.+]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1]] : {{.+}} into memref<512xf16, strided<[1], offset: ?>
//  CHECK-NEXT:     %[[H0:.+]] = iree_codegen.swizzle_hint %[[C]][#iree_codegen.xor_shuffle<64, 4>]
//  CHECK-NEXT:     %[[H1:.+]] = iree_codegen.swizzle_hint %[[H0]][#iree_codegen.rotate_rows<64, 8>]
//  CHECK-NEXT:     %[[E:.+]] = memref.expand_shape %[[H1]] {{\[\[}}0, 1]] output_shape [8, 64]
//       CHECK:     %[[S2:.+]] = memref.subview %[[ALLOC]]
//  CHECK-NEXT:     %[[S0:.+]] = iree_codegen.swizzle_hint %[[S2]][#iree_codegen.xor_shuffle<64, 4>]
//  CHECK-NEXT:     %[[S1:.+]] = iree_codegen.swizzle_hint %[[S0]][#iree_codegen.rotate_rows<64, 8>]
//  CHECK-NEXT:     memref.expand_shape %[[S2]]
//  CHECK-NEXT:     vector.store %{{.+}}, %[[S1]]
//  CHECK-NEXT:     vector.load %[[E]]
//  CHECK-NEXT:     vector.load %[[E]]
//  CHECK-NEXT:     scf.yield
//       CHECK:   iree_codegen.swizzle_hint
//       CHECK:   %[[LAST:.+]] = memref.expand_shape
//  CHECK-NEXT:   vector.load %[[LAST]]

// %b meets %a as a whole and %c as a view. All three are one group: a hint per access, none twice.
func.func @mixed_group(%p: i1, %i: index) -> (f16, f16) {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<1024xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<1024xf16, #gpu.address_space<workgroup>>
  %c = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<16x64xf16, #gpu.address_space<workgroup>>
  %flat = memref.collapse_shape %c [[0, 1]] : memref<16x64xf16, #gpu.address_space<workgroup>> into memref<1024xf16, #gpu.address_space<workgroup>>
  %ab = arith.select %p, %a, %b : memref<1024xf16, #gpu.address_space<workgroup>>
  %bc = arith.select %p, %b, %flat : memref<1024xf16, #gpu.address_space<workgroup>>
  %x = memref.load %ab[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
  %y = memref.load %bc[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
  return %x, %y : f16, f16
}

// CHECK-LABEL: func.func @mixed_group
//       CHECK:   %[[A:.+]] = memref.alloc() : memref<1024xf16
//  CHECK-NEXT:   %[[B:.+]] = memref.alloc() : memref<1024xf16
//  CHECK-NEXT:   %[[C:.+]] = memref.alloc() : memref<16x64xf16
//  CHECK-NEXT:   %[[FLAT:.+]] = memref.collapse_shape %[[C]]
//  CHECK-NEXT:   %[[AB:.+]] = arith.select %{{.+}}, %[[A]], %[[B]]
//  CHECK-NEXT:   %[[HAB:.+]] = iree_codegen.swizzle_hint %[[AB]]
//  CHECK-NEXT:   %[[BC:.+]] = arith.select %{{.+}}, %[[B]], %[[FLAT]]
//  CHECK-NEXT:   %[[HBC:.+]] = iree_codegen.swizzle_hint %[[BC]]
//  CHECK-NEXT:   memref.load %[[HAB]]
//  CHECK-NEXT:   memref.load %[[HBC]]

// Multi-buffered after gather_to_lds wrote 512 elements in swizzled order; each frame still has 512.
func.func @permuted_frames(%p: i1, %i: index, %j: index) -> f16 {
  %alloc = memref.alloc() {bankwise.permuted_elements = 512 : i64, iree_codegen.swizzle = #iree_codegen.xor_shuffle<64, 4>} : memref<2x512xf16, #gpu.address_space<workgroup>>
  %s0 = memref.subview %alloc[%i, 0] [1, 512] [1, 1] : memref<2x512xf16, #gpu.address_space<workgroup>> to memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %s1 = memref.subview %alloc[%j, 0] [1, 512] [1, 1] : memref<2x512xf16, #gpu.address_space<workgroup>> to memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s1 : memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %v = memref.load %s[%i] : memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  return %v : f16
}

// CHECK-LABEL: func.func @permuted_frames
//       CHECK:   memref.alloc() : memref<2x512xf16
//       CHECK:   %[[S:.+]] = arith.select
//  CHECK-NEXT:   %[[H:.+]] = iree_codegen.swizzle_hint %[[S]]
//  CHECK-NEXT:   memref.load %[[H]]

// The stride of a dimension of size 1 is of no account to an access.
func.func @unit_dimensions(%p: i1, %i: index) -> vector<4xf16> {
  %alloc = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<4x2x64xf16, #gpu.address_space<workgroup>>
  %s0 = memref.subview %alloc[%i, %i, 0] [1, 1, 64] [1, 1, 1] : memref<4x2x64xf16, #gpu.address_space<workgroup>> to memref<1x1x64xf16, strided<[128, 64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s0 : memref<1x1x64xf16, strided<[128, 64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %v = vector.load %s[%i, %i, %i] : memref<1x1x64xf16, strided<[128, 64, 1], offset: ?>, #gpu.address_space<workgroup>>, vector<4xf16>
  return %v : vector<4xf16>
}

// CHECK-LABEL: func.func @unit_dimensions
//       CHECK:   %[[S:.+]] = arith.select
//  CHECK-NEXT:   %[[C:.+]] = memref.collapse_shape %[[S]] {{\[\[}}0, 1, 2]]
//  CHECK-NEXT:   %[[H:.+]] = iree_codegen.swizzle_hint %[[C]]
//  CHECK-NEXT:   %[[E:.+]] = memref.expand_shape %[[H]] {{\[\[}}0, 1, 2]] output_shape [1, 1, 64]
//  CHECK-NEXT:   vector.load %[[E]]

// Parts of unequal size that start at multiples of the 1024 elements in which the swizzle repeats.
func.func @parts_at_periods(%p: i1, %i: index) -> (f16, f16) {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<48x64xf16, #gpu.address_space<workgroup>>
  %s0 = memref.subview %a[16, 0] [4, 64] [1, 1] : memref<48x64xf16, #gpu.address_space<workgroup>> to memref<4x64xf16, strided<[64, 1], offset: 1024>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s0 : memref<4x64xf16, strided<[64, 1], offset: 1024>, #gpu.address_space<workgroup>>
  %v = memref.load %a[%i, %i] : memref<48x64xf16, #gpu.address_space<workgroup>>
  %w = memref.load %s[%i, %i] : memref<4x64xf16, strided<[64, 1], offset: 1024>, #gpu.address_space<workgroup>>
  return %v, %w : f16, f16
}

// CHECK-LABEL: func.func @parts_at_periods
//       CHECK:   memref.alloc() : memref<48x64xf16
//       CHECK:   swizzle_hint %{{.+}}[#iree_codegen.rotate_rows<64, 4>] : memref<3072xf16
//       CHECK:   swizzle_hint %{{.+}}[#iree_codegen.rotate_rows<64, 4>] : memref<256xf16, strided<[1], offset: 1024>
