// A convolution of two rows of ten pixels, without channels, with windows of four pixels that are two apart.
func.func @main(%image: tensor<2x10xf16>, %filter: tensor<4x16xf16>) -> tensor<2x4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x4x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %sums = linalg.generic {
      indexing_maps = [affine_map<(b, x, f, k) -> (b, x + 2 * k)>, affine_map<(b, x, f, k) -> (k, f)>,
                       affine_map<(b, x, f, k) -> (b, x, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%image, %filter : tensor<2x10xf16>, tensor<4x16xf16>) outs(%start : tensor<2x4x16xf32>) {
  ^bb0(%pixel: f16, %factor: f16, %sum: f32):
    %a = arith.extf %pixel : f16 to f32
    %b = arith.extf %factor : f16 to f32
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<2x4x16xf32>
  return %sums : tensor<2x4x16xf32>
}
