// Maxima of rows.
func.func @reduce(%x: tensor<32x512xf16>) -> tensor<32xf16> {
  %start = arith.constant 0xFC00 : f16
  %empty = tensor.empty() : tensor<32xf16>
  %init = linalg.fill ins(%start : f16) outs(%empty : tensor<32xf16>) -> tensor<32xf16>
  %out = linalg.reduce { arith.maximumf } ins(%x : tensor<32x512xf16>) outs(%init : tensor<32xf16>)
      dimensions = [1]
  return %out : tensor<32xf16>
}
