// An attention of one row of Q. How many rows K and V have only the program knows.
func.func @main(%q: tensor<1x1x32xf16>, %k: tensor<1x?x32xf16>, %v: tensor<1x?x16xf16>)
    -> tensor<1x1x16xf16> {
  %scale = arith.constant 1.0 : f16
  %empty = tensor.empty() : tensor<1x1x16xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}>
      ins(%q, %k, %v, %scale
          : tensor<1x1x32xf16>, tensor<1x?x32xf16>, tensor<1x?x16xf16>, f16)
      outs(%empty : tensor<1x1x16xf16>) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> tensor<1x1x16xf16>
  return %result : tensor<1x1x16xf16>
}
