// Attention whose waves share keys. Its last sums go through 2 rows of 32 words, of which every lane
// reads both: how many conflicts that has depends on what LLVM joins.
func.func @f(%a0: tensor<2x2x16x96xf16>, %a1: tensor<96xf16>, %a2: tensor<2x192x96xf16>, %a3: tensor<2x192x64xf16>, %a4: tensor<2x16x192xi1>) -> (tensor<2x2x64x16xf32>) {
  %v1 = tensor.empty() : tensor<2x2x16x96xf16>
  %v2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%a0, %a1 : tensor<2x2x16x96xf16>, tensor<96xf16>) outs(%v1 : tensor<2x2x16x96xf16>) {
  ^bb0(%i0: f16, %i1: f16, %o: f16):
    %r = arith.mulf %i0, %i1 : f16
    linalg.yield %r : f16
  } -> tensor<2x2x16x96xf16>
  %v3 = arith.constant 1.020620726e-01 : f16
  %v4 = tensor.empty() : tensor<2x2x64x16xf32>
  %v5 = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, h, m, d, k, n) -> (b, h, m, d)>, affine_map<(b, h, m, d, k, n) -> (b, k, d)>, affine_map<(b, h, m, d, k, n) -> (b, k, n)>, affine_map<(b, h, m, d, k, n) -> ()>, affine_map<(b, h, m, d, k, n) -> (b, m, k)>, affine_map<(b, h, m, d, k, n) -> (h, b, n, m)>]}> ins(%v2, %a2, %a3, %v3, %a4 : tensor<2x2x16x96xf16>, tensor<2x192x96xf16>, tensor<2x192x64xf16>, f16, tensor<2x16x192xi1>) outs(%v4 : tensor<2x2x64x16xf32>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x2x64x16xf32>
  %v6 = arith.constant 0.000000000e+00 : f32
  %v7 = tensor.empty() : tensor<2x2x64x16xf32>
  %v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v5 : tensor<2x2x64x16xf32>) outs(%v7 : tensor<2x2x64x16xf32>) {
  ^bb0(%i0: f32, %o: f32):
    %r = arith.maximumf %i0, %v6 : f32
    linalg.yield %r : f32
  } -> tensor<2x2x64x16xf32>
  return %v8 : tensor<2x2x64x16xf32>
}
