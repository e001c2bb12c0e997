// Attention in f32 with head 80: MODE of some waves, and a late padding with conflicts.
func.func @main(%q: tensor<1x128x80xf32>, %k: tensor<1x128x80xf32>, %v: tensor<1x128x80xf32>) -> tensor<1x128x80xf32> {
  %s = arith.constant 1.000000e-01 : f32
  %e = tensor.empty() : tensor<1x128x80xf32>
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<1x128x80xf32>, tensor<1x128x80xf32>, tensor<1x128x80xf32>, f32) outs(%e : tensor<1x128x80xf32>) {
    ^bb0(%sc: f32): iree_linalg_ext.yield %sc : f32
  } -> tensor<1x128x80xf32>
  return %r : tensor<1x128x80xf32>
}
