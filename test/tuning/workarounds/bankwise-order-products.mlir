// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-order-products))' --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: func.func @other_order
//       CHECK: %[[FLAT:.*]] = vector.shape_cast %arg1
//       CHECK: %[[MOVED:.*]] = vector.shuffle %[[FLAT]], %[[FLAT]] [0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23]
//       CHECK: %[[B:.*]] = vector.shape_cast %[[MOVED]] : vector<24xf32> to vector<3x2x4xf32>
//       CHECK: vector.contract
//  CHECK-SAME: affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0)>
//  CHECK-SAME: %arg0, %[[B]], %arg2
func.func @other_order(%a: vector<4x3x2xf32>, %b: vector<2x3x4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
  %r = vector.contract {
      indexing_maps = [affine_map<(m, k, l) -> (m, k, l)>, affine_map<(m, k, l) -> (l, k, m)>, affine_map<(m, k, l) -> (m)>],
      iterator_types = ["parallel", "reduction", "reduction"], kind = #vector.kind<add>}
      %a, %b, %c : vector<4x3x2xf32>, vector<2x3x4xf32> into vector<4xf32>
  return %r : vector<4xf32>
}

// The mask is one of the loops.
// CHECK-LABEL: func.func @masked
//       CHECK: vector.shuffle
//       CHECK: %[[B:.*]] = vector.shape_cast
//       CHECK: vector.mask %arg3 { vector.contract
//  CHECK-SAME: %arg0, %[[B]], %arg2
func.func @masked(%a: vector<4x3x2xf32>, %b: vector<2x3x4xf32>, %c: vector<4xf32>, %m: vector<4x3x2xi1>) -> vector<4xf32> {
  %r = vector.mask %m { vector.contract {
      indexing_maps = [affine_map<(m, k, l) -> (m, k, l)>, affine_map<(m, k, l) -> (l, k, m)>, affine_map<(m, k, l) -> (m)>],
      iterator_types = ["parallel", "reduction", "reduction"], kind = #vector.kind<add>}
      %a, %b, %c : vector<4x3x2xf32>, vector<2x3x4xf32> into vector<4xf32> } : vector<4x3x2xi1> -> vector<4xf32>
  return %r : vector<4xf32>
}

// A loop that is run once has a place in the order, too.
// CHECK-LABEL: func.func @once
//       CHECK: %[[B:.*]] = vector.shape_cast {{.*}} : vector<28xf32> to vector<1x7x4xf32>
//       CHECK: vector.contract
//  CHECK-SAME: %arg0, %[[B]], %arg2
func.func @once(%a: vector<1x7x4xf32>, %b: vector<7x1x4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
  %r = vector.contract {
      indexing_maps = [affine_map<(m, k, l) -> (l, k, m)>, affine_map<(m, k, l) -> (k, l, m)>, affine_map<(m, k, l) -> (m)>],
      iterator_types = ["parallel", "reduction", "reduction"], kind = #vector.kind<add>}
      %a, %b, %c : vector<1x7x4xf32>, vector<7x1x4xf32> into vector<4xf32>
  return %r : vector<4xf32>
}

// Factors of one order, and sums over all loops, which are taken one by one.
// CHECK-LABEL: func.func @kept
//   CHECK-NOT: vector.shuffle
//       CHECK: return
func.func @kept(%a: vector<4x3x2xf32>, %b: vector<3x4x2xf32>, %c: vector<4xf32>, %d: vector<2x3xf32>, %e: vector<3x2xf32>, %f: f32) -> (vector<4xf32>, f32) {
  %r = vector.contract {
      indexing_maps = [affine_map<(m, k, l) -> (m, k, l)>, affine_map<(m, k, l) -> (k, m, l)>, affine_map<(m, k, l) -> (m)>],
      iterator_types = ["parallel", "reduction", "reduction"], kind = #vector.kind<add>}
      %a, %b, %c : vector<4x3x2xf32>, vector<3x4x2xf32> into vector<4xf32>
  %s = vector.contract {
      indexing_maps = [affine_map<(k, l) -> (l, k)>, affine_map<(k, l) -> (k, l)>, affine_map<(k, l) -> ()>],
      iterator_types = ["reduction", "reduction"], kind = #vector.kind<add>} %d, %e, %f : vector<2x3xf32>, vector<3x2xf32> into f32
  return %r, %s : vector<4xf32>, f32
}

// The loops are numbered in the order of the sums, and the summed ones come last.
// CHECK-LABEL: func.func @transposed
// CHECK:         vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %arg0, %arg1, %arg2
func.func @transposed(%a: vector<3x4xf32>, %b: vector<3x2xf32>, %c: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<3x4xf32>, vector<3x2xf32> into vector<2x4xf32>
  return %0 : vector<2x4xf32>
}

// CHECK-LABEL: func.func @batch
// CHECK:         vector.contract {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %arg0, %arg1, %arg2
func.func @batch(%a: vector<2x4x5x3xf32>, %b: vector<5x2x6x3xf32>, %c: vector<5x4x6xf32>) -> vector<5x4x6xf32> {
  %0 = vector.contract {indexing_maps = [affine_map<(j, m, n, k, b) -> (j, m, b, k)>, affine_map<(j, m, n, k, b) -> (b, j, n, k)>, affine_map<(j, m, n, k, b) -> (b, m, n)>], iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel"], kind = #vector.kind<add>} %a, %b, %c : vector<2x4x5x3xf32>, vector<5x2x6x3xf32> into vector<5x4x6xf32>
  return %0 : vector<5x4x6xf32>
}

// CHECK-LABEL: func.func @in_order
// CHECK:         affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>
func.func @in_order(%a: vector<4x3xf32>, %b: vector<3x2xf32>, %c: vector<4x2xf32>) -> vector<4x2xf32> {
  %0 = vector.contract {indexing_maps = [affine_map<(m, k, n) -> (m, k)>, affine_map<(m, k, n) -> (k, n)>, affine_map<(m, k, n) -> (m, n)>], iterator_types = ["parallel", "reduction", "parallel"], kind = #vector.kind<add>} %a, %b, %c : vector<4x3xf32>, vector<3x2xf32> into vector<4x2xf32>
  return %0 : vector<4x2xf32>
}

// The dimensions of a mask are the loops.
// CHECK-LABEL: func.func @masked_and_transposed
// CHECK:         affine_map<(d0, d1, d2) -> (d1, d0)>
func.func @masked_and_transposed(%a: vector<3x4xf32>, %b: vector<3x2xf32>, %c: vector<2x4xf32>, %mask: vector<4x2x3xi1>) -> vector<2x4xf32> {
  %0 = vector.mask %mask {
    vector.contract {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<3x4xf32>, vector<3x2xf32> into vector<2x4xf32>
  } : vector<4x2x3xi1> -> vector<2x4xf32>
  return %0 : vector<2x4xf32>
}
