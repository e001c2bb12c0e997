#all = affine_map<(${dims}) -> (${dims})>
#row = affine_map<(${dims}) -> (${outer})>
#column = affine_map<(${dims}) -> (${inner})>
func.func @main(%x: ${x}, %mask: ${c}) -> ${x} {
  %zero = arith.constant 0.0 : ${t}
  %least = arith.constant ${least} : ${t}
  %empty = tensor.empty() : ${x}
  %none = tensor.empty() : ${r}
  %scores = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = [${parallel}]}
      ins(%x, %mask : ${x}, ${c}) outs(%empty : ${x}) {
  ^bb0(%e: ${t}, %m: ${t}, %o: ${t}):
    %s = arith.addf %e, %m : ${t}
    linalg.yield %s : ${t}
  } -> ${x}
  %before = linalg.fill ins(%least : ${t}) outs(%none : ${r}) -> ${r}
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = [${reduced}]}
      ins(%scores : ${x}) outs(%before : ${r}) {
  ^bb0(%e: ${t}, %o: ${t}):
    %s = arith.maximumf %e, %o : ${t}
    linalg.yield %s : ${t}
  } -> ${r}
  %exps = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = [${parallel}]}
      ins(%scores, %max : ${x}, ${r}) outs(%empty : ${x}) {
  ^bb0(%e: ${t}, %m: ${t}, %o: ${t}):
    %d = arith.subf %e, %m : ${t}
    %s = math.exp %d : ${t}
    linalg.yield %s : ${t}
  } -> ${x}
  %zeros = linalg.fill ins(%zero : ${t}) outs(%none : ${r}) -> ${r}
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = [${reduced}]}
      ins(%exps : ${x}) outs(%zeros : ${r}) {
  ^bb0(%e: ${t}, %o: ${t}):
    %s = arith.addf %e, %o : ${t}
    linalg.yield %s : ${t}
  } -> ${r}
  %r = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = [${parallel}]}
      ins(%exps, %sum : ${x}, ${r}) outs(%empty : ${x}) {
  ^bb0(%e: ${t}, %m: ${t}, %o: ${t}):
    %s = arith.divf %e, %m : ${t}
    linalg.yield %s : ${t}
  } -> ${x}
  return %r : ${x}
}
