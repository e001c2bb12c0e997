// The same in f32, through 16 keys a step.
func.func @f(%a0: tensor<1x64x32xf32>, %a1: tensor<1x64x32xf32>) -> (tensor<1x64x32xf32>) {
  %v1 = arith.constant 1.767766953e-01 : f32
  %v2 = tensor.empty() : tensor<1x64x32xf32>
  %v3 = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, d, k, n) -> (b, m, d)>, affine_map<(b, m, d, k, n) -> (b, k, d)>, affine_map<(b, m, d, k, n) -> (b, k, n)>, affine_map<(b, m, d, k, n) -> ()>, affine_map<(b, m, d, k, n) -> (b, m, n)>]}> ins(%a0, %a1, %a1, %v1 : tensor<1x64x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32>, f32) outs(%v2 : tensor<1x64x32xf32>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<1x64x32xf32>
  return %v3 : tensor<1x64x32xf32>
}
