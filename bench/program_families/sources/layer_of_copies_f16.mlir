// A linear layer as PyTorch exports it on images: a batch of matmuls by copies of one matrix.
func.func @main(%a: tensor<2x3x7x64xf16>, %w: tensor<48x64xf16>) -> tensor<6x7x48xf32> {
  %e = tensor.empty() : tensor<2x3x64x48xf16>
  %copies = linalg.generic {
      indexing_maps = [affine_map<(n, h, c, f) -> (f, c)>,
                       affine_map<(n, h, c, f) -> (n, h, c, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%w : tensor<48x64xf16>) outs(%e : tensor<2x3x64x48xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<2x3x64x48xf16>
  %rows = tensor.collapse_shape %a [[0, 1], [2], [3]]
      : tensor<2x3x7x64xf16> into tensor<6x7x64xf16>
  %b = tensor.collapse_shape %copies [[0, 1], [2], [3]]
      : tensor<2x3x64x48xf16> into tensor<6x64x48xf16>
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<6x7x48xf32>
  %sums = linalg.fill ins(%zero : f32) outs(%o : tensor<6x7x48xf32>) -> tensor<6x7x48xf32>
  %r = linalg.batch_matmul ins(%rows, %b : tensor<6x7x64xf16>, tensor<6x64x48xf16>)
      outs(%sums : tensor<6x7x48xf32>) -> tensor<6x7x48xf32>
  return %r : tensor<6x7x48xf32>
}
