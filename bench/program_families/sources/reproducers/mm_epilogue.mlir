// A matmul with bias, GELU and residual.
func.func @main(%a: tensor<${m}x${k}xf16>, %b: tensor<${right}xf16>, %bias: tensor<${n}xf32>, %res: tensor<${m}x${n}xf32>) -> tensor<${m}x${n}xf32> {
  %z0 = arith.constant 0.0 : f32
  %h = arith.constant 0.5 : f32
  %o = arith.constant 1.0 : f32
  %is2 = arith.constant 0.70710678 : f32
  %e = tensor.empty() : tensor<${m}x${n}xf32>
  %f = linalg.fill ins(%z0 : f32) outs(%e : tensor<${m}x${n}xf32>) -> tensor<${m}x${n}xf32>
  %mm = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(${map})>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel","parallel","reduction"]} ins(%a, %b : tensor<${m}x${k}xf16>, tensor<${right}xf16>) outs(%f : tensor<${m}x${n}xf32>) ${configured}{
   ^bb0(%x: f16, %y: f16, %c: f32):
     %x1 = arith.extf %x : f16 to f32
     %y1 = arith.extf %y : f16 to f32
     %p = arith.mulf %x1, %y1 : f32
     %s = arith.addf %c, %p : f32
     linalg.yield %s : f32
  } -> tensor<${m}x${n}xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(b)>, affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel","parallel"]} ins(%mm, %bias, %res : tensor<${m}x${n}xf32>, tensor<${n}xf32>, tensor<${m}x${n}xf32>) outs(%e : tensor<${m}x${n}xf32>) {
   ^bb0(%x: f32, %b0: f32, %r0: f32, %u: f32):
     %t = arith.addf %x, %b0 : f32
     %t1 = arith.mulf %t, %is2 : f32
     %t2 = math.erf %t1 : f32
     %t3 = arith.addf %t2, %o : f32
     %t4 = arith.mulf %t3, %h : f32
     %t5 = arith.mulf %t4, %t : f32
     %t6 = arith.addf %t5, %r0 : f32
     linalg.yield %t6 : f32
  } -> tensor<${m}x${n}xf32>
  return %r : tensor<${m}x${n}xf32>
}
