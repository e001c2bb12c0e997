// A matmul with dynamic sizes: idle lanes of a load are undefined until a select drops them.
func.func @main(%a: tensor<?x?xf16>, %b: tensor<?x?xf16>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf16>
  %n = tensor.dim %b, %c1 : tensor<?x?xf16>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel","parallel","reduction"]} ins(%a, %b : tensor<?x?xf16>, tensor<?x?xf16>) outs(%f : tensor<?x?xf32>) {
   ^bb0(%x: f16, %y: f16, %c: f32):
     %x1 = arith.extf %x : f16 to f32
     %y1 = arith.extf %y : f16 to f32
     %p = arith.mulf %x1, %y1 : f32
     %s = arith.addf %c, %p : f32
     linalg.yield %s : f32 } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
