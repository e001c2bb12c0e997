// The minimum of each of four rows, which are the numbers 5 and larger ones.
func.func @main(%rows: tensor<4x1024xi32>) -> tensor<4xi32> {
  %largest = arith.constant 2147483647 : i32
  %empty = tensor.empty() : tensor<4xi32>
  %begin = linalg.fill ins(%largest : i32) outs(%empty : tensor<4xi32>) -> tensor<4xi32>
  %out = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%rows : tensor<4x1024xi32>) outs(%begin : tensor<4xi32>) {
    ^bb0(%x: i32, %least: i32):
      %next = arith.minsi %x, %least : i32
      linalg.yield %next : i32
  } -> tensor<4xi32>
  return %out : tensor<4xi32>
}
