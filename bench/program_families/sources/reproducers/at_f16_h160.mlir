// Attention with head 160: its late reduction across subgroups got a padding with conflicts.
func.func @main(%q: tensor<1x128x160xf16>, %k: tensor<1x128x160xf16>, %v: tensor<1x128x160xf16>) -> tensor<1x128x160xf16> {
  %s = arith.constant 1.000000e-01 : f16
  %e = tensor.empty() : tensor<1x128x160xf16>
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<1x128x160xf16>, tensor<1x128x160xf16>, tensor<1x128x160xf16>, f16) outs(%e : tensor<1x128x160xf16>) {
    ^bb0(%sc: f32): iree_linalg_ext.yield %sc : f32
  } -> tensor<1x128x160xf16>
  return %r : tensor<1x128x160xf16>
}
