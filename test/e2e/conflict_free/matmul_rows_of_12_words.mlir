// A step of 12 elements: rows of 12 words, of which every eighth begins at the same bank.
func.func @f(%a0: tensor<64x96xf32>, %a1: tensor<64x96xf32>) -> (tensor<64x64xf32>) {
  %v1 = tensor.empty() : tensor<64x64xf32>
  %v2 = arith.constant 0.000000000e+00 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %v4 = linalg.generic {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>, promote_operands = [0, 1], reduction = [0, 0, 3], subgroup = [2, 2, 0], workgroup = [32, 64, 0]}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64>>, indexing_maps = [affine_map<(m, k, n) -> (m, k)>, affine_map<(m, k, n) -> (n, k)>, affine_map<(m, k, n) -> (m, n)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%a0, %a1 : tensor<64x96xf32>, tensor<64x96xf32>) outs(%v3 : tensor<64x64xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %m = arith.mulf %i0, %i1 : f32
    %r = arith.addf %o, %m : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  return %v4 : tensor<64x64xf32>
}
