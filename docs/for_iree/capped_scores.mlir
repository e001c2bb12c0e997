// Attention whose scores are capped.
func.func @main(%q: tensor<2x64x64xf16>, %k: tensor<2x64x64xf16>, %v: tensor<2x64x64xf16>) -> tensor<2x64x64xf16> {
  %scale = arith.constant 0.125 : f16
  %e = tensor.empty() : tensor<2x64x64xf16>
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %scale : tensor<2x64x64xf16>, tensor<2x64x64xf16>, tensor<2x64x64xf16>, f16) outs(%e : tensor<2x64x64xf16>) {
  ^bb0(%score: f32):
    %t = math.tanh %score : f32
    iree_linalg_ext.yield %t : f32
  } -> tensor<2x64x64xf16>
  return %r : tensor<2x64x64xf16>
}
