// All columns of a matrix but the last move to the right by one.
func.func @main(%x: tensor<2x9xf32>) -> tensor<2x9xf32> {
  %part = tensor.extract_slice %x[0, 0] [2, 8] [1, 1] : tensor<2x9xf32> to tensor<2x8xf32>
  %moved = tensor.insert_slice %part into %x[0, 1] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<2x9xf32>
  return %moved : tensor<2x9xf32>
}
