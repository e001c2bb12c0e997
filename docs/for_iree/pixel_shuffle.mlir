func.func @main(%x: !torch.vtensor<[1,12,1,2],f32>) -> !torch.vtensor<[1,3,2,4],f32>
    attributes {torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "onnx.DepthToSpace"(%x) {torch.onnx.blocksize = 2 : si64, torch.onnx.mode = "CRD"}
      : (!torch.vtensor<[1,12,1,2],f32>) -> !torch.vtensor<[1,3,2,4],f32>
  return %0 : !torch.vtensor<[1,3,2,4],f32>
}
