// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-fold-broadcasts))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// The weights are transposed, and the batch is two dimensions.

// CHECK-LABEL: func.func @transposed
// CHECK-DAG:   %[[ROWS:.*]] = tensor.collapse_shape %arg0 {{\[}}[0, 1], [2]] : tensor<6x5x16xf16> into tensor<30x16xf16>
// CHECK-DAG:   %[[SUMS:.*]] = tensor.collapse_shape %arg3 {{\[}}[0, 1], [2]] : tensor<6x5x8xf32> into tensor<30x8xf32>
// CHECK:       %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:    ins(%[[ROWS]], %arg1 : tensor<30x16xf16>, tensor<8x16xf16>) outs(%[[SUMS]] : tensor<30x8xf32>)
// CHECK-NEXT:  ^bb0(%[[A:.*]]: f16, %[[B:.*]]: f16, %[[S:.*]]: f32):
// CHECK-DAG:     %[[X:.*]] = arith.extf %[[A]]
// CHECK-DAG:     %[[Y:.*]] = arith.extf %[[B]]
// CHECK:         %[[P:.*]] = arith.mulf %[[X]], %[[Y]]
// CHECK:         %[[T:.*]] = arith.addf %[[S]], %[[P]]
// CHECK:         linalg.yield %[[T]]
// CHECK:       %[[E:.*]] = tensor.expand_shape %[[R]] {{\[}}[0, 1], [2]] output_shape [6, 5, 8]
// CHECK-NOT:   linalg.batch_matmul
// CHECK:       return %[[E]]
func.func @transposed(%a: tensor<6x5x16xf16>, %w: tensor<8x16xf16>, %o: tensor<2x3x16x8xf16>, %sums: tensor<6x5x8xf32>) -> tensor<6x5x8xf32> {
  %copies = linalg.generic {
      indexing_maps = [affine_map<(n, h, c, f) -> (f, c)>, affine_map<(n, h, c, f) -> (n, h, c, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%w : tensor<8x16xf16>) outs(%o : tensor<2x3x16x8xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<2x3x16x8xf16>
  %b = tensor.collapse_shape %copies [[0, 1], [2], [3]] : tensor<2x3x16x8xf16> into tensor<6x16x8xf16>
  // expected-remark@+1 {{computed as one matmul, because all matrices are one}}
  %r = linalg.batch_matmul ins(%a, %b : tensor<6x5x16xf16>, tensor<6x16x8xf16>) outs(%sums : tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
  return %r : tensor<6x5x8xf32>
}

// CHECK-LABEL: func.func @single
// CHECK:       linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:    tensor<30x16xf32>, tensor<16x8xf32>
// CHECK-NOT:     arith.extf
// CHECK:       return
func.func @single(%a: tensor<6x5x16xf32>, %w: tensor<16x8xf32>, %o: tensor<6x16x8xf32>, %sums: tensor<6x5x8xf32>) -> tensor<6x5x8xf32> {
  %copies = linalg.generic {
      indexing_maps = [affine_map<(n, c, f) -> (c, f)>, affine_map<(n, c, f) -> (n, c, f)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<16x8xf32>) outs(%o : tensor<6x16x8xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<6x16x8xf32>
  // expected-remark@+1 {{computed as one matmul}}
  %r = linalg.batch_matmul ins(%a, %copies : tensor<6x5x16xf32>, tensor<6x16x8xf32>) outs(%sums : tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
  return %r : tensor<6x5x8xf32>
}

// Each matrix is another one here.

// CHECK-LABEL: func.func @other_matrices
// CHECK:       linalg.batch_matmul
func.func @other_matrices(%a: tensor<6x5x16xf32>, %w: tensor<6x8xf32>, %o: tensor<6x16x8xf32>, %sums: tensor<6x5x8xf32>) -> tensor<6x5x8xf32> {
  %copies = linalg.generic {
      indexing_maps = [affine_map<(n, c, f) -> (n, f)>, affine_map<(n, c, f) -> (n, c, f)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<6x8xf32>) outs(%o : tensor<6x16x8xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<6x16x8xf32>
  %r = linalg.batch_matmul ins(%a, %copies : tensor<6x5x16xf32>, tensor<6x16x8xf32>) outs(%sums : tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
  return %r : tensor<6x5x8xf32>
}

// The copies are not of what is read.

// CHECK-LABEL: func.func @computed
// CHECK:       linalg.batch_matmul
func.func @computed(%a: tensor<6x5x16xf32>, %w: tensor<16x8xf32>, %o: tensor<6x16x8xf32>, %sums: tensor<6x5x8xf32>) -> tensor<6x5x8xf32> {
  %copies = linalg.generic {
      indexing_maps = [affine_map<(n, c, f) -> (c, f)>, affine_map<(n, c, f) -> (n, c, f)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<16x8xf32>) outs(%o : tensor<6x16x8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<6x16x8xf32>
  %r = linalg.batch_matmul ins(%a, %copies : tensor<6x5x16xf32>, tensor<6x16x8xf32>) outs(%sums : tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
  return %r : tensor<6x5x8xf32>
}
