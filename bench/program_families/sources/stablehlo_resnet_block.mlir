// A convolution with padding, a ReLU and a residual, in bf16 and the layout that TPUs use.
func.func @main(%x: tensor<1x16x16x32xbf16>, %w: tensor<3x3x32x32xbf16>)
    -> tensor<1x16x16x32xbf16> {
  %c = stablehlo.convolution(%x, %w)
      dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
      {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
      : (tensor<1x16x16x32xbf16>, tensor<3x3x32x32xbf16>) -> tensor<1x16x16x32xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<1x16x16x32xf32>
  %r = stablehlo.maximum %c, %zeros : tensor<1x16x16x32xf32>
  %n = stablehlo.convert %r : (tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xbf16>
  %out = stablehlo.add %n, %x : tensor<1x16x16x32xbf16>
  return %out : tensor<1x16x16x32xbf16>
}
