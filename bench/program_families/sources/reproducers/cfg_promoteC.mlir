// A matmul that promotes its accumulator too, which took more LDS instructions than stock.
func.func @main(%a: tensor<128x128xf16>, %b: tensor<128x128xf16>) -> tensor<128x128xf32> {
  %z0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x128xf32>
  %f = linalg.fill ins(%z0 : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %mm = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel","parallel","reduction"]} ins(%a, %b : tensor<128x128xf16>, tensor<128x128xf16>) outs(%f : tensor<128x128xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [2, 2, 0], workgroup = [64, 64, 0]}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64>>} {
   ^bb0(%x: f16, %y: f16, %c: f32):
     %x1 = arith.extf %x : f16 to f32
     %y1 = arith.extf %y : f16 to f32
     %p = arith.mulf %x1, %y1 : f32
     %s = arith.addf %c, %p : f32
     linalg.yield %s : f32
  } -> tensor<128x128xf32>
  return %mm : tensor<128x128xf32>
}
