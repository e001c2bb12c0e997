// Two dense layers in f16, summed in f32, with a bias and a GELU by tanh between them.
func.func @main(%x: tensor<64x128xf16>, %w1: tensor<128x256xf16>, %b1: tensor<256xf32>,
                %w2: tensor<256x64xf16>) -> tensor<64x64xf32> {
  %h0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0]
      : (tensor<64x128xf16>, tensor<128x256xf16>) -> tensor<64x256xf32>
  %b = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<256xf32>) -> tensor<64x256xf32>
  %h = stablehlo.add %h0, %b : tensor<64x256xf32>
  %half = stablehlo.constant dense<0.5> : tensor<64x256xf32>
  %one = stablehlo.constant dense<1.0> : tensor<64x256xf32>
  %root = stablehlo.constant dense<0.7978845608> : tensor<64x256xf32>
  %cubic = stablehlo.constant dense<0.044715> : tensor<64x256xf32>
  %h2 = stablehlo.multiply %h, %h : tensor<64x256xf32>
  %h3 = stablehlo.multiply %h2, %h : tensor<64x256xf32>
  %c = stablehlo.multiply %h3, %cubic : tensor<64x256xf32>
  %i = stablehlo.add %h, %c : tensor<64x256xf32>
  %j = stablehlo.multiply %i, %root : tensor<64x256xf32>
  %t = stablehlo.tanh %j : tensor<64x256xf32>
  %t1 = stablehlo.add %t, %one : tensor<64x256xf32>
  %g0 = stablehlo.multiply %h, %t1 : tensor<64x256xf32>
  %g1 = stablehlo.multiply %g0, %half : tensor<64x256xf32>
  %g = stablehlo.convert %g1 : (tensor<64x256xf32>) -> tensor<64x256xf16>
  %out = stablehlo.dot_general %g, %w2, contracting_dims = [1] x [0]
      : (tensor<64x256xf16>, tensor<256x64xf16>) -> tensor<64x64xf32>
  return %out : tensor<64x64xf32>
}
