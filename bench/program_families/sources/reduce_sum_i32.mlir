// Sums of integers.
func.func @reduce(%x: tensor<16x700xi32>) -> tensor<16xi32> {
  %start = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16xi32>
  %init = linalg.fill ins(%start : i32) outs(%empty : tensor<16xi32>) -> tensor<16xi32>
  %out = linalg.reduce { arith.addi } ins(%x : tensor<16x700xi32>) outs(%init : tensor<16xi32>)
      dimensions = [1]
  return %out : tensor<16xi32>
}
