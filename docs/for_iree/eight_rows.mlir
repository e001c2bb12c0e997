// Eight rows times a matrix.
func.func @main(%a: tensor<8x512xf16>, %b: tensor<512x256xf16>) -> tensor<8x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x256xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x256xf32>) -> tensor<8x256xf32>
  %product = linalg.matmul ins(%a, %b : tensor<8x512xf16>, tensor<512x256xf16>)
      outs(%zeros : tensor<8x256xf32>) -> tensor<8x256xf32>
  return %product : tensor<8x256xf32>
}
