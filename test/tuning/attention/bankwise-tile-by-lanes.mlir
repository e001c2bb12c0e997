// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-tile-by-lanes))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>

// A lane has 8 rows, 4 keys and 8 columns, and reads 4 elements of the head at once.

// CHECK-LABEL: func.func @head_64
// CHECK-SAME:    workgroup_size = [256, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}
// CHECK:       pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = {{\[}}[1, 4, 1, 1, 8], [0, 1, 3, 4]], promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = {{\[}}[1, 8, 1, 1, 1], [0, 1, 3, 4]], thread = [0, 0, 4, 4]}>}
// CHECK-SAME:  qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = {{\[}}[1, 4, 1, 8, 1], [0, 1, 2, 3]], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = {{\[}}[1, 8, 1, 1, 1], [0, 1, 2, 3]], thread = [0, 0, 4, 1]}>}
// CHECK-SAME:  {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 32, 0], workgroup = [1, 256, 0, 0, 64]}>}
// expected-remark @+2 {{tile of a workgroup: 256 rows x 64 columns, 32 keys a step, 8 warps of 4 x 8 lanes, in the place of one row, is predicted to take 736.2 us}}
func.func @head_64(%q: tensor<16x2048x64xf32>, %k: tensor<16x2048x64xf32>, %v: tensor<16x2048x64xf32>, %s: f32, %o: tensor<16x2048x64xf32>, %m: tensor<16x2048xf32>) -> tensor<16x2048x64xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 16, 2], [1, 0, 3, 4]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 3, 4]], thread = [0, 0, 0, 4]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 2, 16, 1], [1, 0, 2, 3]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 2, 3]], thread = [0, 0, 4, 0]}>}}> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0], workgroup = [1, 1, 0, 0, 16]}>} ins(%q, %k, %v, %s : tensor<16x2048x64xf32>, tensor<16x2048x64xf32>, tensor<16x2048x64xf32>, f32) outs(%o, %m, %m : tensor<16x2048x64xf32>, tensor<16x2048xf32>, tensor<16x2048xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x2048x64xf32>, tensor<16x2048xf32>, tensor<16x2048xf32>
  return %r#0 : tensor<16x2048x64xf32>
}

// No tile divides the 77 keys, and the caller's tensors cannot be larger.

// CHECK-LABEL: func.func @keys_77
// CHECK:         partial_reduction = [0, 0, 0, 128, 0]
// expected-remark @+1 {{the attention is computed one row at a time: tensor<16x77x64xf32> is no buffer's, and cannot have another size}}
func.func @keys_77(%q: tensor<16x2048x64xf32>, %k: tensor<16x77x64xf32>, %v: tensor<16x77x64xf32>, %s: f32, %o: tensor<16x2048x64xf32>, %m: tensor<16x2048xf32>) -> tensor<16x2048x64xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 16, 2], [1, 0, 3, 4]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 3, 4]], thread = [0, 0, 0, 4]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 2, 16, 1], [1, 0, 2, 3]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 2, 3]], thread = [0, 0, 4, 0]}>}}> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0], workgroup = [1, 1, 0, 0, 16]}>} ins(%q, %k, %v, %s : tensor<16x2048x64xf32>, tensor<16x77x64xf32>, tensor<16x77x64xf32>, f32) outs(%o, %m, %m : tensor<16x2048x64xf32>, tensor<16x2048xf32>, tensor<16x2048xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x2048x64xf32>, tensor<16x2048xf32>, tensor<16x2048xf32>
  return %r#0 : tensor<16x2048x64xf32>
}

// One copy of K and V would have two layouts.

// CHECK-LABEL: func.func @one_tensor
// CHECK:         partial_reduction = [0, 0, 0, 128, 0]
// expected-remark @+1 {{the attention is computed one row at a time: two of Q, K and V are one tensor}}
func.func @one_tensor(%q: tensor<16x2048x64xf32>, %k: tensor<16x2048x64xf32>, %v: tensor<16x2048x64xf32>, %s: f32, %o: tensor<16x2048x64xf32>, %m: tensor<16x2048xf32>) -> tensor<16x2048x64xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 16, 2], [1, 0, 3, 4]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 3, 4]], thread = [0, 0, 0, 4]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 2, 16, 1], [1, 0, 2, 3]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 2, 3]], thread = [0, 0, 4, 0]}>}}> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0], workgroup = [1, 1, 0, 0, 16]}>} ins(%q, %k, %k, %s : tensor<16x2048x64xf32>, tensor<16x2048x64xf32>, tensor<16x2048x64xf32>, f32) outs(%o, %m, %m : tensor<16x2048x64xf32>, tensor<16x2048xf32>, tensor<16x2048xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x2048x64xf32>, tensor<16x2048xf32>, tensor<16x2048xf32>
  return %r#0 : tensor<16x2048x64xf32>
}

// A row after the other takes no longer.

// CHECK-LABEL: func.func @one_row
// CHECK:         partial_reduction = [0, 0, 0, 128, 0]
// expected-remark @+1 {{the attention is computed one row at a time: 1 rows x 64 columns, 32 keys a step, 1 warps of 1 x 32 lanes is predicted to take 5.7 us, of 4.5 us}}
func.func @one_row(%q: tensor<2x1x64xf32>, %k: tensor<2x64x64xf32>, %v: tensor<2x64x64xf32>, %s: f32, %o: tensor<2x1x64xf32>, %m: tensor<2x1xf32>) -> tensor<2x1x64xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 16, 2], [1, 0, 3, 4]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 3, 4]], thread = [0, 0, 0, 4]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 2, 16, 1], [1, 0, 2, 3]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 2, 3]], thread = [0, 0, 4, 0]}>}}> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0], workgroup = [1, 1, 0, 0, 16]}>} ins(%q, %k, %v, %s : tensor<2x1x64xf32>, tensor<2x64x64xf32>, tensor<2x64x64xf32>, f32) outs(%o, %m, %m : tensor<2x1x64xf32>, tensor<2x1xf32>, tensor<2x1xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x1x64xf32>, tensor<2x1xf32>, tensor<2x1xf32>
  return %r#0 : tensor<2x1x64xf32>
}

// There is a matrix instruction for f16, which is another pass's.

// CHECK-LABEL: func.func @f16
// CHECK:         partial_reduction = [0, 0, 0, 128, 0]
func.func @f16(%q: tensor<16x2048x64xf16>, %k: tensor<16x2048x64xf16>, %v: tensor<16x2048x64xf16>, %s: f16, %o: tensor<16x2048x64xf32>, %m: tensor<16x2048xf32>) -> tensor<16x2048x64xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 16, 2], [1, 0, 3, 4]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 3, 4]], thread = [0, 0, 0, 4]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 2, 16, 1], [1, 0, 2, 3]], subgroup_basis = [[1, 1, 1, 8, 1], [0, 1, 2, 3]], thread = [0, 0, 4, 0]}>}}> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0], workgroup = [1, 1, 0, 0, 16]}>} ins(%q, %k, %v, %s : tensor<16x2048x64xf16>, tensor<16x2048x64xf16>, tensor<16x2048x64xf16>, f16) outs(%o, %m, %m : tensor<16x2048x64xf32>, tensor<16x2048xf32>, tensor<16x2048xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x2048x64xf32>, tensor<16x2048xf32>, tensor<16x2048xf32>
  return %r#0 : tensor<16x2048x64xf32>
}
