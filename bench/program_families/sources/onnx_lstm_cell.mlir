// One step of an LSTM: four gates from the input and the hidden state, in the order i, f, g, o.
func.func @main(
    %x: !torch.vtensor<[4,32],f32>, %h: !torch.vtensor<[4,64],f32>, %c: !torch.vtensor<[4,64],f32>,
    %wx: !torch.vtensor<[32,256],f32>, %wh: !torch.vtensor<[64,256],f32>,
    %bias: !torch.vtensor<[256],f32>) -> (!torch.vtensor<[4,64],f32>, !torch.vtensor<[4,64],f32>)
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %sizes = torch.operator "onnx.Constant"()
      {torch.onnx.value = dense<[64, 64, 64, 64]> : tensor<4xsi64>} : () -> !torch.vtensor<[4],si64>
  %gx = torch.operator "onnx.MatMul"(%x, %wx)
      : (!torch.vtensor<[4,32],f32>, !torch.vtensor<[32,256],f32>) -> !torch.vtensor<[4,256],f32>
  %gh = torch.operator "onnx.MatMul"(%h, %wh) : (!torch.vtensor<[4,64],f32>, !torch.vtensor<[64,256],f32>) -> !torch.vtensor<[4,256],f32>
  %g0 = torch.operator "onnx.Add"(%gx, %gh) : (!torch.vtensor<[4,256],f32>, !torch.vtensor<[4,256],f32>) -> !torch.vtensor<[4,256],f32>
  %g1 = torch.operator "onnx.Add"(%g0, %bias) : (!torch.vtensor<[4,256],f32>, !torch.vtensor<[256],f32>) -> !torch.vtensor<[4,256],f32>
  %parts:4 = torch.operator "onnx.Split"(%g1, %sizes) {torch.onnx.axis = 1 : si64}
      : (!torch.vtensor<[4,256],f32>, !torch.vtensor<[4],si64>) -> (!torch.vtensor<[4,64],f32>, !torch.vtensor<[4,64],f32>, !torch.vtensor<[4,64],f32>, !torch.vtensor<[4,64],f32>)
  %i = torch.operator "onnx.Sigmoid"(%parts#0) : (!torch.vtensor<[4,64],f32>) -> !torch.vtensor<[4,64],f32>
  %f = torch.operator "onnx.Sigmoid"(%parts#1) : (!torch.vtensor<[4,64],f32>) -> !torch.vtensor<[4,64],f32>
  %g = torch.operator "onnx.Tanh"(%parts#2) : (!torch.vtensor<[4,64],f32>) -> !torch.vtensor<[4,64],f32>
  %o = torch.operator "onnx.Sigmoid"(%parts#3) : (!torch.vtensor<[4,64],f32>) -> !torch.vtensor<[4,64],f32>
  %kept = torch.operator "onnx.Mul"(%f, %c) : (!torch.vtensor<[4,64],f32>, !torch.vtensor<[4,64],f32>) -> !torch.vtensor<[4,64],f32>
  %new = torch.operator "onnx.Mul"(%i, %g) : (!torch.vtensor<[4,64],f32>, !torch.vtensor<[4,64],f32>) -> !torch.vtensor<[4,64],f32>
  %cell = torch.operator "onnx.Add"(%kept, %new) : (!torch.vtensor<[4,64],f32>, !torch.vtensor<[4,64],f32>) -> !torch.vtensor<[4,64],f32>
  %bound = torch.operator "onnx.Tanh"(%cell) : (!torch.vtensor<[4,64],f32>) -> !torch.vtensor<[4,64],f32>
  %hidden = torch.operator "onnx.Mul"(%o, %bound) : (!torch.vtensor<[4,64],f32>, !torch.vtensor<[4,64],f32>) -> !torch.vtensor<[4,64],f32>
  return %hidden, %cell : !torch.vtensor<[4,64],f32>, !torch.vtensor<[4,64],f32>
}
