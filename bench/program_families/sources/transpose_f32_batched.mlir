// The transposes of matrices with odd sides.
func.func @transpose(%x: tensor<3x33x65xf32>) -> tensor<3x65x33xf32> {
  %empty = tensor.empty() : tensor<3x65x33xf32>
  %out = linalg.transpose ins(%x : tensor<3x33x65xf32>) outs(%empty : tensor<3x65x33xf32>)
      permutation = [0, 2, 1]
  return %out : tensor<3x65x33xf32>
}
