// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-sum-all-warps))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Four lanes along the keys read the sums of four warps.
// CHECK-LABEL: func.func @more_warps_than_lanes
//  CHECK-SAME: workgroup_size = [256, 1, 1]
//       CHECK: pv_attrs = {lowering_config = {{.*}} subgroup_basis = {{\[}}[1, 1, 4], [0, 2]]
//  CHECK-SAME: qk_attrs = {lowering_config = {{.*}} subgroup_basis = {{\[}}[1, 1, 4], [1, 2]]
func.func @more_warps_than_lanes(%q: tensor<260xf32>, %k: tensor<32x260xf32>, %v: tensor<32x8xf32>, %o: tensor<8xf32>, %m: tensor<f32>, %s: tensor<f32>) -> tensor<8xf32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64>} {
  %scale = arith.constant 1.0 : f32
  // expected-remark @below {{IREE would lose the sums of some of 8 warps: it gets 4}}
  %0:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(n, k1, k2) -> (k1)>, affine_map<(n, k1, k2) -> (k2, k1)>, affine_map<(n, k1, k2) -> (k2, n)>, affine_map<(n, k1, k2) -> ()>, affine_map<(n, k1, k2) -> (n)>, affine_map<(n, k1, k2) -> ()>, affine_map<(n, k1, k2) -> ()>], decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 4], [0, 2]], subgroup_basis = [[1, 1, 8], [0, 2]], thread = [4, 0]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 4], [1, 2]], subgroup_basis = [[1, 1, 8], [1, 2]], thread = [4, 0]}>}}> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 32], workgroup = [8, 0, 0]}>}
      ins(%q, %k, %v, %scale : tensor<260xf32>, tensor<32x260xf32>, tensor<32x8xf32>, f32) outs(%o, %m, %s : tensor<8xf32>, tensor<f32>, tensor<f32>) {
    ^bb0(%x: f32):
      iree_linalg_ext.yield %x : f32
  } -> tensor<8xf32>, tensor<f32>, tensor<f32>
  return %0#0 : tensor<8xf32>
}

// As many lanes read the sums of all warps.
// CHECK-LABEL: func.func @as_many_lanes
//  CHECK-SAME: workgroup_size = [512, 1, 1]
//       CHECK: pv_attrs = {lowering_config = {{.*}} subgroup_basis = {{\[}}[1, 1, 8], [0, 2]]
//  CHECK-SAME: qk_attrs = {lowering_config = {{.*}} subgroup_basis = {{\[}}[1, 1, 8], [1, 2]]
func.func @as_many_lanes(%q: tensor<260xf32>, %k: tensor<32x260xf32>, %v: tensor<32x8xf32>, %o: tensor<8xf32>, %m: tensor<f32>, %s: tensor<f32>) -> tensor<8xf32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64>} {
  %scale = arith.constant 1.0 : f32
  %0:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(n, k1, k2) -> (k1)>, affine_map<(n, k1, k2) -> (k2, k1)>, affine_map<(n, k1, k2) -> (k2, n)>, affine_map<(n, k1, k2) -> ()>, affine_map<(n, k1, k2) -> (n)>, affine_map<(n, k1, k2) -> ()>, affine_map<(n, k1, k2) -> ()>], decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 8], [0, 2]], subgroup_basis = [[1, 1, 8], [0, 2]], thread = [4, 0]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 8], [1, 2]], subgroup_basis = [[1, 1, 8], [1, 2]], thread = [4, 0]}>}}> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 32], workgroup = [8, 0, 0]}>}
      ins(%q, %k, %v, %scale : tensor<260xf32>, tensor<32x260xf32>, tensor<32x8xf32>, f32) outs(%o, %m, %s : tensor<8xf32>, tensor<f32>, tensor<f32>) {
    ^bb0(%x: f32):
      iree_linalg_ext.yield %x : f32
  } -> tensor<8xf32>, tensor<f32>, tensor<f32>
  return %0#0 : tensor<8xf32>
}
