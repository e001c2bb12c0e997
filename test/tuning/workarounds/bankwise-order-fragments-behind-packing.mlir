// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(iree-codegen-gpu-pack-to-intrinsics,bankwise-order-fragments,canonicalize,cse))' --mlir-print-local-scope | FileCheck %s

// The loops of a product may have any numbers, and its result may have any layout: tiles of the first operand hold
// rows by summed elements, and those of the result rows by columns.

#config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>}>

// CHECK-LABEL: func.func @columns_rows_sum
//       CHECK:   linalg.pack %arg0 {{.*}}inner_dims_pos = [0, 1] inner_tiles = [16, 16]
//       CHECK:   linalg.pack %arg2 inner_dims_pos = [1, 0] inner_tiles = [16, 8]
//       CHECK:   iree_codegen.inner_tiled
//       CHECK:   permutations = [array<i64: 0, 1>, array<i64: 1, 0>, array<i64: 0, 1>]
//       CHECK:   linalg.unpack %{{.+}} inner_dims_pos = [1, 0] inner_tiles = [16, 8]
func.func @columns_rows_sum(%a: tensor<64x32xf16>, %b: tensor<32x128xf16>, %c: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(n, m, k) -> (m, k)>, affine_map<(n, m, k) -> (k, n)>, affine_map<(n, m, k) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction"], lowering_config = #config} ins(%a, %b : tensor<64x32xf16>, tensor<32x128xf16>) outs(%c : tensor<128x64xf32>) {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %l = arith.extf %x : f16 to f32
    %r = arith.extf %y : f16 to f32
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<128x64xf32>
  return %0 : tensor<128x64xf32>
}

// CHECK-LABEL: func.func @sum_columns_rows
//       CHECK:   linalg.pack %arg0 {{.*}}inner_dims_pos = [1, 0] inner_tiles = [16, 16]
//       CHECK:   linalg.pack %arg2 inner_dims_pos = [0, 1] inner_tiles = [16, 8]
//       CHECK:   iree_codegen.inner_tiled
//       CHECK:   permutations = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]
//       CHECK:   linalg.unpack %{{.+}} inner_dims_pos = [0, 1] inner_tiles = [16, 8]
func.func @sum_columns_rows(%a: tensor<32x64xf16>, %b: tensor<32x128xf16>, %c: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(k, n, m) -> (k, m)>, affine_map<(k, n, m) -> (k, n)>, affine_map<(k, n, m) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"], lowering_config = #config} ins(%a, %b : tensor<32x64xf16>, tensor<32x128xf16>) outs(%c : tensor<64x128xf32>) {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %l = arith.extf %x : f16 to f32
    %r = arith.extf %y : f16 to f32
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}
