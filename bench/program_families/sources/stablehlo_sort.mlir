// Rows sorted upwards, with the places where the values stood.
func.func @main(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xi32>) {
  %places = stablehlo.iota dim = 1 : tensor<8x64xi32>
  %sorted:2 = "stablehlo.sort"(%x, %places) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
      %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true}
      : (tensor<8x64xf32>, tensor<8x64xi32>) -> (tensor<8x64xf32>, tensor<8x64xi32>)
  return %sorted#0, %sorted#1 : tensor<8x64xf32>, tensor<8x64xi32>
}
