// A sum over two dimensions, k and l, which the factors have in two orders.
func.func @main(%a: tensor<4x3x64x2xf32>, %b: tensor<2x3x4xf32>) -> tensor<64x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x4xf32>) -> tensor<64x4xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, b, k, l) -> (b, k, m, l)>, affine_map<(m, b, k, l) -> (l, k, b)>,
                       affine_map<(m, b, k, l) -> (m, b)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<4x3x64x2xf32>, tensor<2x3x4xf32>) outs(%fill : tensor<64x4xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<64x4xf32>
  return %sum : tensor<64x4xf32>
}
