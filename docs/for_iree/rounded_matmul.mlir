// A matmul whose sums are rounded at the end, and of which each lane has 16 rows or more.
func.func @main(%a: tensor<224x64xf16>, %b: tensor<64x64xf16>) -> tensor<224x64xf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<224x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<224x64xf32>) -> tensor<224x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<224x64xf16>, tensor<64x64xf16>) outs(%f : tensor<224x64xf32>) -> tensor<224x64xf32>
  %o = tensor.empty() : tensor<224x64xf16>
  %s = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<224x64xf32>) outs(%o : tensor<224x64xf16>) {
  ^bb0(%x: f32, %y: f16):
    %t = arith.truncf %x : f32 to f16
    linalg.yield %t : f16
  } -> tensor<224x64xf16>
  return %s : tensor<224x64xf16>
}
