// Rows of a table at places that an input gives.
func.func @gather(%table: tensor<100x48xf32>, %places: tensor<64xi32>) -> tensor<64x48xf32> {
  %empty = tensor.empty() : tensor<64x48xf32>
  %out = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%places : tensor<64xi32>) outs(%empty : tensor<64x48xf32>) {
    ^bb0(%place: i32, %unused: f32):
      %row = arith.index_cast %place : i32 to index
      %column = linalg.index 1 : index
      %value = tensor.extract %table[%row, %column] : tensor<100x48xf32>
      linalg.yield %value : f32
  } -> tensor<64x48xf32>
  return %out : tensor<64x48xf32>
}
