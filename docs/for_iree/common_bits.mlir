// The bits that all numbers of each of four rows have.
func.func @main(%rows: tensor<4x1024xi32>) -> tensor<4xi32> {
  %all = arith.constant -1 : i32
  %empty = tensor.empty() : tensor<4xi32>
  %begin = linalg.fill ins(%all : i32) outs(%empty : tensor<4xi32>) -> tensor<4xi32>
  %out = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%rows : tensor<4x1024xi32>) outs(%begin : tensor<4xi32>) {
    ^bb0(%x: i32, %common: i32):
      %next = arith.andi %x, %common : i32
      linalg.yield %next : i32
  } -> tensor<4xi32>
  return %out : tensor<4xi32>
}
