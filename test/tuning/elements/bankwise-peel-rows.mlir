// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-peel-rows))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK:         %[[FULL:.+]] = scf.for %{{.+}} = %c0 to %[[BORDER:.+]] step %c32
// CHECK:         %[[ALL:.+]] = scf.for %{{.+}} = %[[BORDER]] to %c96{{.*}} iter_args(%{{.+}} = %[[FULL]])
// CHECK:         return %[[ALL]]
func.func @sum(%row: memref<77xf32>, %lane: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c76 = arith.constant 76 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  // expected-remark@+1 {{only the step at 64 asks where the row ends}}
  %sum = scf.for %i = %c0 to %c96 step %c32 iter_args(%before = %zero) -> (f32) {
    %column = arith.addi %i, %lane : index
    %there = arith.cmpi ule, %column, %c76 : index
    %place = arith.minui %column, %c76 : index
    %x = memref.load %row[%place] : memref<77xf32>
    %counted = arith.select %there, %x, %zero : f32
    %after = arith.addf %before, %counted : f32
    scf.yield %after : f32
  }
  return %sum : f32
}

// CHECK-LABEL: func.func @elements
// CHECK:         scf.forall (%{{.+}}) = (0) to (64) step (32) {
// CHECK:         scf.forall (%{{.+}}) = (64) to (96) step (32) {
// CHECK:         return
func.func @elements(%row: memref<77xf32>, %out: memref<96xf32>, %lane: index) {
  %c76 = arith.constant 76 : index
  // expected-remark@+1 {{only the step at 64 asks where the row ends}}
  scf.forall (%i) = (0) to (96) step (32) {
    %column = arith.addi %i, %lane : index
    %place = arith.minui %column, %c76 : index
    %x = memref.load %row[%place] : memref<77xf32>
    memref.store %x, %out[%column] : memref<96xf32>
  }
  return
}

// Lanes of a workgroup exchange what a product needs, two steps may go beyond the row, or none.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: scf.for
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @others(%row: memref<77xf32>, %out: memref<96xf32>, %lane: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c60 = arith.constant 60 : index
  %c76 = arith.constant 76 : index
  %c95 = arith.constant 95 : index
  %c96 = arith.constant 96 : index
  scf.for %i = %c0 to %c96 step %c32 {
    %column = arith.addi %i, %lane : index
    %place = arith.minui %column, %c76 : index
    gpu.barrier
    %x = memref.load %row[%place] : memref<77xf32>
    memref.store %x, %out[%column] : memref<96xf32>
  }
  scf.for %i = %c0 to %c96 step %c32 {
    %column = arith.addi %i, %lane : index
    %place = arith.minui %column, %c60 : index
    %x = memref.load %row[%place] : memref<77xf32>
    memref.store %x, %out[%column] : memref<96xf32>
  }
  scf.for %i = %c0 to %c96 step %c32 {
    %column = arith.addi %i, %lane : index
    %place = arith.minui %column, %c95 : index
    %x = memref.load %out[%place] : memref<96xf32>
    memref.store %x, %out[%column] : memref<96xf32>
  }
  return
}
