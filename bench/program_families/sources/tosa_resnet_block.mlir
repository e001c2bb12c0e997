// A convolution with a bias, a clamp to the positive, and a max pooling, in TOSA's NHWC layout.
func.func @main(%x: tensor<1x16x16x32xf32>, %w: tensor<32x3x3x32xf32>, %b: tensor<32xf32>)
    -> tensor<1x8x8x32xf32> {
  %xz = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %c = "tosa.conv2d"(%x, %w, %b, %xz, %xz) <{acc_type = f32, dilation = array<i64: 1, 1>,
      pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}>
      : (tensor<1x16x16x32xf32>, tensor<32x3x3x32xf32>, tensor<32xf32>, tensor<1xf32>, tensor<1xf32>)
      -> tensor<1x16x16x32xf32>
  %r = "tosa.clamp"(%c) <{min_val = 0.0 : f32, max_val = 6.0 : f32}>
      : (tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  %s = tosa.add %r, %x : (tensor<1x16x16x32xf32>, tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  %p = "tosa.max_pool2d"(%s) <{kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>,
      stride = array<i64: 2, 2>}> : (tensor<1x16x16x32xf32>) -> tensor<1x8x8x32xf32>
  return %p : tensor<1x8x8x32xf32>
}
