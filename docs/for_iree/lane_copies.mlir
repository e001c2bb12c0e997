func.func @main(%x: tensor<48x13xi8>, %w: tensor<13x31xf32>, %y: tensor<48x31xf32>) -> tensor<48x31xf32> {
  %empty = tensor.empty() : tensor<48x31xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<48x13xi8>, tensor<13x31xf32>) outs(%y : tensor<48x31xf32>) {
  ^bb0(%a: i8, %b: f32, %acc: f32):
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<48x31xf32>
  %out = linalg.map { arith.addf } ins(%sum, %y : tensor<48x31xf32>, tensor<48x31xf32>) outs(%empty : tensor<48x31xf32>)
  return %out : tensor<48x31xf32>
}
