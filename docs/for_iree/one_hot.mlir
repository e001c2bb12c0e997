// The rows of a table that numbers choose, as `jax.nn.one_hot(place, 8) @ table` writes it.
func.func @main(%place: tensor<4xi32>, %table: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.broadcast_in_dim %place, dims = [0] : (tensor<4xi32>) -> tensor<4x8xi32>
  %1 = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %2 = stablehlo.compare EQ, %0, %1 : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
  %3 = stablehlo.convert %2 : (tensor<4x8xi1>) -> tensor<4x8xf32>
  %4 = stablehlo.dot_general %3, %table, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}
