// Layer normalization of rows, then a dense layer with a ReLU and a residual.
func.func @main(%x: tensor<64x128xf32>, %gain: tensor<128xf32>, %w: tensor<128x128xf32>)
    -> tensor<64x128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<64x128xf32>
  %count = stablehlo.constant dense<128.0> : tensor<64xf32>
  %epsilon = stablehlo.constant dense<1.0e-5> : tensor<64xf32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %mean = stablehlo.divide %sum, %count : tensor<64xf32>
  %mb = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %d = stablehlo.subtract %x, %mb : tensor<64x128xf32>
  %d2 = stablehlo.multiply %d, %d : tensor<64x128xf32>
  %s2 = stablehlo.reduce(%d2 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %v0 = stablehlo.divide %s2, %count : tensor<64xf32>
  %v = stablehlo.add %v0, %epsilon : tensor<64xf32>
  %r = stablehlo.rsqrt %v : tensor<64xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %n0 = stablehlo.multiply %d, %rb : tensor<64x128xf32>
  %gb = stablehlo.broadcast_in_dim %gain, dims = [1] : (tensor<128xf32>) -> tensor<64x128xf32>
  %n = stablehlo.multiply %n0, %gb : tensor<64x128xf32>
  %h = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0]
      : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %a = stablehlo.maximum %h, %zeros : tensor<64x128xf32>
  %out = stablehlo.add %a, %x : tensor<64x128xf32>
  return %out : tensor<64x128xf32>
}
