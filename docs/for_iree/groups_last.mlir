// A grouped convolution whose groups are the last dimension of its result.
#image = affine_map<(y, x, f, g, r, s, c) -> (g, y + r, c, x + s)>
#filter = affine_map<(y, x, f, g, r, s, c) -> (f, g, r, c, s)>
#output = affine_map<(y, x, f, g, r, s, c) -> (f, x, y, g)>
func.func @main(%image: tensor<3x6x4x6xf16>, %filter: tensor<17x3x3x4x3xf16>) -> tensor<17x4x4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<17x4x4x3xf32>
  %sums = linalg.fill ins(%zero : f32) outs(%empty : tensor<17x4x4x3xf32>) -> tensor<17x4x4x3xf32>
  %result = linalg.generic {
      indexing_maps = [#image, #filter, #output],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%image, %filter : tensor<3x6x4x6xf16>, tensor<17x3x3x4x3xf16>)
      outs(%sums : tensor<17x4x4x3xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<17x4x4x3xf32>
  return %result : tensor<17x4x4x3xf32>
}
