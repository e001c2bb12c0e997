// The four largest values of each row: idle lanes read LDS.
func.func @main(%a: tensor<8x64xf32>) -> tensor<8x4xf32> {
  %ni = arith.constant 0xFF800000 : f32
  %zi = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8x4xf32>
  %ei = tensor.empty() : tensor<8x4xi32>
  %f = linalg.fill ins(%ni : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %fi = linalg.fill ins(%zi : i32) outs(%ei : tensor<8x4xi32>) -> tensor<8x4xi32>
  %r:2 = iree_linalg_ext.topk dimension(1) ins(%a : tensor<8x64xf32>) outs(%f, %fi : tensor<8x4xf32>, tensor<8x4xi32>) {
   ^bb0(%x: f32, %y: f32):
    %c = arith.cmpf ogt, %x, %y : f32
    iree_linalg_ext.yield %c : i1 } -> tensor<8x4xf32>, tensor<8x4xi32>
  return %r#0 : tensor<8x4xf32>
}
