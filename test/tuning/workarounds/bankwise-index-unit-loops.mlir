// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-index-unit-loops))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// The height and width of the tile are run once, so that their stride does not matter.
// CHECK-LABEL: func.func @once
// CHECK: indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
func.func @once(%image: tensor<32x1x1x8xf16>, %sums: tensor<1x1x32xf32>) -> tensor<1x1x32xf32> {
  // expected-remark@+1 {{loops that are run once have no factor}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(h, w, c, e) -> (c, h * 2, w * 3, e)>,
                       affine_map<(h, w, c, e) -> (h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%image : tensor<32x1x1x8xf16>) outs(%sums : tensor<1x1x32xf32>) {
  ^bb0(%a: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %s = arith.addf %sum, %x : f32
    linalg.yield %s : f32
  } -> tensor<1x1x32xf32>
  return %0 : tensor<1x1x32xf32>
}

// A loop that is run twice reads every second row.
// CHECK-LABEL: func.func @twice
// CHECK: affine_map<(d0, d1, d2) -> (d1, d0 * 2, d2)>
func.func @twice(%image: tensor<32x3x8xf16>, %sums: tensor<2x32xf32>) -> tensor<2x32xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(h, c, e) -> (c, h * 2, e)>,
                       affine_map<(h, c, e) -> (h, c)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%image : tensor<32x3x8xf16>) outs(%sums : tensor<2x32xf32>) {
  ^bb0(%a: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %s = arith.addf %sum, %x : f32
    linalg.yield %s : f32
  } -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

// The image has a row that nobody reads, so that its height is not that of the loop.
// CHECK-LABEL: func.func @longer
// CHECK: affine_map<(d0, d1, d2) -> (d1, d0 * 2, d2)>
func.func @longer(%image: tensor<32x2x8xf16>, %sums: tensor<1x32xf32>) -> tensor<1x32xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(h, c, e) -> (c, h * 2, e)>,
                       affine_map<(h, c, e) -> (h, c)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%image : tensor<32x2x8xf16>) outs(%sums : tensor<1x32xf32>) {
  ^bb0(%a: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %s = arith.addf %sum, %x : f32
    linalg.yield %s : f32
  } -> tensor<1x32xf32>
  return %0 : tensor<1x32xf32>
}
