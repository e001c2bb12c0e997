// Root-mean-square normalization as language models have it: f16 in and out, the sum in f32.
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @rmsnorm(%x: tensor<16x512xf16>, %gain: tensor<512xf16>) -> tensor<16x512xf16> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 512.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %rows = tensor.empty() : tensor<16xf32>
  %full = tensor.empty() : tensor<16x512xf16>
  %init = linalg.fill ins(%zero : f32) outs(%rows : tensor<16xf32>) -> tensor<16xf32>
  %squares = linalg.generic {indexing_maps = [#full, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<16x512xf16>) outs(%init : tensor<16xf32>) {
    ^bb0(%a: f16, %acc: f32):
      %0 = arith.extf %a : f16 to f32
      %1 = arith.mulf %0, %0 : f32
      %2 = arith.addf %acc, %1 : f32
      linalg.yield %2 : f32
  } -> tensor<16xf32>
  %out = linalg.generic {indexing_maps = [#full, #row, #column, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares, %gain : tensor<16x512xf16>, tensor<16xf32>, tensor<512xf16>)
      outs(%full : tensor<16x512xf16>) {
    ^bb0(%a: f16, %s: f32, %g: f16, %unused: f16):
      %mean = arith.divf %s, %count : f32
      %safe = arith.addf %mean, %epsilon : f32
      %inverse = math.rsqrt %safe : f32
      %wide = arith.extf %a : f16 to f32
      %0 = arith.mulf %wide, %inverse : f32
      %1 = arith.extf %g : f16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.truncf %2 : f32 to f16
      linalg.yield %3 : f16
  } -> tensor<16x512xf16>
  return %out : tensor<16x512xf16>
}
