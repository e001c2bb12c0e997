// The gradient of a convolution by its image, of 3x3 places with 2 channels (c): sums over the 2 filters (f). The
// filter is in the order (row, column, channel, filter), with its rows and columns from the last one on.
#sums = affine_map<(y, x, c, r, s, f) -> (y + r, x + s, f)>
#filter = affine_map<(y, x, c, r, s, f) -> (r, s, c, f)>
#image = affine_map<(y, x, c, r, s, f) -> (y, x, c)>
func.func @main(%sums: tensor<2x2x2xf16>, %filter: tensor<2x2x2x2xf16>) -> tensor<3x3x2xf32> {
  %none = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %sums low[1, 1, 0] high[1, 1, 0] {
  ^bb0(%y: index, %x: index, %f: index):
    tensor.yield %none : f16
  } : tensor<2x2x2xf16> to tensor<4x4x2xf16>
  %empty = tensor.empty() : tensor<3x3x2xf32>
  %begin = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x3x2xf32>) -> tensor<3x3x2xf32>
  %gradient = linalg.generic {
      indexing_maps = [#sums, #filter, #image],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %filter : tensor<4x4x2xf16>, tensor<2x2x2x2xf16>)
      outs(%begin : tensor<3x3x2xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<3x3x2xf32>
  return %gradient : tensor<3x3x2xf32>
}
