// Layer normalization with gain and bias, as torch lowers it to linalg.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @layernorm(%x: tensor<16x768xf32>, %gain: tensor<768xf32>, %bias: tensor<768xf32>)
    -> tensor<16x768xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 768.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %rows = tensor.empty() : tensor<16xf32>
  %full = tensor.empty() : tensor<16x768xf32>
  %init = linalg.fill ins(%zero : f32) outs(%rows : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<16x768xf32>) outs(%init : tensor<16xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.addf %acc, %a : f32
      linalg.yield %0 : f32
  } -> tensor<16xf32>
  %centred = linalg.generic {indexing_maps = [#full, #row, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<16x768xf32>, tensor<16xf32>) outs(%full : tensor<16x768xf32>) {
    ^bb0(%a: f32, %s: f32, %unused: f32):
      %mean = arith.divf %s, %count : f32
      %0 = arith.subf %a, %mean : f32
      linalg.yield %0 : f32
  } -> tensor<16x768xf32>
  %squares = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%centred : tensor<16x768xf32>) outs(%init : tensor<16xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.mulf %a, %a : f32
      %1 = arith.addf %acc, %0 : f32
      linalg.yield %1 : f32
  } -> tensor<16xf32>
  %out = linalg.generic {indexing_maps = [#full, #row, #column, #column, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%centred, %squares, %gain, %bias
          : tensor<16x768xf32>, tensor<16xf32>, tensor<768xf32>, tensor<768xf32>)
      outs(%full : tensor<16x768xf32>) {
    ^bb0(%a: f32, %s: f32, %g: f32, %b: f32, %unused: f32):
      %variance = arith.divf %s, %count : f32
      %safe = arith.addf %variance, %epsilon : f32
      %inverse = math.rsqrt %safe : f32
      %0 = arith.mulf %a, %inverse : f32
      %1 = arith.mulf %0, %g : f32
      %2 = arith.addf %1, %b : f32
      linalg.yield %2 : f32
  } -> tensor<16x768xf32>
  return %out : tensor<16x768xf32>
}
