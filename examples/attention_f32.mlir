// Attention in f32: softmax(q k^T / sqrt(128)) v with batch 1, sequence 1024, head dimension 128.
// 8.838834765e-02 is 1 / sqrt(128).
func.func @attention(%q: tensor<1x1024x128xf32>, %k: tensor<1x1024x128xf32>, %v: tensor<1x1024x128xf32>) -> tensor<1x1024x128xf32> {
  %scale = arith.constant 8.838834765e-02 : f32
  %out = tensor.empty() : tensor<1x1024x128xf32>
  %r = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>,
      affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}>
      ins(%q, %k, %v, %scale : tensor<1x1024x128xf32>, tensor<1x1024x128xf32>, tensor<1x1024x128xf32>, f32) outs(%out : tensor<1x1024x128xf32>) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> tensor<1x1024x128xf32>
  return %r : tensor<1x1024x128xf32>
}
