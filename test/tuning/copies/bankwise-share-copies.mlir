// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-share-copies,canonicalize))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// 16 rows of 24 elements are 48 copies of 16 bytes, of which each of 32 lanes makes one, and 16 lanes make another.
// Rows of the tile are rows of the buffer, so that copy c is element 8 c behind the tile's first one.

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>

// CHECK-LABEL: func.func @whole_rows
// CHECK-SAME:    %[[ROW:.+]]: index
//   CHECK-DAG:   %[[FLAT:.+]] = hal.interface.binding.subspan {{.*}} : memref<1536xf16>
//   CHECK-DAG:   %[[TILE:.+]] = memref.alloc()
//       CHECK:   %[[T:.+]] = gpu.thread_id x
//       CHECK:   affine.apply affine_map<()[s0] -> (s0 floordiv 3)>()[%[[T]]]
//       CHECK:   affine.apply affine_map<()[s0] -> (s0 * 8 - (s0 floordiv 3) * 24)>()[%[[T]]]
//       CHECK:   %[[BEGIN:.+]] = affine.linearize_index [%[[ROW]], %{{.+}}] by (64, 24)
//       CHECK:   %[[FIRST:.+]] = affine.apply affine_map<()[s0, s1] -> (s0 + s1 * 8)>()[%[[BEGIN]], %[[T]]]
//       CHECK:   vector.load %[[FLAT]][%[[FIRST]]] alignment = 16 : memref<1536xf16>, vector<8xf16>
//       CHECK:   %[[HERE:.+]] = arith.minui %[[T]], %c15
//       CHECK:   affine.apply affine_map<()[s0] -> ((s0 + 32) floordiv 3)>()[%[[HERE]]]
//       CHECK:   %[[NEXT:.+]] = affine.apply affine_map<()[s0, s1] -> (s0 + s1 * 8 + 256)>()[%{{.+}}, %[[HERE]]]
//       CHECK:   vector.load %[[FLAT]][%[[NEXT]]]
//       CHECK:   vector.transfer_write %{{.+}}, %[[TILE]][%{{.+}}, %{{.+}}] {{.*}}vector<1x8xf16>
//       CHECK:   %[[SOME:.+]] = arith.cmpi ult, %[[T]], %c16
//       CHECK:   scf.if %[[SOME]] {
//  CHECK-NEXT:     vector.transfer_write %{{.+}}, %[[TILE]][%{{.+}}, %{{.+}}] {{.*}}vector<1x8xf16>
//  CHECK-NEXT:   }
//   CHECK-NOT:   vector.transfer_write
func.func @whole_rows(%first: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = ub.poison : f16
  // expected-remark @+1 {{3 copies of a lane to memref<16x24xf16, #gpu.address_space<workgroup>> become 2}}
  %m = memref.alloc() : memref<16x24xf16, #gpu.address_space<workgroup>>
  %s = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<64x24xf16>
  %g = memref.assume_alignment %s, 64 : memref<64x24xf16>
  %t = gpu.thread_id x
  %l:2 = affine.delinearize_index %t into (16, 2) : index, index
  %r = affine.linearize_index [%l#0, %first] by (16, 1) : index
  %w = affine.linearize_index disjoint [%l#0, %c0] by (16, 1) : index
  %x0 = affine.linearize_index disjoint [%c0, %l#1, %c0] by (3, 2, 4) : index
  %x1 = affine.linearize_index disjoint [%c1, %l#1, %c0] by (3, 2, 4) : index
  %x2 = affine.linearize_index disjoint [%c2, %l#1, %c0] by (3, 2, 4) : index
  %v0 = vector.transfer_read %g[%r, %x0], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  %v1 = vector.transfer_read %g[%r, %x1], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  %v2 = vector.transfer_read %g[%r, %x2], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  vector.transfer_write %v0, %m[%w, %x0] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x24xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v1, %m[%w, %x1] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x24xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v2, %m[%w, %x2] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x24xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// Rows of 20 elements in memory are 8 bytes apart from multiples of 16, and an enlarged buffer has 24: 96 copies of 8
// bytes, each by its row and its column.

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>

// CHECK-LABEL: func.func @enlarged_rows
// CHECK-SAME:    %[[ROW:.+]]: index
//       CHECK:   %[[G:.+]] = hal.interface.binding.subspan {{.*}} : memref<64x24xf16>
//       CHECK:   %[[T:.+]] = gpu.thread_id x
//       CHECK:   %[[R:.+]] = affine.apply affine_map<()[s0] -> (s0 floordiv 6)>()[%[[T]]]
//       CHECK:   %[[C:.+]] = affine.apply affine_map<()[s0] -> (s0 * 4 - (s0 floordiv 6) * 24)>()[%[[T]]]
//       CHECK:   %[[THERE:.+]] = arith.addi %[[R]], %[[ROW]]
//       CHECK:   %[[V:.+]] = vector.transfer_read %[[G]][%[[THERE]], %[[C]]]{{.*}} vector<1x4xf16>
//       CHECK:   affine.apply affine_map<()[s0] -> ((s0 + 32) floordiv 6)>()[%[[T]]]
//       CHECK:   affine.apply affine_map<()[s0] -> ((s0 + 64) floordiv 6)>()[%[[T]]]
//       CHECK:   vector.transfer_write %[[V]], %{{.+}}[%[[R]], %[[C]]]
//       CHECK:   vector.transfer_write
//       CHECK:   vector.transfer_write
//   CHECK-NOT:   vector.transfer_write
func.func @enlarged_rows(%first: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = ub.poison : f16
  // expected-remark @+1 {{3 copies of a lane to memref<16x24xf16, #gpu.address_space<workgroup>> become 3}}
  %m = memref.alloc() : memref<16x24xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) {bankwise.shape = array<i64: 60, 20>} : memref<64x24xf16>
  %t = gpu.thread_id x
  %l:2 = affine.delinearize_index %t into (16, 2) : index, index
  %r = affine.linearize_index [%l#0, %first] by (16, 1) : index
  %w = affine.linearize_index disjoint [%l#0, %c0] by (16, 1) : index
  %x0 = affine.linearize_index disjoint [%c0, %l#1, %c0] by (3, 2, 4) : index
  %x1 = affine.linearize_index disjoint [%c1, %l#1, %c0] by (3, 2, 4) : index
  %x2 = affine.linearize_index disjoint [%c2, %l#1, %c0] by (3, 2, 4) : index
  %v0 = vector.transfer_read %g[%r, %x0], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  %v1 = vector.transfer_read %g[%r, %x1], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  %v2 = vector.transfer_read %g[%r, %x2], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  vector.transfer_write %v0, %m[%w, %x0] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x24xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v1, %m[%w, %x1] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x24xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v2, %m[%w, %x2] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x24xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// Rows of 21 elements begin at odd ones, and are read by words, whatever a lane copies: 16 bytes at a time.

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>

// CHECK-LABEL: func.func @odd_rows
//       CHECK:   vector.transfer_read {{.*}} vector<1x8xf16>
//   CHECK-NOT:   vector.transfer_read
//       CHECK:   vector.transfer_write
func.func @odd_rows(%first: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  // expected-remark @+1 {{8 copies of a lane to memref<16x16xf16, #gpu.address_space<workgroup>> become 1}}
  %m = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) {bankwise.shape = array<i64: 60, 21>} : memref<64x32xf16>
  %g = memref.assume_alignment %b, 64 : memref<64x32xf16>
  %t = gpu.thread_id x
  %l:2 = affine.delinearize_index %t into (2, 16) : index, index
  %c0_n = arith.constant 0 : index
  %w0 = affine.linearize_index disjoint [%c0_n, %l#0, %c0] by (8, 2, 1) : index
  %r0 = affine.linearize_index [%c0_n, %l#0, %first] by (8, 2, 1) : index
  %v0 = vector.transfer_read %g[%r0, %l#1], %p {in_bounds = [true, true]} : memref<64x32xf16>, vector<1x1xf16>
  %c1_n = arith.constant 1 : index
  %w1 = affine.linearize_index disjoint [%c1_n, %l#0, %c0] by (8, 2, 1) : index
  %r1 = affine.linearize_index [%c1_n, %l#0, %first] by (8, 2, 1) : index
  %v1 = vector.transfer_read %g[%r1, %l#1], %p {in_bounds = [true, true]} : memref<64x32xf16>, vector<1x1xf16>
  %c2_n = arith.constant 2 : index
  %w2 = affine.linearize_index disjoint [%c2_n, %l#0, %c0] by (8, 2, 1) : index
  %r2 = affine.linearize_index [%c2_n, %l#0, %first] by (8, 2, 1) : index
  %v2 = vector.transfer_read %g[%r2, %l#1], %p {in_bounds = [true, true]} : memref<64x32xf16>, vector<1x1xf16>
  %c3_n = arith.constant 3 : index
  %w3 = affine.linearize_index disjoint [%c3_n, %l#0, %c0] by (8, 2, 1) : index
  %r3 = affine.linearize_index [%c3_n, %l#0, %first] by (8, 2, 1) : index
  %v3 = vector.transfer_read %g[%r3, %l#1], %p {in_bounds = [true, true]} : memref<64x32xf16>, vector<1x1xf16>
  %c4_n = arith.constant 4 : index
  %w4 = affine.linearize_index disjoint [%c4_n, %l#0, %c0] by (8, 2, 1) : index
  %r4 = affine.linearize_index [%c4_n, %l#0, %first] by (8, 2, 1) : index
  %v4 = vector.transfer_read %g[%r4, %l#1], %p {in_bounds = [true, true]} : memref<64x32xf16>, vector<1x1xf16>
  %c5_n = arith.constant 5 : index
  %w5 = affine.linearize_index disjoint [%c5_n, %l#0, %c0] by (8, 2, 1) : index
  %r5 = affine.linearize_index [%c5_n, %l#0, %first] by (8, 2, 1) : index
  %v5 = vector.transfer_read %g[%r5, %l#1], %p {in_bounds = [true, true]} : memref<64x32xf16>, vector<1x1xf16>
  %c6_n = arith.constant 6 : index
  %w6 = affine.linearize_index disjoint [%c6_n, %l#0, %c0] by (8, 2, 1) : index
  %r6 = affine.linearize_index [%c6_n, %l#0, %first] by (8, 2, 1) : index
  %v6 = vector.transfer_read %g[%r6, %l#1], %p {in_bounds = [true, true]} : memref<64x32xf16>, vector<1x1xf16>
  %c7_n = arith.constant 7 : index
  %w7 = affine.linearize_index disjoint [%c7_n, %l#0, %c0] by (8, 2, 1) : index
  %r7 = affine.linearize_index [%c7_n, %l#0, %first] by (8, 2, 1) : index
  %v7 = vector.transfer_read %g[%r7, %l#1], %p {in_bounds = [true, true]} : memref<64x32xf16>, vector<1x1xf16>
  vector.transfer_write %v0, %m[%w0, %l#1] {in_bounds = [true, true]} : vector<1x1xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v1, %m[%w1, %l#1] {in_bounds = [true, true]} : vector<1x1xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v2, %m[%w2, %l#1] {in_bounds = [true, true]} : vector<1x1xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v3, %m[%w3, %l#1] {in_bounds = [true, true]} : vector<1x1xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v4, %m[%w4, %l#1] {in_bounds = [true, true]} : vector<1x1xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v5, %m[%w5, %l#1] {in_bounds = [true, true]} : vector<1x1xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v6, %m[%w6, %l#1] {in_bounds = [true, true]} : vector<1x1xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v7, %m[%w7, %l#1] {in_bounds = [true, true]} : vector<1x1xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// Copies stay as they are where they are in order already, where the kernel may write what they read, where lanes copy
// an element twice, where they begin at places of their own, where a lane may not write, and where one waits for
// another.

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>

// CHECK-LABEL: func.func @others
// CHECK-COUNT-7: vector.transfer_write
//     CHECK-NOT: vector.transfer_write
func.func @others(%first: index, %some: i1) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %a = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{stay as they are: a copy reads a binding that the kernel may write}}
  %b = memref.alloc() : memref<16x8xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{stay as they are: lanes do not copy each of its elements once}}
  %c = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{stay as they are: lanes copy from places that are not known to lie together}}
  %d = memref.alloc() : memref<16x8xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{stay as they are: not all lanes may write what they read}}
  %e = memref.alloc() : memref<16x8xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{stay as they are: its copies are made one after the other}}
  %f = memref.alloc() : memref<32x8xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<64x24xf16>
  %h = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<64x24xf16>
  %t = gpu.thread_id x
  %l:2 = affine.delinearize_index %t into (16, 2) : index, index
  %r = affine.linearize_index [%l#0, %first] by (16, 1) : index
  %w = affine.linearize_index disjoint [%l#0, %c0] by (16, 1) : index
  %far = affine.linearize_index [%l#0, %t] by (16, 1) : index
  %x8 = affine.linearize_index disjoint [%l#1, %c0] by (2, 8) : index
  %x4 = affine.linearize_index disjoint [%l#1, %c0] by (2, 4) : index
  %wide = vector.transfer_read %g[%r, %x8], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x8xf16>
  vector.transfer_write %wide, %a[%w, %x8] {in_bounds = [true, true]} : vector<1x8xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  %written = vector.transfer_read %h[%r, %x4], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  vector.transfer_write %written, %b[%w, %x4] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x8xf16, #gpu.address_space<workgroup>>
  %half = vector.transfer_read %g[%r, %x4], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  vector.transfer_write %half, %c[%w, %x4] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x16xf16, #gpu.address_space<workgroup>>
  %apart = vector.transfer_read %g[%far, %x4], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  vector.transfer_write %apart, %d[%w, %x4] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x8xf16, #gpu.address_space<workgroup>>
  %guarded = vector.transfer_read %g[%r, %x4], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  scf.if %some {
    vector.transfer_write %guarded, %e[%w, %x4] {in_bounds = [true, true]} : vector<1x4xf16>, memref<16x8xf16, #gpu.address_space<workgroup>>
  }
  %upper = vector.transfer_read %g[%r, %x4], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  %lower = vector.transfer_read %g[%r, %x4], %p {in_bounds = [true, true]} : memref<64x24xf16>, vector<1x4xf16>
  vector.transfer_write %upper, %f[%w, %x4] {in_bounds = [true, true]} : vector<1x4xf16>, memref<32x8xf16, #gpu.address_space<workgroup>>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  vector.transfer_write %lower, %f[%w, %x4] {in_bounds = [true, true]} : vector<1x4xf16>, memref<32x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// Of a tile that descriptors read, 48 columns are blocks of 32 bytes a row: four rows of 2 copies in each of them fill
// the banks, so that 8 lanes copy 4 rows of a block, and the next 8 lanes the 4 rows below. 64 lanes copy a whole block
// of 32 rows, and then the same rows of the next block.

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32>

// CHECK-LABEL: func.func @described
//   CHECK-DAG:   %[[TILE:.+]] = memref.alloc()
//       CHECK:   %[[T:.+]] = gpu.thread_id x
//       CHECK:   %[[ROW:.+]] = affine.apply affine_map<()[s0] -> ((s0 floordiv 8) * 4 + (s0 mod 8) floordiv 2)>()[%[[T]]]
//       CHECK:   %[[COLUMN:.+]] = affine.apply affine_map<()[s0] -> (s0 * 8 - (s0 floordiv 2) * 16)>()[%[[T]]]
//       CHECK:   %[[PLACE:.+]] = affine.apply {{.*}}(s0 floordiv 8) * 192{{.*}} + ((s0 mod 8) floordiv 2) * 48
//       CHECK:   vector.load %{{.+}}[%[[PLACE]]] alignment = 16
//       CHECK:   %[[NEXT:.+]] = affine.apply affine_map<()[s0] -> (s0 * 8 - (s0 floordiv 2) * 16 + 16)>()[%[[T]]]
//       CHECK:   vector.transfer_write %{{.+}}, %[[TILE]][%[[ROW]], %[[COLUMN]]]
//       CHECK:   vector.transfer_write %{{.+}}, %[[TILE]][%{{.+}}, %[[NEXT]]]
func.func @described(%first: index) attributes {bankwise.described_tile, translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = ub.poison : f16
  // expected-remark @+1 {{3 copies of a lane to memref<32x48xf16, #gpu.address_space<workgroup>> become 3}}
  %m = memref.alloc() : memref<32x48xf16, #gpu.address_space<workgroup>>
  %s = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<64x48xf16>
  %g = memref.assume_alignment %s, 64 : memref<64x48xf16>
  %t = gpu.thread_id x
  %l:2 = affine.delinearize_index %t into (32, 2) : index, index
  %r = affine.linearize_index [%l#0, %first] by (32, 1) : index
  %w = affine.linearize_index disjoint [%l#0, %c0] by (32, 1) : index
  %x0 = affine.linearize_index disjoint [%l#1, %c0, %c0] by (2, 3, 8) : index
  %x1 = affine.linearize_index disjoint [%l#1, %c1, %c0] by (2, 3, 8) : index
  %x2 = affine.linearize_index disjoint [%l#1, %c2, %c0] by (2, 3, 8) : index
  %v0 = vector.transfer_read %g[%r, %x0], %p {in_bounds = [true, true]} : memref<64x48xf16>, vector<1x8xf16>
  %v1 = vector.transfer_read %g[%r, %x1], %p {in_bounds = [true, true]} : memref<64x48xf16>, vector<1x8xf16>
  %v2 = vector.transfer_read %g[%r, %x2], %p {in_bounds = [true, true]} : memref<64x48xf16>, vector<1x8xf16>
  vector.transfer_write %v0, %m[%w, %x0] {in_bounds = [true, true]} : vector<1x8xf16>, memref<32x48xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v1, %m[%w, %x1] {in_bounds = [true, true]} : vector<1x8xf16>, memref<32x48xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v2, %m[%w, %x2] {in_bounds = [true, true]} : vector<1x8xf16>, memref<32x48xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// A loop copies the first 32 columns to a block of 64 bytes a row, of which two rows fill the banks, and the other 16 to
// a block of 32 bytes a row. The second copy of a lane is 16 rows below the first one, which is a constant of its address.

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32>

// CHECK-LABEL: func.func @described_in_a_loop
//   CHECK-DAG:   %[[TILE:.+]] = memref.alloc()
//       CHECK:   scf.for
//       CHECK:     %[[T:.+]] = gpu.thread_id x
//       CHECK:     %[[ROW:.+]] = affine.apply affine_map<()[s0] -> ((s0 floordiv 8) * 2 + (s0 mod 8) floordiv 4)>()[%[[T]]]
//       CHECK:     %[[COLUMN:.+]] = affine.apply affine_map<()[s0] -> (s0 * 8 - (s0 floordiv 4) * 32)>()[%[[T]]]
//       CHECK:     %[[BELOW:.+]] = affine.apply affine_map<()[s0] -> ((s0 floordiv 8) * 2 + (s0 mod 8) floordiv 4 + 16)>()[%[[T]]]
//       CHECK:     affine.apply {{.*}}(s0 floordiv 8) * 96{{.*}} + 768)
//       CHECK:     %[[LAST:.+]] = affine.apply affine_map<()[s0] -> ((s0 floordiv 8) * 4 + (s0 mod 8) floordiv 2)>()[%[[T]]]
//       CHECK:     %[[NARROW:.+]] = affine.apply affine_map<()[s0] -> (s0 * 8 - (s0 floordiv 2) * 16 + 32)>()[%[[T]]]
//       CHECK:     vector.transfer_write %{{.+}}, %[[TILE]][%[[ROW]], %[[COLUMN]]]
//       CHECK:     vector.transfer_write %{{.+}}, %[[TILE]][%[[BELOW]], %{{.+}}]
//       CHECK:     vector.transfer_write %{{.+}}, %[[TILE]][%[[LAST]], %[[NARROW]]]
func.func @described_in_a_loop() attributes {bankwise.described_tile, translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %p = ub.poison : f16
  // expected-remark @+1 {{3 copies of a lane to memref<32x48xf16, #gpu.address_space<workgroup>> become 3}}
  %m = memref.alloc() : memref<32x48xf16, #gpu.address_space<workgroup>>
  %s = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<64x48xf16>
  %g = memref.assume_alignment %s, 64 : memref<64x48xf16>
  %t = gpu.thread_id x
  scf.for %first = %c0 to %c64 step %c32 {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %l:2 = affine.delinearize_index %t into (32, 2) : index, index
    %r = affine.linearize_index [%l#0, %first] by (32, 1) : index
    %w = affine.linearize_index disjoint [%l#0, %c0] by (32, 1) : index
    %x0 = affine.linearize_index disjoint [%l#1, %c0, %c0] by (2, 3, 8) : index
    %x1 = affine.linearize_index disjoint [%l#1, %c1, %c0] by (2, 3, 8) : index
    %x2 = affine.linearize_index disjoint [%l#1, %c2, %c0] by (2, 3, 8) : index
    %v0 = vector.transfer_read %g[%r, %x0], %p {in_bounds = [true, true]} : memref<64x48xf16>, vector<1x8xf16>
    %v1 = vector.transfer_read %g[%r, %x1], %p {in_bounds = [true, true]} : memref<64x48xf16>, vector<1x8xf16>
    %v2 = vector.transfer_read %g[%r, %x2], %p {in_bounds = [true, true]} : memref<64x48xf16>, vector<1x8xf16>
    vector.transfer_write %v0, %m[%w, %x0] {in_bounds = [true, true]} : vector<1x8xf16>, memref<32x48xf16, #gpu.address_space<workgroup>>
    vector.transfer_write %v1, %m[%w, %x1] {in_bounds = [true, true]} : vector<1x8xf16>, memref<32x48xf16, #gpu.address_space<workgroup>>
    vector.transfer_write %v2, %m[%w, %x2] {in_bounds = [true, true]} : vector<1x8xf16>, memref<32x48xf16, #gpu.address_space<workgroup>>
  }
  return
}
