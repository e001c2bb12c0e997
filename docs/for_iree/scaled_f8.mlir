// A product of ones, of which only the first of four blocks of A is not zero. Its scale is 2, all
// others are 1, so that every element of the result is 32 * 2 = 64.
#row = affine_map<(m, k, b) -> (m, k, b)>
#maps = [affine_map<(m, n, k, b) -> (m, k, b)>, affine_map<(m, n, k, b) -> (n, k, b)>, affine_map<(m, n, k, b) -> (m, k)>, affine_map<(m, n, k, b) -> (n, k)>, affine_map<(m, n, k, b) -> (m, n)>]
func.func @scaled(%one: i8, %b8: tensor<128x4x32xi8>, %sb8: tensor<128x4xi8>) -> tensor<128x128xf32> {
  %c0 = arith.constant 0 : index
  %zero8 = arith.constant 0 : i8
  %unit = arith.constant 127 : i8
  %twice = arith.constant -128 : i8
  %ae = tensor.empty() : tensor<128x4x32xi8>
  %a8 = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel", "parallel", "parallel"]} outs(%ae : tensor<128x4x32xi8>) {
  ^bb0(%out: i8):
    %k = linalg.index 1 : index
    %first = arith.cmpi eq, %k, %c0 : index
    %value = arith.select %first, %one, %zero8 : i8
    linalg.yield %value : i8
  } -> tensor<128x4x32xi8>
  %se = tensor.empty() : tensor<128x4xi8>
  %sa8 = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]} outs(%se : tensor<128x4xi8>) {
  ^bb0(%out: i8):
    %k = linalg.index 1 : index
    %first = arith.cmpi eq, %k, %c0 : index
    %value = arith.select %first, %twice, %unit : i8
    linalg.yield %value : i8
  } -> tensor<128x4xi8>
  %a = flow.tensor.bitcast %a8 : tensor<128x4x32xi8> -> tensor<128x4x32xf8E4M3FN>
  %b = flow.tensor.bitcast %b8 : tensor<128x4x32xi8> -> tensor<128x4x32xf8E4M3FN>
  %sa = flow.tensor.bitcast %sa8 : tensor<128x4xi8> -> tensor<128x4xf8E8M0FNU>
  %sb = flow.tensor.bitcast %sb8 : tensor<128x4xi8> -> tensor<128x4xf8E8M0FNU>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %sums = linalg.generic {indexing_maps = #maps, iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b, %sa, %sb : tensor<128x4x32xf8E4M3FN>, tensor<128x4x32xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<128x4xf8E8M0FNU>) outs(%init : tensor<128x128xf32>) {
  ^bb0(%x: f8E4M3FN, %y: f8E4M3FN, %sx: f8E8M0FNU, %sy: f8E8M0FNU, %sum: f32):
    %wide_x = arith.scaling_extf %x, %sx : f8E4M3FN, f8E8M0FNU to f32
    %wide_y = arith.scaling_extf %y, %sy : f8E4M3FN, f8E8M0FNU to f32
    %product = arith.mulf %wide_x, %wide_y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<128x128xf32>
  return %sums : tensor<128x128xf32>
}
