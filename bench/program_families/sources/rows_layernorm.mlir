#all = affine_map<(${dims}) -> (${dims})>
#row = affine_map<(${dims}) -> (${outer})>
#column = affine_map<(${dims}) -> (${inner})>
func.func @main(%x: ${x}, %gain: ${c}, %bias: ${c}) -> ${x} {
  %count = arith.constant ${count} : ${t}
  %epsilon = arith.constant 1.0e-5 : ${t}
  %zero = arith.constant 0.0 : ${t}
  %empty = tensor.empty() : ${x}
  %none = tensor.empty() : ${r}
  %zeros = linalg.fill ins(%zero : ${t}) outs(%none : ${r}) -> ${r}
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = [${reduced}]}
      ins(%x : ${x}) outs(%zeros : ${r}) {
  ^bb0(%e: ${t}, %o: ${t}):
    %s = arith.addf %e, %o : ${t}
    linalg.yield %s : ${t}
  } -> ${r}
  %centred = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = [${parallel}]}
      ins(%x, %sum : ${x}, ${r}) outs(%empty : ${x}) {
  ^bb0(%e: ${t}, %m: ${t}, %o: ${t}):
    %mean = arith.divf %m, %count : ${t}
    %s = arith.subf %e, %mean : ${t}
    linalg.yield %s : ${t}
  } -> ${x}
  %squares = linalg.generic {indexing_maps = [#all, #row], iterator_types = [${reduced}]}
      ins(%centred : ${x}) outs(%zeros : ${r}) {
  ^bb0(%e: ${t}, %o: ${t}):
    %q = arith.mulf %e, %e : ${t}
    %s = arith.addf %q, %o : ${t}
    linalg.yield %s : ${t}
  } -> ${r}
  %r = linalg.generic {indexing_maps = [#all, #row, #column, #column, #all], iterator_types = [${parallel}]}
      ins(%centred, %squares, %gain, %bias : ${x}, ${r}, ${c}, ${c}) outs(%empty : ${x}) {
  ^bb0(%e: ${t}, %v: ${t}, %g: ${t}, %b: ${t}, %o: ${t}):
    %v0 = arith.divf %v, %count : ${t}
    %v1 = arith.addf %v0, %epsilon : ${t}
    %v2 = math.rsqrt %v1 : ${t}
    %n = arith.mulf %e, %v2 : ${t}
    %scaled = arith.mulf %n, %g : ${t}
    %s = arith.addf %scaled, %b : ${t}
    linalg.yield %s : ${t}
  } -> ${x}
  return %r : ${x}
}
