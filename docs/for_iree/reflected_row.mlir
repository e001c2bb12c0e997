// The first 40 elements behind the first one, the last of them first, as a row is padded with its reflection.
func.func @main(%row: tensor<100xf32>) -> tensor<40xf32> {
  %part = tensor.extract_slice %row[1] [40] [1] : tensor<100xf32> to tensor<40xf32>
  %e = tensor.empty() : tensor<40xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (-d0 + 39)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%part : tensor<40xf32>) outs(%e : tensor<40xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<40xf32>
  return %0 : tensor<40xf32>
}
