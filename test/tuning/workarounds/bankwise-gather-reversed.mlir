// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-gather-reversed))' --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: func.func @reflected
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME:      ins(%arg1 : tensor<20x4xf32>) outs(%arg2 : tensor<20x4xf32>) attrs = {a}
// CHECK-NEXT:    ^bb0(%[[B:.+]]: f32, %[[OLD:.+]]: f32):
// CHECK-DAG:       %[[I:.+]] = linalg.index 0 : index
// CHECK-DAG:       %[[AT:.+]] = affine.apply affine_map<(d0) -> (-d0 + 19)>(%[[I]])
// CHECK-DAG:       %[[J:.+]] = linalg.index 1 : index
// CHECK:           %[[A:.+]] = tensor.extract %arg0[%[[AT]], %[[J]]]
// CHECK:           %[[SUM:.+]] = arith.addf %[[A]], %[[B]]
// CHECK:           linalg.yield %[[SUM]]
func.func @reflected(%x: tensor<20x4xf32>, %y: tensor<20x4xf32>, %o: tensor<20x4xf32>) -> tensor<20x4xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (-d0 + 19, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<20x4xf32>, tensor<20x4xf32>) outs(%o : tensor<20x4xf32>) attrs = {a} {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<20x4xf32>
  return %0 : tensor<20x4xf32>
}

// The element itself is the result.

// CHECK-LABEL: func.func @reversed
// CHECK:         tensor.extract %arg0
// CHECK-NEXT:    linalg.yield
func.func @reversed(%x: tensor<20xf32>, %o: tensor<20xf32>) -> tensor<20xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (-d0 + 19)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<20xf32>) outs(%o : tensor<20xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  } -> tensor<20xf32>
  return %0 : tensor<20xf32>
}

// CHECK-LABEL: func.func @forwards
// CHECK-NOT:     tensor.extract
func.func @forwards(%x: tensor<20xf32>, %o: tensor<19xf32>) -> tensor<19xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 + 1)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<20xf32>) outs(%o : tensor<19xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  } -> tensor<19xf32>
  return %0 : tensor<19xf32>
}
