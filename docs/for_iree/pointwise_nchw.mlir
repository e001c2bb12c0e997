// A convolution 1x1 of f16 in NCHW order: on NVIDIA GPUs the output is wrong.
func.func @conv(%image: tensor<8x64x56x56xf16>, %filter: tensor<64x64x1x1xf16>) -> tensor<8x64x56x56xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x64x56x56xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x64x56x56xf32>) -> tensor<8x64x56x56xf32>
  %out = linalg.conv_2d_nchw_fchw ins(%image, %filter : tensor<8x64x56x56xf16>, tensor<64x64x1x1xf16>) outs(%init : tensor<8x64x56x56xf32>) -> tensor<8x64x56x56xf32>
  return %out : tensor<8x64x56x56xf32>
}
