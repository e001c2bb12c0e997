// A product of packed matrices in f32: 4 x 2 tiles of 8 x 1 elements, summed over 16 tiles.
func.func @main(%a: tensor<4x16x8x1xf32>, %b: tensor<2x16x8x1xf32>) -> tensor<4x2x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x2x8x8xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x2x8x8xf32>) -> tensor<4x2x8x8xf32>
  %product = linalg.mmt4d ins(%a, %b : tensor<4x16x8x1xf32>, tensor<2x16x8x1xf32>)
      outs(%filled : tensor<4x2x8x8xf32>) -> tensor<4x2x8x8xf32>
  return %product : tensor<4x2x8x8xf32>
}
