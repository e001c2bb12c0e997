// A matmul for a flag that only a compiler process takes, not a compiler's session.
func.func @main(%a: tensor<256x256xf16>, %b: tensor<256x256xf16>) -> tensor<256x256xf32> {
  %z0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%z0 : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %mm = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel","parallel","reduction"]} ins(%a, %b : tensor<256x256xf16>, tensor<256x256xf16>) outs(%f : tensor<256x256xf32>) attrs = {} {
   ^bb0(%x: f16, %y: f16, %c: f32):
     %x1 = arith.extf %x : f16 to f32
     %y1 = arith.extf %y : f16 to f32
     %p = arith.mulf %x1, %y1 : f32
     %s = arith.addf %c, %p : f32
     linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %mm : tensor<256x256xf32>
}
