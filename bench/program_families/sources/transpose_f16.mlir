// The transpose of a matrix.
func.func @transpose(%x: tensor<128x192xf16>) -> tensor<192x128xf16> {
  %empty = tensor.empty() : tensor<192x128xf16>
  %out = linalg.transpose ins(%x : tensor<128x192xf16>) outs(%empty : tensor<192x128xf16>)
      permutation = [1, 0]
  return %out : tensor<192x128xf16>
}
