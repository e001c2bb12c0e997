// A basic ResNet block: relu(x + norm(conv(relu(norm(conv(x)))))), then the mean of each channel.
func.func @main(
    %x: !torch.vtensor<[1,16,14,14],f32>, %w1: !torch.vtensor<[16,16,3,3],f32>, %w2: !torch.vtensor<[16,16,3,3],f32>,
    %gain: !torch.vtensor<[16],f32>, %bias: !torch.vtensor<[16],f32>, %mean: !torch.vtensor<[16],f32>, %variance: !torch.vtensor<[16],f32>) -> (!torch.vtensor<[1,16,1,1],f32>, !torch.vtensor<[1,16,14,14],f32>)
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %c1 = torch.operator "onnx.Conv"(%x, %w1) {torch.onnx.kernel_shape = [3 : si64, 3 : si64],
      torch.onnx.pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64],
      torch.onnx.strides = [1 : si64, 1 : si64]}
      : (!torch.vtensor<[1,16,14,14],f32>, !torch.vtensor<[16,16,3,3],f32>) -> !torch.vtensor<[1,16,14,14],f32>
  %n1 = torch.operator "onnx.BatchNormalization"(%c1, %gain, %bias, %mean, %variance)
      {torch.onnx.epsilon = 1.0e-5 : f32} : (!torch.vtensor<[1,16,14,14],f32>, !torch.vtensor<[16],f32>, !torch.vtensor<[16],f32>, !torch.vtensor<[16],f32>, !torch.vtensor<[16],f32>) -> !torch.vtensor<[1,16,14,14],f32>
  %r1 = torch.operator "onnx.Relu"(%n1) : (!torch.vtensor<[1,16,14,14],f32>) -> !torch.vtensor<[1,16,14,14],f32>
  %c2 = torch.operator "onnx.Conv"(%r1, %w2) {torch.onnx.kernel_shape = [3 : si64, 3 : si64],
      torch.onnx.pads = [1 : si64, 1 : si64, 1 : si64, 1 : si64],
      torch.onnx.strides = [1 : si64, 1 : si64]}
      : (!torch.vtensor<[1,16,14,14],f32>, !torch.vtensor<[16,16,3,3],f32>) -> !torch.vtensor<[1,16,14,14],f32>
  %n2 = torch.operator "onnx.BatchNormalization"(%c2, %gain, %bias, %mean, %variance)
      {torch.onnx.epsilon = 1.0e-5 : f32} : (!torch.vtensor<[1,16,14,14],f32>, !torch.vtensor<[16],f32>, !torch.vtensor<[16],f32>, !torch.vtensor<[16],f32>, !torch.vtensor<[16],f32>) -> !torch.vtensor<[1,16,14,14],f32>
  %sum = torch.operator "onnx.Add"(%x, %n2) : (!torch.vtensor<[1,16,14,14],f32>, !torch.vtensor<[1,16,14,14],f32>) -> !torch.vtensor<[1,16,14,14],f32>
  %out = torch.operator "onnx.Relu"(%sum) : (!torch.vtensor<[1,16,14,14],f32>) -> !torch.vtensor<[1,16,14,14],f32>
  %pooled = torch.operator "onnx.GlobalAveragePool"(%out)
      : (!torch.vtensor<[1,16,14,14],f32>) -> !torch.vtensor<[1,16,1,1],f32>
  return %pooled, %out : !torch.vtensor<[1,16,1,1],f32>, !torch.vtensor<[1,16,14,14],f32>
}
