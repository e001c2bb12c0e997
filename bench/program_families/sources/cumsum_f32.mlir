// Running sums of rows.
func.func @cumsum(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x64xf32>
  %last = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%last : tensor<16xf32>) -> tensor<16xf32>
  %out:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%x : tensor<16x64xf32>)
      outs(%empty, %init : tensor<16x64xf32>, tensor<16xf32>) {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      iree_linalg_ext.yield %sum : f32
  } -> tensor<16x64xf32>, tensor<16xf32>
  return %out#0 : tensor<16x64xf32>
}
