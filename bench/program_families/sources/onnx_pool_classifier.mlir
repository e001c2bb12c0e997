// The end of a small image network: max pooling, flattening, a dense layer, log-softmax.
func.func @main(
    %x: !torch.vtensor<[2,16,8,8],f32>, %w: !torch.vtensor<[10,256],f32>,
    %b: !torch.vtensor<[10],f32>) -> !torch.vtensor<[2,10],f32>
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %p = torch.operator "onnx.MaxPool"(%x) {torch.onnx.kernel_shape = [2 : si64, 2 : si64],
      torch.onnx.strides = [2 : si64, 2 : si64]}
      : (!torch.vtensor<[2,16,8,8],f32>) -> !torch.vtensor<[2,16,4,4],f32>
  %f = torch.operator "onnx.Flatten"(%p) {torch.onnx.axis = 1 : si64}
      : (!torch.vtensor<[2,16,4,4],f32>) -> !torch.vtensor<[2,256],f32>
  %g = torch.operator "onnx.Gemm"(%f, %w, %b) {torch.onnx.transB = 1 : si64}
      : (!torch.vtensor<[2,256],f32>, !torch.vtensor<[10,256],f32>, !torch.vtensor<[10],f32>)
      -> !torch.vtensor<[2,10],f32>
  %out = torch.operator "onnx.LogSoftmax"(%g) {torch.onnx.axis = -1 : si64}
      : (!torch.vtensor<[2,10],f32>) -> !torch.vtensor<[2,10],f32>
  return %out : !torch.vtensor<[2,10],f32>
}
