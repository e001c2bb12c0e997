func.func @main(%x: ${x}) -> ${x} {
  %empty = tensor.empty() : ${x}
  %r = linalg.softmax dimension(${last}) ins(%x : ${x}) outs(%empty : ${x}) -> ${x}
  return %r : ${x}
}
