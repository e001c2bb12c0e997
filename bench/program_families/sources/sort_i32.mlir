// Rows of integers, sorted upwards in place.
func.func @sort(%x: tensor<4x48xi32>) -> tensor<4x48xi32> {
  %out = iree_linalg_ext.sort dimension(1) outs(%x : tensor<4x48xi32>) {
    ^bb0(%a: i32, %b: i32):
      %less = arith.cmpi slt, %a, %b : i32
      iree_linalg_ext.yield %less : i1
  } -> tensor<4x48xi32>
  return %out : tensor<4x48xi32>
}
