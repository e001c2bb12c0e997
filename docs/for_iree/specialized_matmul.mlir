// Two kernels: one for up to 16 rows, and one for more.
func.func @main(%a: tensor<?x1024xf16>, %b: tensor<1024x1024xf16>) -> tensor<?x1024xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %a, %c0 : tensor<?x1024xf16>
  %e = tensor.empty(%rows) : tensor<?x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  %r = linalg.matmul {iree_codegen.specialization_ranges =
      #util<int.assumption.multi_array[[<umin = 0, umax = 16>]]>}
      ins(%a, %b : tensor<?x1024xf16>, tensor<1024x1024xf16>)
      outs(%f : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  return %r : tensor<?x1024xf32>
}
