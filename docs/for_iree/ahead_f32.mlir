// An attention in f32 whose configuration asks that copies be loaded a step ahead.
#derived = #iree_gpu.derived_thread_config
#kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>
#qk = #iree_gpu.lowering_config<{mma_kind = #kind, promote_operands = [0, 1], promotion_types = [#derived, #derived], subgroup_basis = [[4, 1, 1, 1], [0, 2, 3]]}>
#pv = #iree_gpu.lowering_config<{mma_kind = #kind, promote_operands = [1], promotion_types = [#derived], subgroup_basis = [[4, 1, 1, 1], [0, 1, 3]]}>
#tiles = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#derived, #derived, #derived], reduction = [0, 0, 0, 16], workgroup = [64, 64, 0, 0]}>
#ahead = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>
func.func @main(%q: tensor<64x64xf32>, %k: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %scale = arith.constant 0.125 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %out = iree_linalg_ext.attention <{
      indexing_maps = [affine_map<(m, n, k1, k2) -> (m, k1)>, affine_map<(m, n, k1, k2) -> (k2, k1)>, affine_map<(m, n, k1, k2) -> (k2, n)>, affine_map<(m, n, k1, k2) -> ()>, affine_map<(m, n, k1, k2) -> (m, n)>],
      decomposition_config = {pv_attrs = {lowering_config = #pv}, qk_attrs = {lowering_config = #qk}}}>
      {compilation_info = #iree_codegen.compilation_info<lowering_config = #tiles, translation_info = #ahead>}
      ins(%q, %k, %v, %scale : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, f32)
      outs(%empty : tensor<64x64xf32>) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> tensor<64x64xf32>
  return %out : tensor<64x64xf32>
}
