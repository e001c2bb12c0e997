// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-unroll-windows))' | FileCheck %s

// The loop over a window is unrolled; how often that over elements runs depends on the lane.

// CHECK-LABEL: func.func @window(
// CHECK-NOT:     bankwise.windows
// CHECK:         scf.for %{{.*}} = %thread_id_x to
// CHECK:           scf.for
// CHECK:           } {unroll_loop}
// CHECK:         }{{$}}
func.func @window(%m: memref<240x5xf32>) attributes {bankwise.windows} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c240 = arith.constant 240 : index
  %c256 = arith.constant 256 : index
  %x = gpu.thread_id x
  scf.for %i = %x to %c240 step %c256 {
    scf.for %j = %c0 to %c5 step %c1 {
      memref.store %zero, %m[%i, %j] : memref<240x5xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func @other(
// CHECK-NOT:     unroll_loop
func.func @other(%m: memref<240x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %j = %c0 to %c5 step %c1 {
    memref.store %zero, %m[%c0, %j] : memref<240x5xf32>
  }
  return
}
