// On gfx950 two of four waves load the left operand direct to the LDS, in a loop that begins at the
// number of the thread.
func.func @f(%a0: tensor<80x72xf16>, %a1: tensor<72x112xf16>, %a2: tensor<112xf32>) -> (tensor<80x112xf16>) {
  %v1 = tensor.empty() : tensor<80x112xf32>
  %v2 = arith.constant 0.000000000e+00 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<80x112xf32>) -> tensor<80x112xf32>
  %v4 = linalg.generic {indexing_maps = [affine_map<(m, k, n) -> (m, k)>, affine_map<(m, k, n) -> (k, n)>, affine_map<(m, k, n) -> (m, n)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%a0, %a1 : tensor<80x72xf16>, tensor<72x112xf16>) outs(%v3 : tensor<80x112xf32>) {
  ^bb0(%i0: f16, %i1: f16, %o: f32):
    %c0 = arith.extf %i0 : f16 to f32
    %c1 = arith.extf %i1 : f16 to f32
    %m = arith.mulf %c0, %c1 : f32
    %r = arith.addf %o, %m : f32
    linalg.yield %r : f32
  } -> tensor<80x112xf32>
  %v5 = tensor.empty() : tensor<80x112xf32>
  %v6 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%v4, %a2 : tensor<80x112xf32>, tensor<112xf32>) outs(%v5 : tensor<80x112xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %r = arith.addf %i0, %i1 : f32
    linalg.yield %r : f32
  } -> tensor<80x112xf32>
  %v7 = arith.constant 0.000000000e+00 : f32
  %v8 = tensor.empty() : tensor<80x112xf32>
  %v9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v6 : tensor<80x112xf32>) outs(%v8 : tensor<80x112xf32>) {
  ^bb0(%i0: f32, %o: f32):
    %r = arith.maximumf %i0, %v7 : f32
    linalg.yield %r : f32
  } -> tensor<80x112xf32>
  %v10 = tensor.empty() : tensor<80x112xf16>
  %v11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v9 : tensor<80x112xf32>) outs(%v10 : tensor<80x112xf16>) {
  ^bb0(%i0: f32, %o: f16):
    %r = arith.truncf %i0 : f32 to f16
    linalg.yield %r : f16
  } -> tensor<80x112xf16>
  return %v11 : tensor<80x112xf16>
}
