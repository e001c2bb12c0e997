// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-keep-sum-order{ordered=true},bankwise-keep-sum-order))' | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-keep-sum-order))' | FileCheck %s --check-prefix=LATE

// The last product of a step comes first: they are added from the first to the last, each of them rounded.

// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[A0:[a-z0-9]+]]: vector<4xf32>, %[[A1:[a-z0-9]+]]: vector<4xf32>, %[[B0:[a-z0-9]+]]: vector<4xf32>, %[[B1:[a-z0-9]+]]: vector<4xf32>, %[[SUM:[a-z0-9]+]]: vector<4xf32>)
// CHECK-NOT:     bankwise.sum_order
// CHECK:         %[[P0:.*]] = arith.mulf %[[A0]], %[[B0]]
// CHECK:         %[[S0:.*]] = arith.addf %[[SUM]], %[[P0]]
// CHECK:         %[[P1:.*]] = arith.mulf %[[A1]], %[[B1]]
// CHECK:         %[[S1:.*]] = arith.addf %[[S0]], %[[P1]]
// CHECK:         return %[[S1]]

// What is not in order is not rounded.

// LATE-LABEL: func.func @step(
// LATE-SAME:    bankwise.sum_order = array<i64: 2, 1, 1>
// LATE-COUNT-2: math.fma
func.func @step(%a0: vector<4xf32>, %a1: vector<4xf32>, %b0: vector<4xf32>, %b1: vector<4xf32>, %sum: vector<4xf32>) -> vector<4xf32> attributes {bankwise.sum_order = array<i64: 2, 1, 1>} {
  %0 = math.fma %a1, %b1, %sum : vector<4xf32>
  %1 = math.fma %a0, %b0, %0 : vector<4xf32>
  return %1 : vector<4xf32>
}

// Two products are no step of three, and neither are three of which the first sum is used otherwise.

// CHECK-LABEL: func.func @short(
// CHECK-SAME:    bankwise.sum_order = array<i64: 3, 1, 1>
// CHECK-COUNT-2: math.fma
func.func @short(%a: vector<4xf32>, %sum: vector<4xf32>) -> vector<4xf32> attributes {bankwise.sum_order = array<i64: 3, 1, 1>} {
  %0 = math.fma %a, %a, %sum : vector<4xf32>
  %1 = math.fma %a, %a, %0 : vector<4xf32>
  return %1 : vector<4xf32>
}

// CHECK-LABEL: func.func @used(
// CHECK-SAME:    bankwise.sum_order = array<i64: 3, 1, 1>
// CHECK-COUNT-3: math.fma
func.func @used(%a: vector<4xf32>, %sum: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>) attributes {bankwise.sum_order = array<i64: 3, 1, 1>} {
  %0 = math.fma %a, %a, %sum : vector<4xf32>
  %1 = math.fma %a, %a, %0 : vector<4xf32>
  %2 = math.fma %a, %a, %1 : vector<4xf32>
  return %2, %0 : vector<4xf32>, vector<4xf32>
}

// Groups of two come from the first to the last, and a group from its last product to its first.

// CHECK-LABEL: func.func @groups(
// CHECK-SAME:    %[[A0:[a-z0-9]+]]: vector<4xf32>, %[[A1:[a-z0-9]+]]: vector<4xf32>, %[[A2:[a-z0-9]+]]: vector<4xf32>, %[[A3:[a-z0-9]+]]: vector<4xf32>
// CHECK-NOT:     bankwise.sum_order
// CHECK:         %[[S1:.*]] = math.fma %[[A1]], %[[A1]], %{{.*}}
// CHECK:         %[[S0:.*]] = math.fma %[[A0]], %[[A0]], %[[S1]]
// CHECK:         %[[S3:.*]] = math.fma %[[A3]], %[[A3]], %[[S0]]
// CHECK:         %[[S2:.*]] = math.fma %[[A2]], %[[A2]], %[[S3]]
// CHECK:         return %[[S2]]
func.func @groups(%a0: vector<4xf32>, %a1: vector<4xf32>, %a2: vector<4xf32>, %a3: vector<4xf32>, %sum: vector<4xf32>) -> vector<4xf32> attributes {bankwise.sum_order = array<i64: 4, 2, 0>} {
  %0 = math.fma %a3, %a3, %sum : vector<4xf32>
  %1 = math.fma %a2, %a2, %0 : vector<4xf32>
  %2 = math.fma %a1, %a1, %1 : vector<4xf32>
  %3 = math.fma %a0, %a0, %2 : vector<4xf32>
  return %3 : vector<4xf32>
}

// Nothing else changes.

// CHECK-LABEL: func.func @other(
// CHECK:         math.fma
func.func @other(%a: vector<4xf32>) -> vector<4xf32> {
  %0 = math.fma %a, %a, %a : vector<4xf32>
  return %0 : vector<4xf32>
}
