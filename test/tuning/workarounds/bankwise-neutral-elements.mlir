// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-neutral-elements))' | FileCheck %s

// CHECK-LABEL: func.func @extremes
// CHECK:         %[[NONE:.+]] = arith.constant dense<0> : vector<2xi32>
// CHECK:         %[[OWN:.+]] = arith.constant dense<7> : vector<2xi32>
// CHECK:         %[[LEAST:.+]] = arith.constant dense<-2147483648> : vector<2xi32>
// CHECK:         vector.multi_reduction <maxsi>, %{{.+}}, %[[LEAST]]
// CHECK:         %[[LARGEST:.+]] = arith.constant 32767 : i16
// CHECK:         vector.multi_reduction <minsi>, %{{.+}}, %[[LARGEST]]
// CHECK:         vector.multi_reduction <maxui>, %{{.+}}, %[[NONE]]
// CHECK:         vector.multi_reduction <maxsi>, %{{.+}}, %[[OWN]]
func.func @extremes(%a: vector<2x4xi32>, %b: vector<4xi16>) -> (vector<2xi32>, i16, vector<2xi32>, vector<2xi32>) {
  %zeros = arith.constant dense<0> : vector<2xi32>
  %ones = arith.constant -1 : i16
  %own = arith.constant dense<7> : vector<2xi32>
  %0 = vector.multi_reduction <maxsi>, %a, %zeros [1] : vector<2x4xi32> to vector<2xi32>
  %1 = vector.multi_reduction <minsi>, %b, %ones [0] : vector<4xi16> to i16
  %2 = vector.multi_reduction <maxui>, %a, %zeros [1] : vector<2x4xi32> to vector<2xi32>
  %3 = vector.multi_reduction <maxsi>, %a, %own [1] : vector<2x4xi32> to vector<2xi32>
  return %0, %1, %2, %3 : vector<2xi32>, i16, vector<2xi32>, vector<2xi32>
}

// CHECK-LABEL: func.func @common_bits
// CHECK:         %[[ONE:.+]] = arith.constant dense<1> : vector<2xi64>
// CHECK:         %[[ALL:.+]] = arith.constant dense<-1> : vector<2xi64>
// CHECK:         vector.multi_reduction <and>, %{{.+}}, %[[ALL]]
// CHECK:         vector.multi_reduction <mul>, %{{.+}}, %[[ONE]]
// CHECK:         %[[TRUE:.+]] = arith.constant true
// CHECK:         vector.multi_reduction <and>, %{{.+}}, %[[TRUE]]
func.func @common_bits(%a: vector<2x4xi64>, %b: vector<4xi1>) -> (vector<2xi64>, vector<2xi64>, i1) {
  %one = arith.constant dense<1> : vector<2xi64>
  %0 = vector.multi_reduction <and>, %a, %one [1] : vector<2x4xi64> to vector<2xi64>
  %1 = vector.multi_reduction <mul>, %a, %one [1] : vector<2x4xi64> to vector<2xi64>
  %true = arith.constant true
  %2 = vector.multi_reduction <and>, %b, %true [0] : vector<4xi1> to i1
  return %0, %1, %2 : vector<2xi64>, vector<2xi64>, i1
}
