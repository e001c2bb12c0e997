// What IREE's importer of ONNX makes of a cast from f64 to f32.
func.func @main(%x: !torch.vtensor<[4],f64>) -> !torch.vtensor<[4],f32> attributes {
    torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "onnx.Cast"(%x) {torch.onnx.to = 1 : si64} : (!torch.vtensor<[4],f64>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
