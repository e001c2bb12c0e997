func.func @main(%a: tensor<2x2x32x128xf32>, %b: tensor<32x128xf32>) -> tensor<2xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, k, l) -> (m, m, k, l)>, affine_map<(m, k, l) -> (k, l)>, affine_map<(m, k, l) -> (m)>],
      iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<2x2x32x128xf32>, tensor<32x128xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  return %sum : tensor<2xf32>
}
