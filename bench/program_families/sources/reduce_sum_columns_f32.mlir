// Sums of columns.
func.func @reduce(%x: tensor<512x96xf32>) -> tensor<96xf32> {
  %start = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96xf32>
  %init = linalg.fill ins(%start : f32) outs(%empty : tensor<96xf32>) -> tensor<96xf32>
  %out = linalg.reduce { arith.addf } ins(%x : tensor<512x96xf32>) outs(%init : tensor<96xf32>)
      dimensions = [0]
  return %out : tensor<96xf32>
}
