// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-transpose-contractions))' --mlir-print-local-scope | FileCheck %s

// Both contractions are turned, or none: the statistics of rows connect them.

// CHECK-LABEL: func.func @row_major
// CHECK:         pv_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32, col_major = true>}
// CHECK-SAME:    qk_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32, col_major = true>}

// CHECK-LABEL: func.func @column_major
// CHECK:         pv_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>}
// CHECK-SAME:    qk_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>}

// CHECK-LABEL: func.func @mixed
// CHECK:         pv_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>}
// CHECK-SAME:    qk_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32, col_major = true>}

// CHECK-LABEL: func.func @warps
// CHECK:         pv_attrs = {mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>}

func.func @row_major(%q: tensor<64x64xf32>, %k: tensor<64x64xf32>, %v: tensor<64x64xf32>, %s: f32, %o: tensor<64x64xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64x64xf32> {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d1)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0)>], decomposition_config = {pv_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>}, qk_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>}}> ins(%q, %k, %v, %s : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, f32) outs(%o, %m, %l : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  return %r#0 : tensor<64x64xf32>
}

func.func @column_major(%q: tensor<64x64xf32>, %k: tensor<64x64xf32>, %v: tensor<64x64xf32>, %s: f32, %o: tensor<64x64xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64x64xf32> {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d1)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0)>], decomposition_config = {pv_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>}, qk_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>}}> ins(%q, %k, %v, %s : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, f32) outs(%o, %m, %l : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  return %r#0 : tensor<64x64xf32>
}

func.func @mixed(%q: tensor<64x64xf32>, %k: tensor<64x64xf32>, %v: tensor<64x64xf32>, %s: f32, %o: tensor<64x64xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64x64xf32> {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d1)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0)>], decomposition_config = {pv_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>}, qk_attrs = {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32, col_major = true>}}> ins(%q, %k, %v, %s : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, f32) outs(%o, %m, %l : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  return %r#0 : tensor<64x64xf32>
}

func.func @warps(%q: tensor<64x64xf32>, %k: tensor<64x64xf32>, %v: tensor<64x64xf32>, %s: f32, %o: tensor<64x64xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64x64xf32> {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d1)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0)>, affine_map<(d0, d1, d2, d3) -> (d0)>], decomposition_config = {pv_attrs = {mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>}, qk_attrs = {mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>}}> ins(%q, %k, %v, %s : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, f32) outs(%o, %m, %l : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  return %r#0 : tensor<64x64xf32>
}
