// A matmul of packed tiles that indexes registers by register M0.
func.func @main(%a0: tensor<8x16x8x1xf32>, %a1: tensor<8x16x8x1xf32>) -> tensor<8x8x8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8x8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
  %r = linalg.mmt4d  ins(%a0, %a1 : tensor<8x16x8x1xf32>, tensor<8x16x8x1xf32>) outs(%f : tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
  return %r : tensor<8x8x8x8xf32>
}
