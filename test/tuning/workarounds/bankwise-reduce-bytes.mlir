// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-reduce-bytes))' | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK-SAME:    %[[X:.+]]: i8
// CHECK:         %[[WIDE:.+]] = arith.extui %[[X]] : i8 to i32
// CHECK:         %[[SUM:.+]] = gpu.subgroup_reduce add %[[WIDE]] cluster(size = 16, stride = 4) : (i32) -> i32
// CHECK:         %[[BYTE:.+]] = arith.trunci %[[SUM]] : i32 to i8
// CHECK:         return %[[BYTE]]
func.func @sum(%x: i8) -> i8 {
  %0 = gpu.subgroup_reduce add %x cluster(size = 16, stride = 4) : (i8) -> i8
  return %0 : i8
}

// CHECK-LABEL: func.func @extremes
// CHECK:         arith.extsi
// CHECK:         gpu.subgroup_reduce maxsi {{.+}} : (i32) -> i32
// CHECK:         arith.extui
// CHECK:         gpu.subgroup_reduce minui {{.+}} : (i32) -> i32
// CHECK:         gpu.subgroup_reduce maxsi {{.+}} : (i16) -> i16
func.func @extremes(%x: i8, %y: i16) -> (i8, i8, i16) {
  %0 = gpu.subgroup_reduce maxsi %x : (i8) -> i8
  %1 = gpu.subgroup_reduce minui %x : (i8) -> i8
  %2 = gpu.subgroup_reduce maxsi %y : (i16) -> i16
  return %0, %1, %2 : i8, i8, i16
}
