// A batched matmul whose sum of 20 elements no tile divides.
#a = affine_map<(b, m, n, k) -> (b, k, m)>
#b = affine_map<(b, m, n, k) -> (b, k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>
func.func @main(%a: tensor<2x20x7xf16>, %b: tensor<2x20x18xf16>) -> tensor<2x7x18xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x7x18xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x7x18xf32>) -> tensor<2x7x18xf32>
  %0 = linalg.generic {
      indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x20x7xf16>, tensor<2x20x18xf16>) outs(%zeros : tensor<2x7x18xf32>) {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %1 = arith.extf %x : f16 to f32
    %2 = arith.extf %y : f16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %sum, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<2x7x18xf32>
  return %0 : tensor<2x7x18xf32>
}
