// One step of an LSTM, the product in f16 and the state in f32; the four gates are columns of one product.
func.func @main(%x: tensor<16x64xf16>, %c: tensor<16x32xf32>, %w: tensor<64x128xf16>)
    -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %g = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<16x64xf16>, tensor<64x128xf16>) -> tensor<16x128xf32>
  %i0 = stablehlo.slice %g [0:16, 0:32] : (tensor<16x128xf32>) -> tensor<16x32xf32>
  %f0 = stablehlo.slice %g [0:16, 32:64] : (tensor<16x128xf32>) -> tensor<16x32xf32>
  %g0 = stablehlo.slice %g [0:16, 64:96] : (tensor<16x128xf32>) -> tensor<16x32xf32>
  %o0 = stablehlo.slice %g [0:16, 96:128] : (tensor<16x128xf32>) -> tensor<16x32xf32>
  %i = stablehlo.logistic %i0 : tensor<16x32xf32>
  %f = stablehlo.logistic %f0 : tensor<16x32xf32>
  %a = stablehlo.tanh %g0 : tensor<16x32xf32>
  %o = stablehlo.logistic %o0 : tensor<16x32xf32>
  %kept = stablehlo.multiply %f, %c : tensor<16x32xf32>
  %new = stablehlo.multiply %i, %a : tensor<16x32xf32>
  %cell = stablehlo.add %kept, %new : tensor<16x32xf32>
  %bound = stablehlo.tanh %cell : tensor<16x32xf32>
  %h = stablehlo.multiply %o, %bound : tensor<16x32xf32>
  return %h, %cell : tensor<16x32xf32>, tensor<16x32xf32>
}
