// Rows minus their mean, over their standard deviation.
func.func @main(%x: tensor<32x128xf32>) -> tensor<32x128xf32> {
  %n = "tosa.const"() <{values = dense<0.0078125> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
  %e = "tosa.const"() <{values = dense<1.0e-5> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %s = "tosa.reduce_sum"(%x) <{axis = 1 : i32}> : (tensor<32x128xf32>) -> tensor<32x1xf32>
  %m = tosa.mul %s, %n, %shift : (tensor<32x1xf32>, tensor<1x1xf32>, tensor<1xi8>) -> tensor<32x1xf32>
  %d = tosa.sub %x, %m : (tensor<32x128xf32>, tensor<32x1xf32>) -> tensor<32x128xf32>
  %q = tosa.mul %d, %d, %shift
      : (tensor<32x128xf32>, tensor<32x128xf32>, tensor<1xi8>) -> tensor<32x128xf32>
  %t = "tosa.reduce_sum"(%q) <{axis = 1 : i32}> : (tensor<32x128xf32>) -> tensor<32x1xf32>
  %v = tosa.mul %t, %n, %shift : (tensor<32x1xf32>, tensor<1x1xf32>, tensor<1xi8>) -> tensor<32x1xf32>
  %w = tosa.add %v, %e : (tensor<32x1xf32>, tensor<1x1xf32>) -> tensor<32x1xf32>
  %r = tosa.rsqrt %w : (tensor<32x1xf32>) -> tensor<32x1xf32>
  %out = tosa.mul %d, %r, %shift
      : (tensor<32x128xf32>, tensor<32x1xf32>, tensor<1xi8>) -> tensor<32x128xf32>
  return %out : tensor<32x128xf32>
}
