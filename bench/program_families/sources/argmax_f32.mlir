// The largest value of each row and its place.
func.func @argmax(%x: tensor<16x512xf32>) -> (tensor<16xf32>, tensor<16xi32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %values = tensor.empty() : tensor<16xf32>
  %places = tensor.empty() : tensor<16xi32>
  %v = linalg.fill ins(%lowest : f32) outs(%values : tensor<16xf32>) -> tensor<16xf32>
  %p = linalg.fill ins(%zero : i32) outs(%places : tensor<16xi32>) -> tensor<16xi32>
  %out:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<16x512xf32>) outs(%v, %p : tensor<16xf32>, tensor<16xi32>) {
    ^bb0(%a: f32, %best: f32, %place: i32):
      %j = linalg.index 1 : index
      %here = arith.index_cast %j : index to i32
      %larger = arith.cmpf ogt, %a, %best : f32
      %0 = arith.select %larger, %a, %best : f32
      %1 = arith.select %larger, %here, %place : i32
      linalg.yield %0, %1 : f32, i32
  } -> (tensor<16xf32>, tensor<16xi32>)
  return %out#0, %out#1 : tensor<16xf32>, tensor<16xi32>
}
