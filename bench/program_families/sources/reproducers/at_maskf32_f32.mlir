// Attention in f32 with a mask: the swizzled layout took many more LDS instructions.
func.func @main(%q: tensor<2x128x64xf32>, %k: tensor<2x256x64xf32>, %v: tensor<2x256x64xf32>, %m: tensor<2x128x256xf32>) -> tensor<2x128x64xf32> {
  %s = arith.constant 1.000000e-01 : f32
  %e = tensor.empty() : tensor<2x128x64xf32>
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>, affine_map<(b, m, n, k1, k2) -> (b, m, k2)>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}> ins(%q, %k, %v, %s, %m : tensor<2x128x64xf32>, tensor<2x256x64xf32>, tensor<2x256x64xf32>, f32, tensor<2x128x256xf32>) outs(%e : tensor<2x128x64xf32>) {
    ^bb0(%sc: f32): iree_linalg_ext.yield %sc : f32
  } -> tensor<2x128x64xf32>
  return %r : tensor<2x128x64xf32>
}
