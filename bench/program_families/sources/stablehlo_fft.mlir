// The magnitudes of a real Fourier transform of rows, as an audio model begins.
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x33xf32> {
  %f = stablehlo.fft %x, type = RFFT, length = [64] : (tensor<8x64xf32>) -> tensor<8x33xcomplex<f32>>
  %re = stablehlo.real %f : (tensor<8x33xcomplex<f32>>) -> tensor<8x33xf32>
  %im = stablehlo.imag %f : (tensor<8x33xcomplex<f32>>) -> tensor<8x33xf32>
  %re2 = stablehlo.multiply %re, %re : tensor<8x33xf32>
  %im2 = stablehlo.multiply %im, %im : tensor<8x33xf32>
  %sum = stablehlo.add %re2, %im2 : tensor<8x33xf32>
  %out = stablehlo.sqrt %sum : tensor<8x33xf32>
  return %out : tensor<8x33xf32>
}
