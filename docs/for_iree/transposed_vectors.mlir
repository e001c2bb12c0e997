// The sums of a product come transposed: an element (n, m) of %c gets a product of %b's element n and %a's element m.
func.func @product(%a: vector<1x2xf32>, %b: vector<1x2xf32>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %0 = vector.contract {
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>],
      iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
      %a, %b, %c : vector<1x2xf32>, vector<1x2xf32> into vector<2x2xf32>
  return %0 : vector<2x2xf32>
}
