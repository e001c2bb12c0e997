// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-define-padding))' | FileCheck %s

// CHECK-LABEL: func.func @function_with_branches
// CHECK:         %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[ZEROS:.+]] = arith.constant dense<0> : vector<4xi32>
// CHECK:         scf.yield %[[ZERO]] : f32
// CHECK:         return %{{.+}}, %[[ZEROS]]
func.func @function_with_branches(%inside: i1, %memory: memref<8xf32>, %i: index) -> (f32, vector<4xi32>) {
  %poison = ub.poison : f32
  %vector = ub.poison : vector<4xi32>
  %x = scf.if %inside -> f32 {
    %0 = memref.load %memory[%i] : memref<8xf32>
    scf.yield %0 : f32
  } else {
    scf.yield %poison : f32
  }
  %tanh = math.tanh %x : f32
  return %tanh, %vector : f32, vector<4xi32>
}

// CHECK-LABEL: func.func @divisions
// CHECK-NOT:     ub.poison
// CHECK:         %[[Y:.+]] = arith.select %{{.+}}, %{{.+}}, %{{.+}} : vector<4xi1>, vector<4xi32>
// CHECK:         %[[NONE:.+]] = arith.constant dense<0> : vector<4xi32>
// CHECK:         %[[ONE:.+]] = arith.constant dense<1> : vector<4xi32>
// CHECK:         %[[IS_NONE:.+]] = arith.cmpi eq, %[[Y]], %[[NONE]]
// CHECK:         %[[DIVISOR:.+]] = arith.select %[[IS_NONE]], %[[ONE]], %[[Y]]
// CHECK:         arith.divsi %[[X:.+]], %[[DIVISOR]]
// CHECK:         arith.remui %[[X]], %{{.*}}cst
func.func @divisions(%mask: vector<4xi1>, %x: vector<4xi32>, %read: vector<4xi32>) -> (vector<4xi32>, vector<4xi32>) {
  %ten = arith.constant dense<10> : vector<4xi32>
  %poison = ub.poison : vector<4xi32>
  %y = arith.select %mask, %read, %poison : vector<4xi1>, vector<4xi32>
  %0 = arith.divsi %x, %y : vector<4xi32>
  %1 = arith.remui %x, %ten : vector<4xi32>
  return %0, %1 : vector<4xi32>, vector<4xi32>
}

// CHECK-LABEL: func.func @branch_on_data
// CHECK-NOT:     ub.poison
func.func @branch_on_data(%memory: memref<8xf32>, %i: index) -> f32 {
  %zero = arith.constant 0.0 : f32
  %poison = ub.poison : f32
  %x = memref.load %memory[%i] : memref<8xf32>
  %below = arith.cmpf olt, %x, %zero : f32
  %y = scf.if %below -> f32 {
    scf.yield %poison : f32
  } else {
    scf.yield %x : f32
  }
  return %y : f32
}

// CHECK-LABEL: func.func @loop_to_what_was_read
// CHECK-NOT:     ub.poison
func.func @loop_to_what_was_read(%memory: memref<8xindex>, %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %poison = ub.poison : f32
  %end = memref.load %memory[%i] : memref<8xindex>
  %y = scf.for %j = %c0 to %end step %c1 iter_args(%z = %poison) -> f32 {
    %1 = arith.addf %z, %z : f32
    scf.yield %1 : f32
  }
  return %y : f32
}

// CHECK-LABEL: func.func @wide
// CHECK-NOT:     ub.poison
func.func @wide() -> f64 {
  %poison = ub.poison : f64
  %y = math.exp %poison : f64
  return %y : f64
}

// Masks are no data, and exponentials of f32 have no branches.

// CHECK-LABEL: func.func @stay
// CHECK:         ub.poison : f32
func.func @stay(%memory: memref<8xf32>, %i: index, %n: index) -> (f32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %poison = ub.poison : f32
  %row = arith.divui %i, %n : index
  %y = scf.for %j = %c0 to %n step %c1 iter_args(%z = %poison) -> f32 {
    %inside = arith.cmpi ult, %j, %row : index
    %1 = scf.if %inside -> f32 {
      %2 = memref.load %memory[%j] : memref<8xf32>
      scf.yield %2 : f32
    } else {
      scf.yield %z : f32
    }
    scf.yield %1 : f32
  }
  %exp = math.exp %y : f32
  return %exp, %row : f32, index
}

// Without padding nothing changes.

// CHECK-LABEL: func.func @no_poison
// CHECK-NOT:     arith.select
func.func @no_poison(%x: i32, %y: i32) -> i32 {
  %0 = arith.divsi %x, %y : i32
  return %0 : i32
}
