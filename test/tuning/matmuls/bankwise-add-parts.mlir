// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-add-parts))' --mlir-print-local-scope | FileCheck %s

// Four warps have a part of each sum. All of their lanes get all parts of a few elements through the LDS.

// CHECK-LABEL: func.func @parts
// CHECK-SAME:    %[[A:.+]]: tensor<16x4x96xf32>, %[[B:.+]]: tensor<4x96x32xf32>, %[[C:.+]]: tensor<16x32xf32>
// CHECK:         %[[P:.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d2, d0, d1)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK-SAME:      subgroup_basis
// CHECK:         %[[S:.+]] = iree_vector_ext.to_layout %[[P]] to layout(#iree_vector_ext.nested_layout<subgroup_tile = [1, 4, 1], batch_tile = [4, 1, 1], outer_tile = [1, 1, 1], thread_tile = [1, 4, 8], element_tile = [1, 1, 4], subgroup_strides = [0, 1, 0], thread_strides = [0, 8, 1]>) <shared_memory_conversion = #iree_gpu.derived_thread_config> : tensor<4x16x32xf32>
// CHECK:         %[[R:.+]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[S]] : tensor<4x16x32xf32>) outs(%[[C]] : tensor<16x32xf32>)
// CHECK:         return %[[R]]
func.func @parts(%a: tensor<16x4x96xf32>, %b: tensor<4x96x32xf32>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, p, k) -> (m, p, k)>, affine_map<(m, n, p, k) -> (p, k, n)>, affine_map<(m, n, p, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<16x4x96xf32>, tensor<4x96x32xf32>) outs(%c : tensor<16x32xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[4, 8, 1, 1], [0, 1, 2, 3]], promote_operands = [0, 1], reduction = [0, 0, 0, 32], subgroup_basis = [[1, 1, 4, 1], [0, 1, 2, 3]], thread = [1, 4, 1, 4], workgroup = [16, 32, 0, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}

// Sums that no warps share stay.

// CHECK-LABEL: func.func @whole
// CHECK-NOT:     to_layout
func.func @whole(%a: tensor<16x96xf32>, %b: tensor<96x32xf32>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x96xf32>, tensor<96x32xf32>) outs(%c : tensor<16x32xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[4, 8, 1], [0, 1, 2]], promote_operands = [0, 1], reduction = [0, 0, 32], subgroup_basis = [[4, 1, 1], [0, 1, 2]], thread = [1, 4, 4], workgroup = [16, 32, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}

// So do those with a configuration of another kind.

// CHECK-LABEL: func.func @configured_otherwise
// CHECK-NOT:     to_layout
func.func @configured_otherwise(%a: tensor<16x4x96xf32>, %b: tensor<4x96x32xf32>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, p, k) -> (m, p, k)>, affine_map<(m, n, p, k) -> (p, k, n)>, affine_map<(m, n, p, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<16x4x96xf32>, tensor<4x96x32xf32>) outs(%c : tensor<16x32xf32>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[16, 32]]>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
