func.func @main(%a: tensor<16x32xf16>, %b: tensor<16x32xf16>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xf16>, tensor<16x32xf16>) outs(%f : tensor<16x16xf32>) {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %w = math.exp %x : f16
    %0 = arith.extf %w : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %p = arith.mulf %0, %1 : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}
