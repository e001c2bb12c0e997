// The four largest values of each of 8 rows.
func.func @main(%rows: tensor<8x64xf32>) -> tensor<8x4xf32> {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %values = tensor.empty() : tensor<8x4xf32>
  %places = tensor.empty() : tensor<8x4xi32>
  %low = linalg.fill ins(%least : f32) outs(%values : tensor<8x4xf32>) -> tensor<8x4xf32>
  %none = linalg.fill ins(%zero : i32) outs(%places : tensor<8x4xi32>) -> tensor<8x4xi32>
  %largest:2 = iree_linalg_ext.topk dimension(1) ins(%rows : tensor<8x64xf32>)
      outs(%low, %none : tensor<8x4xf32>, tensor<8x4xi32>) {
    ^bb0(%one: f32, %other: f32):
      %greater = arith.cmpf ogt, %one, %other : f32
      iree_linalg_ext.yield %greater : i1
  } -> tensor<8x4xf32>, tensor<8x4xi32>
  return %largest#0 : tensor<8x4xf32>
}
