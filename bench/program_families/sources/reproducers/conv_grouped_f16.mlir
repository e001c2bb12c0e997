// A grouped convolution, for which the decision said that conflicts remain and none did.
func.func @main(%a0: tensor<1x4x32x18x18xf16>, %a1: tensor<4x32x32x3x3xf16>) -> tensor<1x4x32x16x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x32x16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x4x32x16x16xf32>) -> tensor<1x4x32x16x16xf32>
  %r = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%a0, %a1 : tensor<1x4x32x18x18xf16>, tensor<4x32x32x3x3xf16>) outs(%f : tensor<1x4x32x16x16xf32>) -> tensor<1x4x32x16x16xf32>
  return %r : tensor<1x4x32x16x16xf32>
}
