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

// Five warps share the five elements of a row that no lanes share.
// CHECK-LABEL: func.func @rows_of_five
//  CHECK-SAME: workgroup_size = [32, 1, 1]
//       CHECK: linalg.fill {lowering_config = {{.*}} subgroup_basis = {{\[}}[1], [0]]
//       CHECK: subgroup_basis = {{\[}}[1, 1, 1], [0, 1, 2]]
func.func @rows_of_five(%x: tensor<32x5xf32>, %w: tensor<16x32x5xf32>, %e: tensor<16xf32>) -> tensor<16xf32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [160, 1, 1] subgroup_size = 32>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1], [0]], subgroup_basis = [[1], [0]], thread = [1]}>}
      ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  // expected-remark @below {{IREE would lose the sums of some of 5 warps: it gets 1}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, k, l) -> (k, l)>, affine_map<(m, k, l) -> (m, k, l)>, affine_map<(m, k, l) -> (m)>],
      iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x5xf32>, tensor<16x32x5xf32>) outs(%f : tensor<16xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1], [0, 1, 2]], partial_reduction = [0, 1, 5], subgroup_basis = [[1, 1, 5], [0, 1, 2]], thread = [0, 1, 1], workgroup = [16, 0, 0]}>} {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// As many lanes as warps share a row.
// CHECK-LABEL: func.func @rows_by_lanes
//  CHECK-SAME: workgroup_size = [256, 1, 1]
func.func @rows_by_lanes(%x: tensor<4096xf32>, %e: tensor<f32>) -> tensor<f32>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<4096xf32>) outs(%e : tensor<f32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[32], [0]], partial_reduction = [1024], subgroup_basis = [[8], [0]], thread = [4]}>} {
  ^bb0(%a: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// Each of two sums would lose those of the same five warps.
// CHECK-LABEL: func.func @two_sums
//  CHECK-SAME: workgroup_size = [32, 1, 1]
// CHECK-COUNT-2: subgroup_basis = {{\[}}[1], [0]]
func.func @two_sums(%x: tensor<5xf32>, %y: tensor<5xf32>, %e: tensor<f32>) -> (tensor<f32>, tensor<f32>)
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [160, 1, 1] subgroup_size = 32>} {
  // expected-remark @below {{IREE would lose the sums of some of 5 warps: it gets 1}}
  %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<5xf32>) outs(%e : tensor<f32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1], [0]], partial_reduction = [5], subgroup_basis = [[5], [0]], thread = [1]}>} {
  ^bb0(%a: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  // expected-remark @below {{IREE would lose the sums of some of 5 warps: it gets 1}}
  %1 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
      ins(%y : tensor<5xf32>) outs(%e : tensor<f32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1], [0]], partial_reduction = [5], subgroup_basis = [[5], [0]], thread = [1]}>} {
  ^bb0(%a: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
