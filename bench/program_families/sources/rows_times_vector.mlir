#all = affine_map<(${dims}) -> (${dims})>
#row = affine_map<(${dims}) -> (${outer})>
#column = affine_map<(${dims}) -> (${inner})>
func.func @main(%x: ${x}, %v: ${c}) -> ${r} {
  %zero = arith.constant 0.0 : ${t}
  %none = tensor.empty() : ${r}
  %zeros = linalg.fill ins(%zero : ${t}) outs(%none : ${r}) -> ${r}
  %r = linalg.generic {indexing_maps = [#all, #column, #row], iterator_types = [${reduced}]}
      ins(%x, %v : ${x}, ${c}) outs(%zeros : ${r}) {
  ^bb0(%e: ${t}, %f: ${t}, %o: ${t}):
    %p = arith.mulf %e, %f : ${t}
    %s = arith.addf %p, %o : ${t}
    linalg.yield %s : ${t}
  } -> ${r}
  return %r : ${r}
}
