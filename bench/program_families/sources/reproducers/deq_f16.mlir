// A matmul with integer weights and a scale for each group of 64.
func.func @main(%x: tensor<128x2x64xf16>, %w: tensor<128x2x64xi${bits}>, %sc: tensor<128x2xf16>) -> tensor<128x128xf32> {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<128x2x64xf16>
  %d = linalg.generic {indexing_maps=[affine_map<(a,b,c)->(a,b,c)>, affine_map<(a,b,c)->(a,b)>, affine_map<(a,b,c)->(a,b,c)>], iterator_types=["parallel","parallel","parallel"]} ins(%w, %sc : tensor<128x2x64xi${bits}>, tensor<128x2xf16>) outs(%e0 : tensor<128x2x64xf16>) {
   ^bb0(%a: i${bits}, %s: f16, %o: f16):
    %i = arith.ext${sign}i %a : i${bits} to i32
    %f = arith.${sign}itofp %i : i32 to f16
    %m = arith.mulf %f, %s : f16
    linalg.yield %m : f16
  } -> tensor<128x2x64xf16>
  %e = tensor.empty() : tensor<128x128xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %r = linalg.generic {indexing_maps=[affine_map<(m,n,g,k)->(m,g,k)>, affine_map<(m,n,g,k)->(n,g,k)>, affine_map<(m,n,g,k)->(m,n)>], iterator_types=["parallel","parallel","reduction","reduction"]} ins(%x, %d : tensor<128x2x64xf16>, tensor<128x2x64xf16>) outs(%f : tensor<128x128xf32>) {
   ^bb0(%a: f16, %b: f16, %c: f32):
    %a1 = arith.extf %a : f16 to f32
    %b1 = arith.extf %b : f16 to f32
    %p = arith.mulf %a1, %b1 : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
