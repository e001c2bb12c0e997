// A transformer block with two heads, normalized first: x + attention(norm(x)), then y + mlp(norm(y)).
func.func @main(
    %x: !torch.vtensor<[1,32,64],f32>, %wq: !torch.vtensor<[64,64],f32>, %wk: !torch.vtensor<[64,64],f32>, %wv: !torch.vtensor<[64,64],f32>, %wo: !torch.vtensor<[64,64],f32>,
    %w1: !torch.vtensor<[64,128],f32>, %w2: !torch.vtensor<[128,64],f32>) -> !torch.vtensor<[1,32,64],f32>
    attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %gain = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.5> : tensor<64xf32>}
      : () -> !torch.vtensor<[64],f32>
  %bias = torch.operator "onnx.Constant"() {torch.onnx.value = dense<0.125> : tensor<64xf32>}
      : () -> !torch.vtensor<[64],f32>
  %split = torch.operator "onnx.Constant"() {torch.onnx.value = dense<[1, 32, 2, 32]> : tensor<4xsi64>}
      : () -> !torch.vtensor<[4],si64>
  %join = torch.operator "onnx.Constant"() {torch.onnx.value = dense<[1, 32, 64]> : tensor<3xsi64>}
      : () -> !torch.vtensor<[3],si64>
  %scale = torch.operator "onnx.Constant"() {torch.onnx.value = dense<0.1767766953> : tensor<f32>}
      : () -> !torch.vtensor<[],f32>
  %root2 = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.4142135624> : tensor<f32>}
      : () -> !torch.vtensor<[],f32>
  %one = torch.operator "onnx.Constant"() {torch.onnx.value = dense<1.0> : tensor<f32>}
      : () -> !torch.vtensor<[],f32>
  %half = torch.operator "onnx.Constant"() {torch.onnx.value = dense<0.5> : tensor<f32>}
      : () -> !torch.vtensor<[],f32>
  %n1 = torch.operator "onnx.LayerNormalization"(%x, %gain, %bias)
      {torch.onnx.axis = -1 : si64, torch.onnx.epsilon = 1.0e-5 : f32}
      : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[64],f32>, !torch.vtensor<[64],f32>) -> !torch.vtensor<[1,32,64],f32>
  %q0 = torch.operator "onnx.MatMul"(%n1, %wq) : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[64,64],f32>) -> !torch.vtensor<[1,32,64],f32>
  %k0 = torch.operator "onnx.MatMul"(%n1, %wk) : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[64,64],f32>) -> !torch.vtensor<[1,32,64],f32>
  %v0 = torch.operator "onnx.MatMul"(%n1, %wv) : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[64,64],f32>) -> !torch.vtensor<[1,32,64],f32>
  %q1 = torch.operator "onnx.Reshape"(%q0, %split) : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[4],si64>) -> !torch.vtensor<[1,32,2,32],f32>
  %k1 = torch.operator "onnx.Reshape"(%k0, %split) : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[4],si64>) -> !torch.vtensor<[1,32,2,32],f32>
  %v1 = torch.operator "onnx.Reshape"(%v0, %split) : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[4],si64>) -> !torch.vtensor<[1,32,2,32],f32>
  %q = torch.operator "onnx.Transpose"(%q1) {torch.onnx.perm = [0 : si64, 2 : si64, 1 : si64, 3 : si64]}
      : (!torch.vtensor<[1,32,2,32],f32>) -> !torch.vtensor<[1,2,32,32],f32>
  %kt = torch.operator "onnx.Transpose"(%k1) {torch.onnx.perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]}
      : (!torch.vtensor<[1,32,2,32],f32>) -> !torch.vtensor<[1,2,32,32],f32>
  %v = torch.operator "onnx.Transpose"(%v1) {torch.onnx.perm = [0 : si64, 2 : si64, 1 : si64, 3 : si64]}
      : (!torch.vtensor<[1,32,2,32],f32>) -> !torch.vtensor<[1,2,32,32],f32>
  %s0 = torch.operator "onnx.MatMul"(%q, %kt) : (!torch.vtensor<[1,2,32,32],f32>, !torch.vtensor<[1,2,32,32],f32>) -> !torch.vtensor<[1,2,32,32],f32>
  %s1 = torch.operator "onnx.Mul"(%s0, %scale) : (!torch.vtensor<[1,2,32,32],f32>, !torch.vtensor<[],f32>) -> !torch.vtensor<[1,2,32,32],f32>
  %p = torch.operator "onnx.Softmax"(%s1) {torch.onnx.axis = -1 : si64} : (!torch.vtensor<[1,2,32,32],f32>) -> !torch.vtensor<[1,2,32,32],f32>
  %o0 = torch.operator "onnx.MatMul"(%p, %v) : (!torch.vtensor<[1,2,32,32],f32>, !torch.vtensor<[1,2,32,32],f32>) -> !torch.vtensor<[1,2,32,32],f32>
  %o1 = torch.operator "onnx.Transpose"(%o0) {torch.onnx.perm = [0 : si64, 2 : si64, 1 : si64, 3 : si64]}
      : (!torch.vtensor<[1,2,32,32],f32>) -> !torch.vtensor<[1,32,2,32],f32>
  %o2 = torch.operator "onnx.Reshape"(%o1, %join) : (!torch.vtensor<[1,32,2,32],f32>, !torch.vtensor<[3],si64>) -> !torch.vtensor<[1,32,64],f32>
  %o3 = torch.operator "onnx.MatMul"(%o2, %wo) : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[64,64],f32>) -> !torch.vtensor<[1,32,64],f32>
  %y = torch.operator "onnx.Add"(%x, %o3) : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[1,32,64],f32>) -> !torch.vtensor<[1,32,64],f32>
  %n2 = torch.operator "onnx.LayerNormalization"(%y, %gain, %bias)
      {torch.onnx.axis = -1 : si64, torch.onnx.epsilon = 1.0e-5 : f32}
      : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[64],f32>, !torch.vtensor<[64],f32>) -> !torch.vtensor<[1,32,64],f32>
  %h = torch.operator "onnx.MatMul"(%n2, %w1)
      : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[64,128],f32>) -> !torch.vtensor<[1,32,128],f32>
  %h1 = torch.operator "onnx.Div"(%h, %root2)
      : (!torch.vtensor<[1,32,128],f32>, !torch.vtensor<[],f32>) -> !torch.vtensor<[1,32,128],f32>
  %h2 = torch.operator "onnx.Erf"(%h1)
      : (!torch.vtensor<[1,32,128],f32>) -> !torch.vtensor<[1,32,128],f32>
  %h3 = torch.operator "onnx.Add"(%h2, %one)
      : (!torch.vtensor<[1,32,128],f32>, !torch.vtensor<[],f32>) -> !torch.vtensor<[1,32,128],f32>
  %h4 = torch.operator "onnx.Mul"(%h, %h3)
      : (!torch.vtensor<[1,32,128],f32>, !torch.vtensor<[1,32,128],f32>)
      -> !torch.vtensor<[1,32,128],f32>
  %h5 = torch.operator "onnx.Mul"(%h4, %half)
      : (!torch.vtensor<[1,32,128],f32>, !torch.vtensor<[],f32>) -> !torch.vtensor<[1,32,128],f32>
  %m = torch.operator "onnx.MatMul"(%h5, %w2)
      : (!torch.vtensor<[1,32,128],f32>, !torch.vtensor<[128,64],f32>) -> !torch.vtensor<[1,32,64],f32>
  %out = torch.operator "onnx.Add"(%y, %m) : (!torch.vtensor<[1,32,64],f32>, !torch.vtensor<[1,32,64],f32>) -> !torch.vtensor<[1,32,64],f32>
  return %out : !torch.vtensor<[1,32,64],f32>
}
