#all = affine_map<(${dims}) -> (${dims})>
#row = affine_map<(${dims}) -> (${outer})>
func.func @main(%x: ${x}) -> ${r} {
  %zero = arith.constant 0.0 : ${t}
  %none = tensor.empty() : ${r}
  %zeros = linalg.fill ins(%zero : ${t}) outs(%none : ${r}) -> ${r}
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = [${reduced}]}
      ins(%x : ${x}) outs(%zeros : ${r}) {
  ^bb0(%e: ${t}, %o: ${t}):
    %s = arith.addf %e, %o : ${t}
    linalg.yield %s : ${t}
  } -> ${r}
  return %r : ${r}
}
