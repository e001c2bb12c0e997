// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-keep-mask-bounds,canonicalize,cse))' --verify-diagnostics --bankwise-remarks | FileCheck %s

// A lane reads columns of one row, or none: the cast drops the bound of the row.
// CHECK-LABEL: func.func @row
// CHECK-SAME: %[[ROWS:.*]]: index, %[[COLUMNS:.*]]: index
// CHECK: %[[IS_ROW:.*]] = arith.cmpi sgt, %[[ROWS]], %c0
// CHECK: %[[KEPT:.*]] = arith.select %[[IS_ROW]], %[[COLUMNS]], %c0
// CHECK: vector.create_mask %[[KEPT]] : vector<2xi1>
func.func @row(%rows: index, %columns: index) -> vector<2xi1> {
  %one = arith.constant 1 : index
  // expected-remark@+1 {{bounds of a mask are joined}}
  %0 = vector.create_mask %one, %rows, %columns : vector<1x1x2xi1>
  %1 = vector.shape_cast %0 : vector<1x1x2xi1> to vector<2xi1>
  return %1 : vector<2xi1>
}

// Two bounds are dropped.
// CHECK-LABEL: func.func @two
// CHECK-COUNT-2: arith.cmpi sgt
// CHECK: vector.create_mask %{{.*}} : vector<4xi1>
func.func @two(%a: index, %b: index, %c: index) -> vector<4xi1> {
  %one = arith.constant 1 : index
  // expected-remark@+1 {{bounds of a mask are joined}}
  %0 = vector.create_mask %one, %a, %b, %c : vector<1x1x1x4xi1>
  %1 = vector.shape_cast %0 : vector<1x1x1x4xi1> to vector<4xi1>
  return %1 : vector<4xi1>
}

// The same from the end.
// CHECK-LABEL: func.func @from_the_end
// CHECK-SAME: %[[ROWS:.*]]: index, %[[COLUMNS:.*]]: index
// CHECK: %[[IS_COLUMN:.*]] = arith.cmpi sgt, %[[COLUMNS]], %c0
// CHECK: %[[KEPT:.*]] = arith.select %[[IS_COLUMN]], %[[ROWS]], %c0
// CHECK: vector.create_mask %[[KEPT]] : vector<2xi1>
func.func @from_the_end(%rows: index, %columns: index) -> vector<2xi1> {
  %one = arith.constant 1 : index
  // expected-remark@+1 {{bounds of a mask are joined}}
  %0 = vector.create_mask %rows, %columns, %one : vector<2x1x1xi1>
  %1 = vector.shape_cast %0 : vector<2x1x1xi1> to vector<2xi1>
  return %1 : vector<2xi1>
}

// One element in all: what stays is the last bound, with the other one in it.
// CHECK-LABEL: func.func @one_element
// CHECK-SAME: %[[ROWS:.*]]: index
// CHECK: %[[IS_ROW:.*]] = arith.cmpi sgt, %[[ROWS]], %c0
// CHECK: %[[KEPT:.*]] = arith.select %[[IS_ROW]], %c1, %c0
// CHECK: vector.create_mask %[[KEPT]] : vector<1xi1>
func.func @one_element(%rows: index) -> vector<1xi1> {
  %one = arith.constant 1 : index
  // expected-remark@+1 {{bounds of a mask are joined}}
  %0 = vector.create_mask %one, %rows, %one : vector<1x1x1xi1>
  %1 = vector.shape_cast %0 : vector<1x1x1xi1> to vector<1xi1>
  return %1 : vector<1xi1>
}

// Nothing is dropped: the first bound is not known, and two rows are not one.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: arith.select
// CHECK: vector.create_mask %{{.*}}, %c1, %{{.*}} : vector<1x1x2xi1>
// CHECK: vector.create_mask %c1, %{{.*}}, %{{.*}} : vector<1x2x2xi1>
// CHECK: return
func.func @kept(%rows: index, %columns: index) -> (vector<2xi1>, vector<1x2x2xi1>) {
  %one = arith.constant 1 : index
  %0 = vector.create_mask %rows, %one, %columns : vector<1x1x2xi1>
  %1 = vector.shape_cast %0 : vector<1x1x2xi1> to vector<2xi1>
  %2 = vector.create_mask %one, %rows, %columns : vector<1x2x2xi1>
  return %1, %2 : vector<2xi1>, vector<1x2x2xi1>
}
