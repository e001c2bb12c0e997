// A grouped convolution whose filter is in the order (row, column, group, channel, filter).
#image = affine_map<(y, x, g, f, r, s, c) -> (y + r, x + s, g, c)>
#filter = affine_map<(y, x, g, f, r, s, c) -> (r, s, g, c, f)>
#output = affine_map<(y, x, g, f, r, s, c) -> (y, x, g, f)>
func.func @main(%image: tensor<3x3x2x2xf16>, %filter: tensor<2x2x2x2x2xf16>) -> tensor<2x2x2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x2x2x2xf32>
  %sums = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xf32>
  %result = linalg.generic {
      indexing_maps = [#image, #filter, #output],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%image, %filter : tensor<3x3x2x2xf16>, tensor<2x2x2x2x2xf16>)
      outs(%sums : tensor<2x2x2x2xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x2x2x2xf32>
  return %result : tensor<2x2x2x2xf32>
}
