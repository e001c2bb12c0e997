// The places of elements in sorted rows, where equal elements keep their order.
func.func @main(%rows: tensor<2x4xf32>) -> tensor<2x4xi32> {
  %places = stablehlo.iota dim = 1 : tensor<2x4xi32>
  %sorted:2 = "stablehlo.sort"(%rows, %places) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %before = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x4xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
  return %sorted#1 : tensor<2x4xi32>
}
