// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-number-loops))' --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: func.func @transposed
// CHECK:         vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %arg0, %arg1, %arg2
func.func @transposed(%a: vector<3x4xf32>, %b: vector<3x2xf32>, %c: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<3x4xf32>, vector<3x2xf32> into vector<2x4xf32>
  return %0 : vector<2x4xf32>
}

// Summed loops come last, in the order that they have.

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

// CHECK-LABEL: func.func @masked
// CHECK:         affine_map<(d0, d1, d2) -> (d1, d0)>
func.func @masked(%a: vector<3x4xf32>, %b: vector<3x2xf32>, %c: vector<2x4xf32>, %mask: vector<4x2x3xi1>) -> vector<2x4xf32> {
  %0 = vector.mask %mask {
    vector.contract {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<3x4xf32>, vector<3x2xf32> into vector<2x4xf32>
  } : vector<4x2x3xi1> -> vector<2x4xf32>
  return %0 : vector<2x4xf32>
}
