// Rows are added into a table at places that an input gives; no place occurs twice.
func.func @main(%table: tensor<64x32xf32>, %places: tensor<16x1xi32>, %rows: tensor<16x32xf32>)
    -> tensor<64x32xf32> {
  %out = "stablehlo.scatter"(%table, %places, %rows) ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      %sum = stablehlo.add %old, %new : tensor<f32>
      stablehlo.return %sum : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
      indices_are_sorted = false, unique_indices = true}
      : (tensor<64x32xf32>, tensor<16x1xi32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  return %out : tensor<64x32xf32>
}
