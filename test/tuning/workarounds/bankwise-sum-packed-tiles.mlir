// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-sum-packed-tiles))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// The summed tiles are no loop of threads, and a thread has four columns of one row.
// CHECK-LABEL: func.func @f32
// CHECK-SAME: workgroup_size = [32, 1, 1]
// CHECK: linalg.mmt4d {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 1, 0, 0, 1], thread = [1, 1, 0, 1, 4, 0], workgroup = [1, 1, 0, 8, 8, 0]}>}
func.func @f32(%a: tensor<8x16x8x1xf32>, %b: tensor<8x16x8x1xf32>, %c: tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  // expected-remark @below {{IREE would sum over one of the packed tiles alone}}
  %0 = linalg.mmt4d {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 0, 1], thread = [1, 1, 1, 16, 0, 0], workgroup = [1, 1, 0, 0, 1, 1]}>}
      ins(%a, %b : tensor<8x16x8x1xf32>, tensor<8x16x8x1xf32>) outs(%c : tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
  return %0 : tensor<8x8x8x8xf32>
}

// Tiles of 128 x 128 have more elements than lanes, four each, of a workgroup.
// CHECK-LABEL: func.func @batch_of_large_tiles
// CHECK-SAME: workgroup_size = [256, 1, 1]
// CHECK: linalg.batch_mmt4d {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 1, 0, 0, 1], thread = [1, 1, 1, 0, 16, 4, 0], workgroup = [1, 1, 1, 0, 128, 128, 0]}>}
func.func @batch_of_large_tiles(%a: tensor<2x8x?x128x5xf32>, %b: tensor<2x8x?x128x5xf32>, %c: tensor<2x8x8x128x128xf32>) -> tensor<2x8x8x128x128xf32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  // expected-remark @below {{IREE would sum over one of the packed tiles alone}}
  %0 = linalg.batch_mmt4d {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 0, 0, 1], thread = [1, 1, 1, 1, 16, 0, 0], workgroup = [1, 1, 1, 0, 0, 1, 1]}>}
      ins(%a, %b : tensor<2x8x?x128x5xf32>, tensor<2x8x?x128x5xf32>) outs(%c : tensor<2x8x8x128x128xf32>) -> tensor<2x8x8x128x128xf32>
  return %0 : tensor<2x8x8x128x128xf32>
}

// Where a matrix instruction multiplies, IREE's tiles go over the summed loops.
// CHECK-LABEL: func.func @by_instructions
// CHECK: subgroup = [1, 1, 0, 1, 1, 0]
func.func @by_instructions(%a: tensor<4x6x8x4xf16>, %b: tensor<5x6x4x4xf16>, %c: tensor<4x5x8x4xf16>) -> tensor<4x5x8x4xf16>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %0 = linalg.mmt4d {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR4_F16_16x16x16_F16>, padding = [4, 1, 2, 16, 16, 16], promote_operands = [0, 1], reduction = [0, 0, 2, 0, 0, 1], subgroup = [1, 1, 0, 1, 1, 0], workgroup = [4, 1, 0, 16, 16, 0]}>}
      ins(%a, %b : tensor<4x6x8x4xf16>, tensor<5x6x4x4xf16>) outs(%c : tensor<4x5x8x4xf16>) -> tensor<4x5x8x4xf16>
  return %0 : tensor<4x5x8x4xf16>
}
