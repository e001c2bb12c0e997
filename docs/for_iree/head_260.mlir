// Attention with one row, 32 keys and a head of 260 in f32.
func.func @main(%q: tensor<1x1x260xf32>, %k: tensor<1x32x260xf32>, %v: tensor<1x32x1xf32>) -> tensor<1x1x1xf32> {
  %scale = arith.constant 0.125 : f32
  %empty = tensor.empty() : tensor<1x1x1xf32>
  %out = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>,
      affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}>
      ins(%q, %k, %v, %scale : tensor<1x1x260xf32>, tensor<1x32x260xf32>, tensor<1x32x1xf32>, f32) outs(%empty : tensor<1x1x1xf32>) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> tensor<1x1x1xf32>
  return %out : tensor<1x1x1xf32>
}
