// A matmul of packed tiles: the replay swapped two of the shifts of stock.
func.func @main(%a0: tensor<4x8x16x16xf16>, %a1: tensor<4x8x16x16xf16>) -> tensor<4x4x16x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4x16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4x16x16xf32>) -> tensor<4x4x16x16xf32>
  %r = linalg.mmt4d  ins(%a0, %a1 : tensor<4x8x16x16xf16>, tensor<4x8x16x16xf16>) outs(%f : tensor<4x4x16x16xf32>) -> tensor<4x4x16x16xf32>
  return %r : tensor<4x4x16x16xf32>
}
