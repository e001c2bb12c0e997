// Sums of rows whose length is no power of two.
func.func @reduce(%x: tensor<64x1000xf32>) -> tensor<64xf32> {
  %start = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%start : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %out = linalg.reduce { arith.addf } ins(%x : tensor<64x1000xf32>) outs(%init : tensor<64xf32>)
      dimensions = [1]
  return %out : tensor<64xf32>
}
