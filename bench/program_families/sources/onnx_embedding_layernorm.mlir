// Token embeddings with positions, normalized, and the most likely class of each token.
func.func @main(
    %tokens: !torch.vtensor<[2,16],si64>, %table: !torch.vtensor<[100,64],f32>,
    %positions: !torch.vtensor<[16,64],f32>, %head: !torch.vtensor<[64,10],f32>)
    -> (!torch.vtensor<[2,16,64],f32>, !torch.vtensor<[2,16],si64>)
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %gain = torch.operator "onnx.Constant"() {torch.onnx.value = dense<2.0> : tensor<64xf32>}
      : () -> !torch.vtensor<[64],f32>
  %bias = torch.operator "onnx.Constant"() {torch.onnx.value = dense<-0.5> : tensor<64xf32>}
      : () -> !torch.vtensor<[64],f32>
  %e = torch.operator "onnx.Gather"(%table, %tokens) {torch.onnx.axis = 0 : si64}
      : (!torch.vtensor<[100,64],f32>, !torch.vtensor<[2,16],si64>) -> !torch.vtensor<[2,16,64],f32>
  %p = torch.operator "onnx.Add"(%e, %positions) : (!torch.vtensor<[2,16,64],f32>, !torch.vtensor<[16,64],f32>) -> !torch.vtensor<[2,16,64],f32>
  %n = torch.operator "onnx.LayerNormalization"(%p, %gain, %bias)
      {torch.onnx.axis = -1 : si64, torch.onnx.epsilon = 1.0e-5 : f32}
      : (!torch.vtensor<[2,16,64],f32>, !torch.vtensor<[64],f32>, !torch.vtensor<[64],f32>) -> !torch.vtensor<[2,16,64],f32>
  %s = torch.operator "onnx.MatMul"(%n, %head)
      : (!torch.vtensor<[2,16,64],f32>, !torch.vtensor<[64,10],f32>) -> !torch.vtensor<[2,16,10],f32>
  %c = torch.operator "onnx.ArgMax"(%s) {torch.onnx.axis = -1 : si64, torch.onnx.keepdims = 0 : si64}
      : (!torch.vtensor<[2,16,10],f32>) -> !torch.vtensor<[2,16],si64>
  return %n, %c : !torch.vtensor<[2,16,64],f32>, !torch.vtensor<[2,16],si64>
}
