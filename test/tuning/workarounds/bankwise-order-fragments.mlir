// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-order-fragments,canonicalize))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// The sums of a lane are of two rows: tiles of the result that hold columns by rows get rows by columns. Tiles of
// the second operand may hold columns by summed elements.

// CHECK-LABEL: func.func @columns_first
//       CHECK:   %[[A:.+]] = linalg.pack %{{.+}} inner_dims_pos = [1, 0] inner_tiles = [16, 16] {{.*}} -> tensor<2x4x16x16xf16>
//       CHECK:   %[[B:.+]] = linalg.pack %{{.+}} inner_dims_pos = [0, 1] inner_tiles = [8, 16] {{.*}} -> tensor<8x2x8x16xf16>
//       CHECK:   %[[C:.+]] = linalg.pack %{{.+}} inner_dims_pos = [1, 0] inner_tiles = [16, 8] {{.*}} -> tensor<8x4x16x8xf32>
//       CHECK:   %[[D:.+]] = iree_codegen.inner_tiled ins(%[[A]], %[[B]]) outs(%[[C]])
//  CHECK-SAME:       affine_map<(d0, d1, d2) -> (d0, d1)>]
//  CHECK-SAME:       permutations = [array<i64: 0, 1>, array<i64: 1, 0>, array<i64: 0, 1>]
//  CHECK-SAME:       into tensor<8x4x16x8xf32>
//       CHECK:   linalg.unpack %[[D]] inner_dims_pos = [1, 0] inner_tiles = [16, 8] {{.*}} : tensor<8x4x16x8xf32> -> tensor<64x64xf32>
func.func @columns_first(%left: tensor<32x64xf16>, %right: tensor<64x32xf16>, %sums: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tensor.empty() : tensor<2x4x16x16xf16>
  %1 = tensor.empty() : tensor<8x2x8x16xf16>
  %2 = tensor.empty() : tensor<8x4x8x16xf32>
  %a = linalg.pack %left inner_dims_pos = [1, 0] inner_tiles = [16, 16] into %0 : tensor<32x64xf16> -> tensor<2x4x16x16xf16>
  %b = linalg.pack %right inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %1 : tensor<64x32xf16> -> tensor<8x2x8x16xf16>
  %c = linalg.pack %sums inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %2 : tensor<64x64xf32> -> tensor<8x4x8x16xf32>
  // expected-remark @+1 {{fragments have the order of its loops: they get that of the instruction}}
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(n, m, k) -> (k, m)>, affine_map<(n, m, k) -> (n, k)>, affine_map<(n, m, k) -> (n, m)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>, permutations = [array<i64: 0, 1>, array<i64: 1, 0>, array<i64: 1, 0>]> : tensor<2x4x16x16xf16>, tensor<8x2x8x16xf16> into tensor<8x4x8x16xf32>
  %e = linalg.unpack %d inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %sums : tensor<8x4x8x16xf32> -> tensor<64x64xf32>
  return %e : tensor<64x64xf32>
}

// -----

// The elements of the first operand are of two rows and of two groups of summed elements. Another product may take
// the same tiles as they are.

// CHECK-LABEL: func.func @summed_first
//   CHECK-DAG:   %[[LEFT:.+]] = linalg.pack %arg0 inner_dims_pos = [0, 1] inner_tiles = [16, 16] {{.*}} -> tensor<4x2x16x16xf16>
//   CHECK-DAG:   %[[RIGHT:.+]] = linalg.pack %arg0 inner_dims_pos = [1, 0] inner_tiles = [16, 16] {{.*}} -> tensor<4x2x16x16xf16>
//       CHECK:   iree_codegen.inner_tiled ins(%[[LEFT]], %{{.+}}) outs
//  CHECK-SAME:       permutations = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]
//       CHECK:   return %{{.+}}, %[[RIGHT]]
func.func @summed_first(%left: tensor<64x32xf16>, %b: tensor<2x8x16x8xf16>, %sums: tensor<64x64xf32>) -> (tensor<4x8x16x8xf32>, tensor<4x2x16x16xf16>) {
  %0 = tensor.empty() : tensor<4x2x16x16xf16>
  %2 = tensor.empty() : tensor<4x8x16x8xf32>
  %a = linalg.pack %left inner_dims_pos = [1, 0] inner_tiles = [16, 16] into %0 : tensor<64x32xf16> -> tensor<4x2x16x16xf16>
  %c = linalg.pack %sums inner_dims_pos = [0, 1] inner_tiles = [16, 8] into %2 : tensor<64x64xf32> -> tensor<4x8x16x8xf32>
  // expected-remark @+1 {{fragments have the order of its loops: they get that of the instruction}}
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(k, m, n) -> (m, k)>, affine_map<(k, m, n) -> (k, n)>, affine_map<(k, m, n) -> (m, n)>], iterator_types = [#linalg.iterator_type<reduction>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>], kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>, permutations = [array<i64: 1, 0>, array<i64: 0, 1>, array<i64: 0, 1>]> : tensor<4x2x16x16xf16>, tensor<2x8x16x8xf16> into tensor<4x8x16x8xf32>
  return %d, %a : tensor<4x8x16x8xf32>, tensor<4x2x16x16xf16>
}

// -----

// What is computed of the sums tile by tile gets rows first, too; other operands are read by their own dimensions.

// CHECK-LABEL: func.func @epilogue
//       CHECK:   %[[D:.+]] = iree_codegen.inner_tiled {{.*}} into tensor<1x2x16x8xf32>
//       CHECK:   %[[E:.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], {{.*}} ins(%[[D]], %{{.+}} : tensor<1x2x16x8xf32>, tensor<1x8xf32>) outs(%{{.+}} : tensor<1x2x16x8xf16>)
//       CHECK:   linalg.unpack %[[E]] inner_dims_pos = [1, 0] inner_tiles = [16, 8]
func.func @epilogue(%a: tensor<2x1x16x16xf16>, %b: tensor<1x1x8x16xf16>, %sums: tensor<8x32xf32>, %bias: tensor<1x8xf32>, %out: tensor<8x32xf16>) -> tensor<8x32xf16> {
  %0 = tensor.empty() : tensor<1x2x8x16xf32>
  %1 = tensor.empty() : tensor<1x2x8x16xf16>
  %c = linalg.pack %sums inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %0 : tensor<8x32xf32> -> tensor<1x2x8x16xf32>
  // expected-remark @+1 {{fragments have the order of its loops: they get that of the instruction}}
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(n, m, k) -> (m, k)>, affine_map<(n, m, k) -> (n, k)>, affine_map<(n, m, k) -> (n, m)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>, permutations = [array<i64: 0, 1>, array<i64: 1, 0>, array<i64: 1, 0>]> : tensor<2x1x16x16xf16>, tensor<1x1x8x16xf16> into tensor<1x2x8x16xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%d, %bias : tensor<1x2x8x16xf32>, tensor<1x8xf32>) outs(%1 : tensor<1x2x8x16xf16>) {
  ^bb0(%x: f32, %y: f32, %z: f16):
    %s = arith.addf %x, %y : f32
    %t = arith.truncf %s : f32 to f16
    linalg.yield %t : f16
  } -> tensor<1x2x8x16xf16>
  %f = linalg.unpack %e inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %out : tensor<1x2x8x16xf16> -> tensor<8x32xf16>
  return %f : tensor<8x32xf16>
}

// -----

// Tiles may be put elsewhere, as those of the groups of a convolution are, and none of them changes.

// CHECK-LABEL: func.func @tiles_elsewhere
//       CHECK:   %[[D:.+]] = iree_codegen.inner_tiled {{.*}} into tensor<3x2x16x8xf32>
//       CHECK:   %[[E:.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2, d3)>], {{.*}} ins(%[[D]] : tensor<3x2x16x8xf32>) outs(%{{.+}} : tensor<2x3x16x8xf32>)
//       CHECK:   linalg.unpack %[[E]] outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 8]
func.func @tiles_elsewhere(%a: tensor<2x1x16x16xf16>, %b: tensor<3x1x8x16xf16>, %sums: tensor<24x32xf32>) -> tensor<24x32xf32> {
  %0 = tensor.empty() : tensor<3x2x8x16xf32>
  %1 = tensor.empty() : tensor<2x3x8x16xf32>
  %c = linalg.pack %sums inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %0 : tensor<24x32xf32> -> tensor<3x2x8x16xf32>
  // expected-remark @+1 {{fragments have the order of its loops: they get that of the instruction}}
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(n, m, k) -> (m, k)>, affine_map<(n, m, k) -> (n, k)>, affine_map<(n, m, k) -> (n, m)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>, permutations = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 1, 0>]> : tensor<2x1x16x16xf16>, tensor<3x1x8x16xf16> into tensor<3x2x8x16xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%d : tensor<3x2x8x16xf32>) outs(%1 : tensor<2x3x8x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<2x3x8x16xf32>
  %f = linalg.unpack %e outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %sums : tensor<2x3x8x16xf32> -> tensor<24x32xf32>
  return %f : tensor<24x32xf32>
}

// -----

// Rows come first already, or the order does not matter to the instruction.

// CHECK-LABEL: func.func @in_order
//       CHECK:   permutations = [array<i64: 0, 1>, array<i64: 1, 0>, array<i64: 0, 1>]
//       CHECK:   kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>
//  CHECK-SAME:   permutations = [array<i64: 1, 0>, array<i64: 1, 0>, array<i64: 1, 0>]
func.func @in_order(%a: tensor<16x16xf16>, %b: tensor<8x16xf16>, %c: tensor<16x8xf32>, %c16: tensor<16x16xf32>) -> (tensor<16x8xf32>, tensor<16x16xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>, permutations = [array<i64: 0, 1>, array<i64: 1, 0>, array<i64: 0, 1>]> : tensor<16x16xf16>, tensor<8x16xf16> into tensor<16x8xf32>
  %1 = iree_codegen.inner_tiled ins(%a, %a) outs(%c16) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>, permutations = [array<i64: 1, 0>, array<i64: 1, 0>, array<i64: 1, 0>]> : tensor<16x16xf16>, tensor<16x16xf16> into tensor<16x16xf32>
  return %0, %1 : tensor<16x8xf32>, tensor<16x16xf32>
}

// -----

// Tiles that come from elsewhere cannot be made otherwise, and to leave them as they are would be wrong.

func.func @tiles_of_others(%a: tensor<16x16xf16>, %b: tensor<8x16xf16>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  // expected-error @+1 {{its fragments have the order of its loops, of which IREE 3.13 makes wrong code, and cannot be put in another order}}
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>, permutations = [array<i64: 1, 0>, array<i64: 1, 0>, array<i64: 0, 1>]> : tensor<16x16xf16>, tensor<8x16xf16> into tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// -----

// A lane has four rows of each of four blocks: tiles of the result that hold rows by blocks get blocks by rows.

// CHECK-LABEL: func.func @blocks
//       CHECK:   %[[C:.+]] = linalg.pack %{{.+}} inner_dims_pos = [1, 0, 2] inner_tiles = [4, 16, 16] {{.*}} -> tensor<1x1x1x4x16x16xf32>
//       CHECK:   %[[D:.+]] = iree_codegen.inner_tiled ins(%arg0, %arg1) outs(%[[C]])
//  CHECK-SAME:       permutations = [array<i64: 1, 0, 2>, array<i64: 0, 2, 1>, array<i64: 0, 1, 2>]
//       CHECK:   linalg.unpack %[[D]] inner_dims_pos = [1, 0, 2] inner_tiles = [4, 16, 16]
func.func @blocks(%a: tensor<8x1x1x16x4x1xf32>, %b: tensor<8x1x1x4x16x1xf32>, %sums: tensor<16x4x16xf32>) -> tensor<16x4x16xf32> {
  %0 = tensor.empty() : tensor<1x1x1x16x4x16xf32>
  %c = linalg.pack %sums inner_dims_pos = [0, 1, 2] inner_tiles = [16, 4, 16] into %0 : tensor<16x4x16xf32> -> tensor<1x1x1x16x4x16xf32>
  // expected-remark @+1 {{fragments have the order of its loops: they get that of the instruction}}
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<(m, b, n, k) -> (k, m, b)>, affine_map<(m, b, n, k) -> (k, b, n)>, affine_map<(m, b, n, k) -> (m, b, n)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x1x4B_F32>, semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>, permutations = [array<i64: 1, 0, 2>, array<i64: 0, 2, 1>, array<i64: 1, 0, 2>]> : tensor<8x1x1x16x4x1xf32>, tensor<8x1x1x4x16x1xf32> into tensor<1x1x1x16x4x16xf32>
  %e = linalg.unpack %d inner_dims_pos = [0, 1, 2] inner_tiles = [16, 4, 16] into %sums : tensor<1x1x1x16x4x16xf32> -> tensor<16x4x16xf32>
  return %e : tensor<16x4x16xf32>
}
