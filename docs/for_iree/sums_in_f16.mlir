// A matmul that sums in f16.
func.func @main(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<64x64xf16>
  %fill = linalg.fill ins(%zero : f16) outs(%empty : tensor<64x64xf16>) -> tensor<64x64xf16>
  %out = linalg.matmul ins(%a, %b : tensor<64x64xf16>, tensor<64x64xf16>)
      outs(%fill : tensor<64x64xf16>) -> tensor<64x64xf16>
  return %out : tensor<64x64xf16>
}
