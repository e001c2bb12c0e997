// A perceptron with one hidden layer as ONNX exports it: the weights are transposed, one bias is a
// constant of the model.
func.func @main(
    %x: !torch.vtensor<[32,128],f32>,
    %w1: !torch.vtensor<[256,128],f32>,
    %b1: !torch.vtensor<[256],f32>,
    %w2: !torch.vtensor<[8,256],f32>) -> !torch.vtensor<[32,8],f32>
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %b2 = torch.operator "onnx.Constant"() {
      torch.onnx.value = dense<[0.5, -1.0, 0.25, 2.0, 0.0, 1.0, -0.5, 3.0]> : tensor<8xf32>}
      : () -> !torch.vtensor<[8],f32>
  %hidden = torch.operator "onnx.Gemm"(%x, %w1, %b1) {torch.onnx.transB = 1 : si64}
      : (!torch.vtensor<[32,128],f32>, !torch.vtensor<[256,128],f32>, !torch.vtensor<[256],f32>)
      -> !torch.vtensor<[32,256],f32>
  %active = torch.operator "onnx.Relu"(%hidden)
      : (!torch.vtensor<[32,256],f32>) -> !torch.vtensor<[32,256],f32>
  %scores = torch.operator "onnx.Gemm"(%active, %w2, %b2) {torch.onnx.transB = 1 : si64}
      : (!torch.vtensor<[32,256],f32>, !torch.vtensor<[8,256],f32>, !torch.vtensor<[8],f32>)
      -> !torch.vtensor<[32,8],f32>
  %out = torch.operator "onnx.Softmax"(%scores) {torch.onnx.axis = -1 : si64}
      : (!torch.vtensor<[32,8],f32>) -> !torch.vtensor<[32,8],f32>
  return %out : !torch.vtensor<[32,8],f32>
}
