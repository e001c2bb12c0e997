// A batched matmul in f16, summed in f32, with a sigmoid and a second matmul.
func.func @main(%x: tensor<2x32x64xf16>, %w1: tensor<2x64x96xf16>, %w2: tensor<2x96x32xf16>)
    -> tensor<2x32x32xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf16>}> : () -> tensor<1xf16>
  %h = tosa.matmul %x, %w1, %z, %z
      : (tensor<2x32x64xf16>, tensor<2x64x96xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<2x32x96xf32>
  %s = tosa.sigmoid %h : (tensor<2x32x96xf32>) -> tensor<2x32x96xf32>
  %n = tosa.cast %s : (tensor<2x32x96xf32>) -> tensor<2x32x96xf16>
  %out = tosa.matmul %n, %w2, %z, %z
      : (tensor<2x32x96xf16>, tensor<2x96x32xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<2x32x32xf32>
  return %out : tensor<2x32x32xf32>
}
