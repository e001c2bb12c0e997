// A matmul whose sizes are no multiples of a tile.
func.func @main(%a: tensor<1000x1000xf16>, %b: tensor<1000x1000xf16>) -> tensor<1000x1000xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1000x1000xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %out = linalg.matmul ins(%a, %b : tensor<1000x1000xf16>, tensor<1000x1000xf16>)
      outs(%fill : tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  return %out : tensor<1000x1000xf32>
}
