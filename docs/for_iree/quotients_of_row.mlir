// A row by a matrix in i32, divided by another row.
#same = affine_map<(m, n) -> (m, n)>
func.func @main(%row: tensor<1x64xf32>, %matrix: tensor<64x40xf32>, %divisors: tensor<1x40xi32>) -> tensor<1x40xi32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x40xf32>
  %integers = tensor.empty() : tensor<1x40xi32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x40xf32>) -> tensor<1x40xf32>
  %product = linalg.matmul ins(%row, %matrix : tensor<1x64xf32>, tensor<64x40xf32>)
      outs(%zeros : tensor<1x40xf32>) -> tensor<1x40xf32>
  %result = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%product, %divisors : tensor<1x40xf32>, tensor<1x40xi32>) outs(%integers : tensor<1x40xi32>) {
  ^bb0(%x: f32, %y: i32, %out: i32):
    %integer = arith.fptosi %x : f32 to i32
    %quotient = arith.divsi %integer, %y : i32
    linalg.yield %quotient : i32
  } -> tensor<1x40xi32>
  return %result : tensor<1x40xi32>
}
