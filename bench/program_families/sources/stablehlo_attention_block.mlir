// Attention with four heads as JAX writes it: dot_general with batches, softmax by parts.
func.func @main(%q: tensor<2x64x4x32xf32>, %k: tensor<2x64x4x32xf32>, %v: tensor<2x64x4x32xf32>)
    -> tensor<2x4x64x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<0.1767766953> : tensor<2x4x64x64xf32>
  %s0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
      : (tensor<2x64x4x32xf32>, tensor<2x64x4x32xf32>) -> tensor<2x4x64x64xf32>
  %s = stablehlo.multiply %s0, %scale : tensor<2x4x64x64xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [3]
      : (tensor<2x4x64x64xf32>, tensor<f32>) -> tensor<2x4x64xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2]
      : (tensor<2x4x64xf32>) -> tensor<2x4x64x64xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x4x64x64xf32>
  %e = stablehlo.exponential %d : tensor<2x4x64x64xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3]
      : (tensor<2x4x64x64xf32>, tensor<f32>) -> tensor<2x4x64xf32>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2]
      : (tensor<2x4x64xf32>) -> tensor<2x4x64x64xf32>
  %p = stablehlo.divide %e, %sb : tensor<2x4x64x64xf32>
  %out = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1]
      : (tensor<2x4x64x64xf32>, tensor<2x64x4x32xf32>) -> tensor<2x4x64x32xf32>
  return %out : tensor<2x4x64x32xf32>
}
