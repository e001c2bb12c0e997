// The place of the largest of 1024 elements, as ONNX's ArgMax asks for it.
func.func @main(%x: tensor<4x1024xf16>) -> tensor<4xi32> {
  %least = arith.constant 0xFC00 : f16
  %zero = arith.constant 0 : i32
  %no_values = tensor.empty() : tensor<4xf16>
  %values = linalg.fill ins(%least : f16) outs(%no_values : tensor<4xf16>) -> tensor<4xf16>
  %no_places = tensor.empty() : tensor<4xi32>
  %places = linalg.fill ins(%zero : i32) outs(%no_places : tensor<4xi32>) -> tensor<4xi32>
  %found:2 = iree_linalg_ext.arg_compare dimension(1) ins(%x : tensor<4x1024xf16>)
      outs(%values, %places : tensor<4xf16>, tensor<4xi32>) {
  ^bb0(%element: f16, %best: f16):
    %is_better = arith.cmpf ogt, %element, %best : f16
    iree_linalg_ext.yield %is_better : i1
  } -> tensor<4xf16>, tensor<4xi32>
  return %found#1 : tensor<4xi32>
}
