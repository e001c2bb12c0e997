// Two sequences of a length that is known at run time only: the rows of the product are a multiple of 2.
util.func public @main(%a: tensor<2x?x64xf16>, %b: tensor<64x64xf16>) -> tensor<2x?x64xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %length = tensor.dim %a, %c1 : tensor<2x?x64xf16>
  %e = tensor.empty(%length) : tensor<2x?x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x?x64xf32>) -> tensor<2x?x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2x?x64xf16>, tensor<64x64xf16>) outs(%f : tensor<2x?x64xf32>) {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %p = arith.mulf %0, %1 : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x?x64xf32>
  util.return %r : tensor<2x?x64xf32>
}
