// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-copy-own-parts))' --verify-diagnostics --bankwise-remarks | FileCheck %s

// CHECK-LABEL: func.func @columns
// CHECK-SAME:    %[[X:.+]]: tensor<4x8xf32>
// CHECK:         %[[PART:.+]] = tensor.extract_slice %[[X]]
// CHECK:         %[[MADE:.+]] = util.optimization_barrier %[[PART]] : tensor<4x7xf32>
// CHECK:         tensor.insert_slice %[[MADE]] into %[[X]]
func.func @columns(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %part = tensor.extract_slice %x[0, 0] [4, 7] [1, 1] : tensor<4x8xf32> to tensor<4x7xf32>
  // expected-remark@+1 {{what is written is copied first, because it is a part of what it is written to}}
  %0 = tensor.insert_slice %part into %x[0, 1] [4, 7] [1, 1] : tensor<4x7xf32> into tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The part has another shape on its way, and the tensor as well.

// CHECK-LABEL: func.func @reshaped
// CHECK:         %[[ROW:.+]] = tensor.expand_shape {{.*}} : tensor<8xf32> into tensor<1x8xf32>
// CHECK:         %[[MADE:.+]] = util.optimization_barrier %[[ROW]] : tensor<1x8xf32>
// CHECK:         tensor.insert_slice %[[MADE]]
func.func @reshaped(%x: tensor<32xf32>) -> tensor<4x8xf32> {
  %rows = tensor.expand_shape %x [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %part = tensor.extract_slice %x[16] [8] [1] : tensor<32xf32> to tensor<8xf32>
  %row = tensor.expand_shape %part [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
  // expected-remark@+1 {{is copied first}}
  %0 = tensor.insert_slice %row into %rows[1, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Nobody finds the sizes behind the barrier.

// CHECK-LABEL: func.func @dynamic
// CHECK:         %[[PART:.+]] = tensor.extract_slice
// CHECK:         %[[ONE:.+]] = arith.constant 1 : index
// CHECK:         %[[SIZE:.+]] = tensor.dim %[[PART]], %[[ONE]] : tensor<4x?xf32>
// CHECK:         %[[MADE:.+]] = util.optimization_barrier %[[PART]] : tensor<4x?xf32>
// CHECK:         %[[TIED:.+]] = flow.tensor.tie_shape %[[MADE]] : tensor<4x?xf32>{%[[SIZE]]}
// CHECK:         tensor.insert_slice %[[TIED]]
func.func @dynamic(%x: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %part = tensor.extract_slice %x[0, 0] [4, %n] [1, 1] : tensor<4x8xf32> to tensor<4x?xf32>
  // expected-remark@+1 {{is copied first}}
  %0 = tensor.insert_slice %part into %x[0, 1] [4, %n] [1, 1] : tensor<4x?xf32> into tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @scattered
// CHECK:         %[[PART:.+]] = tensor.extract_slice
// CHECK:         %[[MADE:.+]] = util.optimization_barrier %[[PART]]
// CHECK:         iree_linalg_ext.scatter {{.*}} ins(%[[MADE]], %arg1
func.func @scattered(%x: tensor<9x8xf32>, %at: tensor<4x1xi32>) -> tensor<9x8xf32> {
  %part = tensor.extract_slice %x[0, 0] [4, 8] [1, 1] : tensor<9x8xf32> to tensor<4x8xf32>
  // expected-remark@+1 {{is copied first}}
  %0 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
      ins(%part, %at : tensor<4x8xf32>, tensor<4x1xi32>) outs(%x : tensor<9x8xf32>) {
  ^bb0(%new: f32, %old: f32):
    iree_linalg_ext.yield %new : f32
  } -> tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}

// What is computed is made by a kernel of its own, and a part of another tensor is read from elsewhere.

// CHECK-LABEL: func.func @others
// CHECK-NOT:     util.optimization_barrier
func.func @others(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %part = tensor.extract_slice %y[0, 0] [4, 7] [1, 1] : tensor<4x8xf32> to tensor<4x7xf32>
  %0 = tensor.insert_slice %part into %x[0, 1] [4, 7] [1, 1] : tensor<4x7xf32> into tensor<4x8xf32>
  %own = tensor.extract_slice %0[0, 0] [4, 7] [1, 1] : tensor<4x8xf32> to tensor<4x7xf32>
  %e = tensor.empty() : tensor<4x7xf32>
  %squares = linalg.elementwise <square> ins(%own : tensor<4x7xf32>) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
  %1 = tensor.insert_slice %squares into %0[0, 1] [4, 7] [1, 1] : tensor<4x7xf32> into tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
