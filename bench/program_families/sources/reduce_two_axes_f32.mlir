// Sums over the first and the last axis.
func.func @reduce(%x: tensor<8x24x40xf32>) -> tensor<24xf32> {
  %start = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<24xf32>
  %init = linalg.fill ins(%start : f32) outs(%empty : tensor<24xf32>) -> tensor<24xf32>
  %out = linalg.reduce { arith.addf } ins(%x : tensor<8x24x40xf32>) outs(%init : tensor<24xf32>)
      dimensions = [0, 2]
  return %out : tensor<24xf32>
}
