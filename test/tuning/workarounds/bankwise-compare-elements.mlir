// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-compare-elements))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Nobody asks for the element, so that it is a maximum.

// CHECK-LABEL: func.func @place
// CHECK:         %[[FOUND:.+]]:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
// CHECK:         ^bb0(%[[IN:.+]]: f16, %[[BEST:.+]]: f16, %[[BEFORE:.+]]: i32):
// CHECK-DAG:       %[[BETTER:.+]] = arith.cmpf ogt, %[[IN]], %[[BEST]] : f16
// CHECK-DAG:       %[[HERE:.+]] = linalg.index 1
// CHECK-DAG:       %[[WORD:.+]] = arith.index_cast %[[HERE]] : index to i32
// CHECK-DAG:       %[[NEW:.+]] = arith.maxnumf %[[IN]], %[[BEST]] : f16
// CHECK-DAG:       %[[THERE:.+]] = arith.select %[[BETTER]], %[[WORD]], %[[BEFORE]] : i32
// CHECK:           linalg.yield %[[NEW]], %[[THERE]] : f16, i32
// CHECK:         return %[[FOUND]]#1
func.func @place(%x: tensor<4x1024xf16>, %zeros: tensor<4xi32>) -> tensor<4xi32> {
  %least = arith.constant 0xFC00 : f16
  %none = tensor.empty() : tensor<4xf16>
  %values = linalg.fill ins(%least : f16) outs(%none : tensor<4xf16>) -> tensor<4xf16>
  // expected-remark @+1 {{the place is found by a reduction}}
  %0:2 = iree_linalg_ext.arg_compare dimension(1) ins(%x : tensor<4x1024xf16>) outs(%values, %zeros : tensor<4xf16>, tensor<4xi32>) {
  ^bb0(%in: f16, %best: f16):
    %better = arith.cmpf ogt, %in, %best : f16
    iree_linalg_ext.yield %better : i1
  } -> tensor<4xf16>, tensor<4xi32>
  return %0#1 : tensor<4xi32>
}

// A zero that is found may be -0.0, of which a maximum may make 0.0. Another base of places is added.

// CHECK-LABEL: func.func @element_and_place
// CHECK-SAME:    %[[BASE:[^:]+]]: index
// CHECK:         iterator_types = ["reduction", "parallel"]
// CHECK:         ^bb0(%[[IN:.+]]: f16, %[[BEST:.+]]: f16, %[[BEFORE:.+]]: i64):
// CHECK-DAG:       %[[HERE:.+]] = linalg.index 0
// CHECK-DAG:       %[[THERE:.+]] = arith.addi %[[HERE]], %[[BASE]] : index
// CHECK-DAG:       arith.index_cast %[[THERE]] : index to i64
// CHECK-DAG:       arith.select %{{.+}}, %[[IN]], %[[BEST]] : f16
func.func @element_and_place(%base: index, %x: tensor<9x4xf16>, %zeros: tensor<4xi64>) -> (tensor<4xf16>, tensor<4xi64>) {
  %least = arith.constant 0xFC00 : f16
  %none = tensor.empty() : tensor<4xf16>
  %values = linalg.fill ins(%least : f16) outs(%none : tensor<4xf16>) -> tensor<4xf16>
  // expected-remark @+1 {{the place is found by a reduction}}
  %0:2 = iree_linalg_ext.arg_compare dimension(0) ins(%x : tensor<9x4xf16>) outs(%values, %zeros : tensor<4xf16>, tensor<4xi64>) index_base(%base : index) {
  ^bb0(%in: f16, %best: f16):
    %better = arith.cmpf ogt, %in, %best : f16
    iree_linalg_ext.yield %better : i1
  } -> tensor<4xf16>, tensor<4xi64>
  return %0#0, %0#1 : tensor<4xf16>, tensor<4xi64>
}

// What the search begins with may be NaN, which it keeps; a maximum of numbers would not.

// CHECK-LABEL: func.func @after_anything
// CHECK-NOT:     arith.maxnumf
// CHECK:         return
func.func @after_anything(%x: tensor<4x9xf16>, %values: tensor<4xf16>, %zeros: tensor<4xi32>) -> tensor<4xi32> {
  // expected-remark @+1 {{the place is found by a reduction}}
  %0:2 = iree_linalg_ext.arg_compare dimension(1) ins(%x : tensor<4x9xf16>) outs(%values, %zeros : tensor<4xf16>, tensor<4xi32>) {
  ^bb0(%in: f16, %best: f16):
    %better = arith.cmpf ogt, %in, %best : f16
    iree_linalg_ext.yield %better : i1
  } -> tensor<4xf16>, tensor<4xi32>
  return %0#1 : tensor<4xi32>
}

// Places are given, and the comparison is one of magnitudes, or takes the last of several.

// CHECK-LABEL: func.func @given_places
// CHECK:         ^bb0(%[[IN:.+]]: i32, %[[GIVEN:.+]]: i32, %[[BEST:.+]]: i32, %[[BEFORE:.+]]: i32):
// CHECK-DAG:       %[[SIZE:.+]] = math.absi %[[IN]]
// CHECK-DAG:       %[[MOST:.+]] = math.absi %[[BEST]]
// CHECK-DAG:       %[[BETTER:.+]] = arith.cmpi sge, %[[SIZE]], %[[MOST]]
// CHECK-DAG:       arith.select %[[BETTER]], %[[IN]], %[[BEST]]
// CHECK-DAG:       arith.select %[[BETTER]], %[[GIVEN]], %[[BEFORE]]
func.func @given_places(%x: tensor<4x9xi32>, %p: tensor<4x9xi32>, %values: tensor<4xi32>, %zeros: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  // expected-remark @+1 {{the place is found by a reduction}}
  %0:2 = iree_linalg_ext.arg_compare dimension(1) ins(%x, %p : tensor<4x9xi32>, tensor<4x9xi32>) outs(%values, %zeros : tensor<4xi32>, tensor<4xi32>) {
  ^bb0(%in: i32, %best: i32):
    %size = math.absi %in : i32
    %most = math.absi %best : i32
    %better = arith.cmpi sge, %size, %most : i32
    iree_linalg_ext.yield %better : i1
  } -> tensor<4xi32>, tensor<4xi32>
  return %0#0, %0#1 : tensor<4xi32>, tensor<4xi32>
}
