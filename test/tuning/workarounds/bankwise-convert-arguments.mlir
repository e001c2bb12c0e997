// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-convert-arguments))' --verify-diagnostics --bankwise-remarks | FileCheck %s

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME:    %[[VIEW:.+]]: !hal.buffer_view, %[[N:.+]]: index, %[[FENCE:.+]]: !hal.fence
// CHECK:         %[[GIVEN:.+]] = hal.tensor.import %[[VIEW]] : !hal.buffer_view -> tensor<?x4xf64>{%[[N]]}
// CHECK:         %[[EMPTY:.+]] = tensor.empty(%[[N]]) : tensor<?x4xf32>
// CHECK:         %[[X:.+]] = linalg.generic {{.*}} ins(%[[GIVEN]] : tensor<?x4xf64>) outs(%[[EMPTY]]
// CHECK:           arith.truncf %{{.+}} : f64 to f32
// CHECK:         %[[Y:.+]] = arith.negf %[[X]] : tensor<?x4xf32>
// CHECK:         %[[WIDE:.+]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<?x4xf32>)
// CHECK:           arith.extf %{{.+}} : f32 to f64
// CHECK:         %[[READY:.+]] = hal.tensor.barrier join(%[[WIDE]] : tensor<?x4xf64>) => %[[FENCE]]
// CHECK:         hal.tensor.export %[[READY]] : tensor<?x4xf64>{%[[N]]} -> !hal.buffer_view
func.func @dynamic(%view: !hal.buffer_view, %n: index, %fence: !hal.fence) -> !hal.buffer_view {
  // expected-remark@+1 {{converted between f64 of the caller and f32}}
  %x = hal.tensor.import %view : !hal.buffer_view -> tensor<?x4xf64> as tensor<?x4xf32>{%n}
  %y = arith.negf %x : tensor<?x4xf32>
  %ready = hal.tensor.barrier join(%y : tensor<?x4xf32>) => %fence : !hal.fence
  // expected-remark@+1 {{converted between f64 of the caller and f32}}
  %out = hal.tensor.export %ready : tensor<?x4xf64> as tensor<?x4xf32>{%n} -> !hal.buffer_view
  return %out : !hal.buffer_view
}

// Two results may be one tensor.

// CHECK-LABEL: func.func @integers
// CHECK:         arith.trunci %{{.+}} : i64 to i32
// CHECK:         arith.extsi %{{.+}} : i32 to i64
// CHECK:         %[[READY:.+]] = hal.tensor.barrier
// CHECK:         hal.tensor.export %[[READY]] : tensor<4xsi64> as tensor<4xi64>
// CHECK:         hal.tensor.export %[[READY]] : tensor<4xsi64> as tensor<4xi64>
// CHECK:         arith.extui %{{.+}} : i32 to i64
func.func @integers(%view: !hal.buffer_view, %fence: !hal.fence) -> (!hal.buffer_view, !hal.buffer_view, !hal.buffer_view) {
  // expected-remark@+1 {{converted between i64 of the caller and i32}}
  %x = hal.tensor.import %view : !hal.buffer_view -> tensor<4xsi64> as tensor<4xi32>
  %ready = hal.tensor.barrier join(%x : tensor<4xi32>) => %fence : !hal.fence
  // expected-remark@+1 {{converted between}}
  %0 = hal.tensor.export %ready : tensor<4xsi64> as tensor<4xi32> -> !hal.buffer_view
  // expected-remark@+1 {{converted between}}
  %1 = hal.tensor.export %ready : tensor<4xsi64> as tensor<4xi32> -> !hal.buffer_view
  // expected-remark@+1 {{converted between}}
  %2 = hal.tensor.export %x : tensor<4xui64> as tensor<4xi32> -> !hal.buffer_view
  return %0, %1, %2 : !hal.buffer_view, !hal.buffer_view, !hal.buffer_view
}

// The same bits are another name of the type, and other kinds of numbers are the program's own matter.

// CHECK-LABEL: func.func @stay
// CHECK-NOT:     linalg.generic
func.func @stay(%view: !hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view) {
  %x = hal.tensor.import %view : !hal.buffer_view -> tensor<4xsi32> as tensor<4xi32>
  %y = hal.tensor.import %view : !hal.buffer_view -> tensor<4xf64> as tensor<8xi32>
  %0 = hal.tensor.export %x : tensor<4xi32> -> !hal.buffer_view
  %1 = hal.tensor.export %y : tensor<8xi32> -> !hal.buffer_view
  return %0, %1 : !hal.buffer_view, !hal.buffer_view
}
