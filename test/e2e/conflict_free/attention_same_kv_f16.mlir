// Attention whose K and V are one tensor: IREE stages its vector a second time for K, and MLIR folds
// the copy to the first tile, which is then read in two ways.
func.func @f(%a0: tensor<2x64x64xf16>, %a1: tensor<2x128x64xf16>) -> (tensor<2x64x64xf16>) {
  %v1 = arith.constant 1.250000000e-01 : f16
  %v2 = tensor.empty() : tensor<2x64x64xf16>
  %v3 = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, d, k, n) -> (b, m, d)>, affine_map<(b, m, d, k, n) -> (b, k, d)>, affine_map<(b, m, d, k, n) -> (b, k, n)>, affine_map<(b, m, d, k, n) -> ()>, affine_map<(b, m, d, k, n) -> (b, m, n)>]}> ins(%a0, %a1, %a1, %v1 : tensor<2x64x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, f16) outs(%v2 : tensor<2x64x64xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x64x64xf16>
  return %v3 : tensor<2x64x64xf16>
}
