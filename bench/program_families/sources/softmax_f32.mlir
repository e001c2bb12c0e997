// Softmax of long rows.
func.func @softmax(%x: tensor<16x1024xf32>) -> tensor<16x1024xf32> {
  %empty = tensor.empty() : tensor<16x1024xf32>
  %out = linalg.softmax dimension(1) ins(%x : tensor<16x1024xf32>)
      outs(%empty : tensor<16x1024xf32>) -> tensor<16x1024xf32>
  return %out : tensor<16x1024xf32>
}
