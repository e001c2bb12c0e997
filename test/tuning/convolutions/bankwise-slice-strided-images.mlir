// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-slice-strided-images))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// The image is as wide as one more column would need, and each dimension has its own stride.

// CHECK-LABEL: func.func @channels_first
// CHECK:       %[[SLICE:.*]] = tensor.extract_slice %arg0[0, 0, 0, 0] [2, 8, 5, 4] [1, 1, 2, 3] : tensor<2x8x10x13xf16> to tensor<2x8x5x4xf16>
// CHECK:       linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>]
// CHECK-SAME:    ins(%[[SLICE]], %arg1 : tensor<2x8x5x4xf16>, tensor<6x8xf16>)
// CHECK-NOT:   memoized
func.func @channels_first(%i: tensor<2x8x10x13xf16>, %w: tensor<6x8xf16>, %o: tensor<2x6x5x4xf32>) -> tensor<2x6x5x4xf32> {
  // expected-remark @+1 {{computed as a contraction of a strided slice}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, f, h, w, c) -> (n, c, h * 2, w * 3)>, affine_map<(n, f, h, w, c) -> (f, c)>, affine_map<(n, f, h, w, c) -> (n, f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%i, %w : tensor<2x8x10x13xf16>, tensor<6x8xf16>) outs(%o : tensor<2x6x5x4xf32>) attrs = {linalg.memoized_indexing_maps = []} {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %s, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x6x5x4xf32>
  return %r : tensor<2x6x5x4xf32>
}

// The image may be the second factor, and its first row need not be read.

// CHECK-LABEL: func.func @channels_last
// CHECK:       %[[SLICE:.*]] = tensor.extract_slice %arg1[1, 0] [5, 8] [4, 1] : tensor<22x8xf32> to tensor<5x8xf32>
// CHECK:       linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:    ins(%arg0, %[[SLICE]] : tensor<6x8xf32>, tensor<5x8xf32>)
func.func @channels_last(%w: tensor<6x8xf32>, %i: tensor<22x8xf32>, %o: tensor<5x6xf32>) -> tensor<5x6xf32> {
  // expected-remark @+1 {{computed as a contraction of a strided slice}}
  %r = linalg.generic {indexing_maps = [affine_map<(w, f, c) -> (f, c)>, affine_map<(w, f, c) -> (w * 4 + 1, c)>, affine_map<(w, f, c) -> (w, f)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w, %i : tensor<6x8xf32>, tensor<22x8xf32>) outs(%o : tensor<5x6xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<5x6xf32>
  return %r : tensor<5x6xf32>
}

// CHECK-LABEL: func.func @dynamic_batch
// CHECK-NOT:   tensor.extract_slice
func.func @dynamic_batch(%i: tensor<?x9x8xf16>, %w: tensor<6x8xf16>, %o: tensor<?x5x6xf16>) -> tensor<?x5x6xf16> {
  // expected-remark @+1 {{the strided image is not sliced: its sizes are not all known}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, w, f, c) -> (n, w * 2, c)>, affine_map<(n, w, f, c) -> (f, c)>, affine_map<(n, w, f, c) -> (n, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%i, %w : tensor<?x9x8xf16>, tensor<6x8xf16>) outs(%o : tensor<?x5x6xf16>) {
  ^bb0(%x: f16, %y: f16, %s: f16):
    %0 = arith.mulf %x, %y : f16
    %1 = arith.addf %s, %0 : f16
    linalg.yield %1 : f16
  } -> tensor<?x5x6xf16>
  return %r : tensor<?x5x6xf16>
}

// Windows of several elements, an image that is read backwards, and what sums nothing up are no
// contractions of a slice.

// CHECK-LABEL: func.func @others
// CHECK-NOT:   tensor.extract_slice
func.func @others(%i: tensor<9x8xf16>, %w: tensor<2x6x8xf16>, %v: tensor<6x8xf16>, %o: tensor<4x6xf16>, %p: tensor<5x8xf16>) -> (tensor<4x6xf16>, tensor<4x6xf16>, tensor<5x8xf16>) {
  %window = linalg.generic {indexing_maps = [affine_map<(w, f, x, c) -> (w * 2 + x, c)>, affine_map<(w, f, x, c) -> (x, f, c)>, affine_map<(w, f, x, c) -> (w, f)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%i, %w : tensor<9x8xf16>, tensor<2x6x8xf16>) outs(%o : tensor<4x6xf16>) {
  ^bb0(%x: f16, %y: f16, %s: f16):
    %0 = arith.mulf %x, %y : f16
    %1 = arith.addf %s, %0 : f16
    linalg.yield %1 : f16
  } -> tensor<4x6xf16>
  %backwards = linalg.generic {indexing_maps = [affine_map<(w, f, c) -> (w * -2 + 8, c)>, affine_map<(w, f, c) -> (f, c)>, affine_map<(w, f, c) -> (w, f)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%i, %v : tensor<9x8xf16>, tensor<6x8xf16>) outs(%o : tensor<4x6xf16>) {
  ^bb0(%x: f16, %y: f16, %s: f16):
    %0 = arith.mulf %x, %y : f16
    %1 = arith.addf %s, %0 : f16
    linalg.yield %1 : f16
  } -> tensor<4x6xf16>
  %products = linalg.generic {indexing_maps = [affine_map<(w, c) -> (w * 2, c)>, affine_map<(w, c) -> (w, c)>, affine_map<(w, c) -> (w, c)>], iterator_types = ["parallel", "parallel"]} ins(%i, %p : tensor<9x8xf16>, tensor<5x8xf16>) outs(%p : tensor<5x8xf16>) {
  ^bb0(%x: f16, %y: f16, %s: f16):
    %0 = arith.mulf %x, %y : f16
    linalg.yield %0 : f16
  } -> tensor<5x8xf16>
  return %window, %backwards, %products : tensor<4x6xf16>, tensor<4x6xf16>, tensor<5x8xf16>
}
