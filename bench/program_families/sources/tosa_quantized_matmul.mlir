// A matmul of i8 with zero points, as quantized networks have it.
func.func @main(%x: tensor<1x64x128xi8>, %w: tensor<1x128x64xi8>) -> tensor<1x64x64xi32> {
  %xz = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %wz = "tosa.const"() <{values = dense<-5> : tensor<1xi8>}> : () -> tensor<1xi8>
  %out = tosa.matmul %x, %w, %xz, %wz
      : (tensor<1x64x128xi8>, tensor<1x128x64xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x64x64xi32>
  return %out : tensor<1x64x64xi32>
}
