#all = affine_map<(${dims}) -> (${dims})>
#row = affine_map<(${dims}) -> (${outer})>
func.func @main(%x: ${x}) -> (${r}, ${places}) {
  %first = arith.constant 0 : i64
  %least = arith.constant ${least} : ${t}
  %none = tensor.empty() : ${r}
  %before = linalg.fill ins(%least : ${t}) outs(%none : ${r}) -> ${r}
  %nowhere = tensor.empty() : ${places}
  %firsts = linalg.fill ins(%first : i64) outs(%nowhere : ${places}) -> ${places}
  %r:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = [${reduced}]}
      ins(%x : ${x}) outs(%before, %firsts : ${r}, ${places}) {
  ^bb0(%e: ${t}, %o: ${t}, %p: i64):
    %i = linalg.index ${last} : index
    %n = arith.index_cast %i : index to i64
    %s = arith.${extreme} %e, %o : ${t}
    %c = arith.cmpf ogt, %e, %o : ${t}
    %q = arith.select %c, %n, %p : i64
    linalg.yield %s, %q : ${t}, i64
  } -> (${r}, ${places})
  return %r#0, %r#1 : ${r}, ${places}
}
