// A row by a matrix, and the hyperbolic tangent of the sum of the result and another row.
#same = affine_map<(m, n) -> (m, n)>
func.func @main(%row: tensor<1x64xf32>, %matrix: tensor<64x40xf32>, %other: tensor<1x40xf32>) -> tensor<1x40xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x40xf32>) -> tensor<1x40xf32>
  %product = linalg.matmul ins(%row, %matrix : tensor<1x64xf32>, tensor<64x40xf32>)
      outs(%zeros : tensor<1x40xf32>) -> tensor<1x40xf32>
  %result = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%product, %other : tensor<1x40xf32>, tensor<1x40xf32>) outs(%empty : tensor<1x40xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %sum = arith.addf %x, %y : f32
    %tanh = math.tanh %sum : f32
    linalg.yield %tanh : f32
  } -> tensor<1x40xf32>
  return %result : tensor<1x40xf32>
}
