// A dense constant, which the compiler puts into read-only data.
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %b = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0]> : tensor<8xf32>
  %r = arith.addf %a, %b : tensor<8xf32>
  return %r : tensor<8xf32>
}
