// Decoding: eight heads with one query row each.
func.func @main(%q: tensor<8x1x128xf16>, %k: tensor<8x512x128xf16>, %v: tensor<8x512x128xf16>) -> tensor<8x1x128xf16> {
  %s = arith.constant 1.000000e-01 : f16
  %e = tensor.empty() : tensor<8x1x128xf16>
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<8x1x128xf16>, tensor<8x512x128xf16>, tensor<8x512x128xf16>, f16) outs(%e : tensor<8x1x128xf16>) {
    ^bb0(%sc: f32): iree_linalg_ext.yield %sc : f32
  } -> tensor<8x1x128xf16>
  return %r : tensor<8x1x128xf16>
}
