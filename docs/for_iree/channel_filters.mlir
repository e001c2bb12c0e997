// A convolution with three filters for each of four channels, all of whose sums are of two elements.
func.func @main(%image: tensor<1x5x2x4xf32>, %filter: tensor<2x1x4x3xf32>) -> tensor<1x4x2x4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x4x2x4x3xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x4x2x4x3xf32>) -> tensor<1x4x2x4x3xf32>
  %out = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x5x2x4xf32>, tensor<2x1x4x3xf32>)
      outs(%filled : tensor<1x4x2x4x3xf32>) -> tensor<1x4x2x4x3xf32>
  return %out : tensor<1x4x2x4x3xf32>
}
