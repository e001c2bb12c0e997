// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-search-rows-alone))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// A workgroup has one row and one lane. What fills the outputs is tiled alike.
// CHECK-LABEL: func.func @rows
//  CHECK-SAME: workgroup_size = [1, 1, 1]
//       CHECK: linalg.fill {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[}}[1, 0]]>}
//       CHECK: iree_linalg_ext.topk {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[}}[1, 0]]>}
func.func @rows(%x: tensor<130x64xf32>, %v: tensor<130x4xf32>, %p: tensor<130x4xi32>) -> tensor<130x4xf32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<Distribute> workgroup_size = [128, 1, 1] subgroup_size = 64>} {
  %least = arith.constant 0xFF800000 : f32
  %low = linalg.fill {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[128]]>} ins(%least : f32) outs(%v : tensor<130x4xf32>) -> tensor<130x4xf32>
  // expected-remark @below {{lanes would go over the same rows without a barrier}}
  %0:2 = iree_linalg_ext.topk {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[128]]>} dimension(1)
      ins(%x : tensor<130x64xf32>) outs(%low, %p : tensor<130x4xf32>, tensor<130x4xi32>) {
    ^bb0(%one: f32, %other: f32):
      %greater = arith.cmpf ogt, %one, %other : f32
      iree_linalg_ext.yield %greater : i1
  } -> tensor<130x4xf32>, tensor<130x4xi32>
  return %0#0 : tensor<130x4xf32>
}

// The elements that are searched lie along the first dimension.
// CHECK-LABEL: func.func @columns
//       CHECK: iree_linalg_ext.topk {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[}}[0, 1]]>}
func.func @columns(%x: tensor<64x8xf32>, %v: tensor<4x8xf32>, %p: tensor<4x8xi32>) -> tensor<4x8xf32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<Distribute> workgroup_size = [128, 1, 1] subgroup_size = 64>} {
  // expected-remark @below {{lanes would go over the same rows without a barrier}}
  %0:2 = iree_linalg_ext.topk {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[0, 128]]>} dimension(0)
      ins(%x : tensor<64x8xf32>) outs(%v, %p : tensor<4x8xf32>, tensor<4x8xi32>) {
    ^bb0(%one: f32, %other: f32):
      %greater = arith.cmpf ogt, %one, %other : f32
      iree_linalg_ext.yield %greater : i1
  } -> tensor<4x8xf32>, tensor<4x8xi32>
  return %0#0 : tensor<4x8xf32>
}

// A scan keeps the sum of a row in one place.
// CHECK-LABEL: func.func @sums
//  CHECK-SAME: workgroup_size = [1, 1, 1]
//       CHECK: iree_linalg_ext.scan {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[}}[1, 0]]>}
func.func @sums(%x: tensor<8x64xf32>, %s: tensor<8xf32>) -> tensor<8x64xf32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<Distribute> workgroup_size = [128, 1, 1] subgroup_size = 64>} {
  %empty = tensor.empty() : tensor<8x64xf32>
  // expected-remark @below {{lanes would go over the same rows without a barrier}}
  %0:2 = iree_linalg_ext.scan {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[128]]>} dimension(1) inclusive(true)
      ins(%x : tensor<8x64xf32>) outs(%empty, %s : tensor<8x64xf32>, tensor<8xf32>) {
    ^bb0(%one: f32, %other: f32):
      %sum = arith.addf %one, %other : f32
      iree_linalg_ext.yield %sum : f32
  } -> tensor<8x64xf32>, tensor<8xf32>
  return %0#0 : tensor<8x64xf32>
}

// A single lane shares nothing.
// CHECK-LABEL: func.func @alone
//       CHECK: iree_linalg_ext.topk {lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[}}[128]]>}
func.func @alone(%x: tensor<8x64xf32>, %v: tensor<8x4xf32>, %p: tensor<8x4xi32>) -> tensor<8x4xf32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<Distribute> workgroup_size = [1, 1, 1] subgroup_size = 64>} {
  %0:2 = iree_linalg_ext.topk {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[128]]>} dimension(1)
      ins(%x : tensor<8x64xf32>) outs(%v, %p : tensor<8x4xf32>, tensor<8x4xi32>) {
    ^bb0(%one: f32, %other: f32):
      %greater = arith.cmpf ogt, %one, %other : f32
      iree_linalg_ext.yield %greater : i1
  } -> tensor<8x4xf32>, tensor<8x4xi32>
  return %0#0 : tensor<8x4xf32>
}
