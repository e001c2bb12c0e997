// An embedding lookup: rows of a table in f16 at places that an input gives.
func.func @main(%table: tensor<256x64xf16>, %places: tensor<4x32x1xi32>) -> tensor<4x32x64xf16> {
  %out = "stablehlo.gather"(%table, %places) {
      dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 2>,
      slice_sizes = array<i64: 1, 64>, indices_are_sorted = false}
      : (tensor<256x64xf16>, tensor<4x32x1xi32>) -> tensor<4x32x64xf16>
  return %out : tensor<4x32x64xf16>
}
