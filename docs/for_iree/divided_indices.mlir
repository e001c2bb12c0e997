// A vector of four indices is divided by 227, 512 and 3. The last quotients are below 2^16.
func.func @gather(%a: tensor<6x512x240xf16>) -> tensor<697344xf32> {
  %e = tensor.empty() : tensor<697344xf32>
  %c227 = arith.constant 227 : index
  %c512 = arith.constant 512 : index
  %c3 = arith.constant 3 : index
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<697344xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %row = arith.divui %i, %c227 : index
    %column = arith.remui %i, %c227 : index
    %batch = arith.divui %row, %c512 : index
    %of_batch = arith.remui %row, %c512 : index
    %third = arith.remui %batch, %c3 : index
    %x = tensor.extract %a[%third, %of_batch, %column] : tensor<6x512x240xf16>
    %y = arith.extf %x : f16 to f32
    linalg.yield %y : f32
  } -> tensor<697344xf32>
  return %r : tensor<697344xf32>
}
