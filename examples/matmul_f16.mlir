// A 2048x2048x2048 matmul of f16 matrices, accumulated in f32.
func.func @matmul(%a: tensor<2048x2048xf16>, %b: tensor<2048x2048xf16>) -> tensor<2048x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %out = linalg.matmul ins(%a, %b : tensor<2048x2048xf16>, tensor<2048x2048xf16>)
      outs(%init : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %out : tensor<2048x2048xf32>
}
