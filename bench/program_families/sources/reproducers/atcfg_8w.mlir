// Attention over eight waves with a configuration of its own, which kept conflicts.
#qk = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_basis = [[1, 8, 1, 1, 1], [0, 1, 3, 4]], promote_operands = [1]}>
#pv = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_basis = [[1, 8, 1, 1, 1], [0, 1, 2, 4]], promote_operands = [1]}>
func.func @main(%q: tensor<2x128x96xf16>, %k: tensor<2x128x96xf16>, %v: tensor<2x128x96xf16>) -> tensor<2x128x96xf16> {
  %s = arith.constant 0.1 : f16
  %e = tensor.empty() : tensor<2x128x96xf16>
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b,m,n,k1,k2)->(b,m,k1)>, affine_map<(b,m,n,k1,k2)->(b,k2,k1)>, affine_map<(b,m,n,k1,k2)->(b,k2,n)>, affine_map<(b,m,n,k1,k2)->()>, affine_map<(b,m,n,k1,k2)->(b,m,n)>], decomposition_config = {qk_attrs = {attention_qk_matmul, lowering_config = #qk}, pv_attrs = {attention_pv_matmul, lowering_config = #pv}}}> {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 32], workgroup = [1, 128, 0, 0, 0]}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64>>} ins(%q, %k, %v, %s : tensor<2x128x96xf16>, tensor<2x128x96xf16>, tensor<2x128x96xf16>, f16) outs(%e : tensor<2x128x96xf16>) {
    ^bb0(%sc: f32): iree_linalg_ext.yield %sc : f32
  } -> tensor<2x128x96xf16>
  return %r : tensor<2x128x96xf16>
}
