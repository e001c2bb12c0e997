func.func @main(%image: tensor<32x9xf32>, %w: tensor<16x32x5xf32>) -> tensor<16xf32> {
  %x = tensor.extract_slice %image[0, 0] [32, 5] [1, 2] : tensor<32x9xf32> to tensor<32x5xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16xf32>) -> tensor<16xf32>
  %out = linalg.generic {
      indexing_maps = [affine_map<(m, k, l) -> (k, l)>, affine_map<(m, k, l) -> (m, k, l)>, affine_map<(m, k, l) -> (m)>],
      iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<32x5xf32>, tensor<16x32x5xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<16xf32>
  return %out : tensor<16xf32>
}
