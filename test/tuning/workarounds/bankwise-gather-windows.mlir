// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-gather-windows))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Channels, which are no neighbours of the filter's rows and columns, come first.

// CHECK-LABEL: func.func @channels_last
// CHECK: output_sizes = {{\[}}[4], [4], [8], [3, 2]] batch_pos = [] m_pos = [0, 1] k_pos = [2] input_k_perm = [2, 0, 1] output_perm = [0, 1, 3, 2]
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2], [3]]
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>]
func.func @channels_last(%image: tensor<6x5x8xf16>, %filter: tensor<3x2x16x8xf16>, %sums: tensor<4x4x16xf32>) -> tensor<4x4x16xf32> {
  // expected-remark@+1 {{IREE would read the image in another order than that of the filter}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(y, x, f, r, s, c) -> (y + r, x + s, c)>, affine_map<(y, x, f, r, s, c) -> (r, s, f, c)>, affine_map<(y, x, f, r, s, c) -> (y, x, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%image, %filter : tensor<6x5x8xf16>, tensor<3x2x16x8xf16>) outs(%sums : tensor<4x4x16xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4x16xf32>
  return %0 : tensor<4x4x16xf32>
}

// Columns come before rows in the filter, and so they are summed; the product reads rows first.

// CHECK-LABEL: func.func @columns_first
// CHECK: output_sizes = {{\[}}[4], [4], [8], [3], [2]] batch_pos = [] m_pos = [0, 1] k_pos = [2] input_k_perm = [2, 0, 1] output_perm = [0, 1, 3, 4, 2]
// CHECK: affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d3, d5, d2)>
func.func @columns_first(%image: tensor<6x5x8xf16>, %filter: tensor<2x3x8x16xf16>, %sums: tensor<4x4x16xf32>) -> tensor<4x4x16xf32> {
  // expected-remark@+1 {{IREE would read the image in another order than that of the filter}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(y, x, f, r, s, c) -> (y + r, x + s, c)>, affine_map<(y, x, f, r, s, c) -> (s, r, c, f)>, affine_map<(y, x, f, r, s, c) -> (y, x, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%image, %filter : tensor<6x5x8xf16>, tensor<2x3x8x16xf16>) outs(%sums : tensor<4x4x16xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4x16xf32>
  return %0 : tensor<4x4x16xf32>
}

// The filter comes first where outputs have their channels first; groups have a filter each.

// CHECK-LABEL: func.func @grouped
// CHECK: strides = [1, 1, 1] dilations = [1, 1, 1] kernel_size = [1, 3, 2]
// CHECK-SAME: output_sizes = {{\[}}[4], [2], [4], [4], [1, 8], [3, 2]] batch_pos = [1] m_pos = [0, 3, 4] k_pos = [2] input_k_perm = [0, 1, 2, 3]
// CHECK: ins(%collapsed, %{{.*}} : tensor<6x4x8x16xf16>, tensor<2x4x8x6x4x4xf16>)
func.func @grouped(%image: tensor<2x4x8x6x5xf16>, %filter: tensor<3x2x4x8x16xf16>, %sums: tensor<2x4x16x4x4xf32>) -> tensor<2x4x16x4x4xf32> {
  // expected-remark@+1 {{IREE would read the image in another order than that of the filter}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(n, g, f, y, x, r, s, c) -> (n, g, c, y + r, x + s)>, affine_map<(n, g, f, y, x, r, s, c) -> (r, s, g, c, f)>, affine_map<(n, g, f, y, x, r, s, c) -> (n, g, f, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%image, %filter : tensor<2x4x8x6x5xf16>, tensor<3x2x4x8x16xf16>) outs(%sums : tensor<2x4x16x4x4xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x16x4x4xf32>
  return %0 : tensor<2x4x16x4x4xf32>
}

// The loops over channels are numbered in another order than that of the image.

// CHECK-LABEL: func.func @channels_in_two
// CHECK: k_pos = [2, 3] input_k_perm = [0, 1, 2, 3]
func.func @channels_in_two(%image: tensor<6x5x4x2xf16>, %filter: tensor<3x2x4x2x16xf16>, %sums: tensor<4x4x16xf32>) -> tensor<4x4x16xf32> {
  // expected-remark@+1 {{IREE would read the image in another order than that of the filter}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(y, x, f, r, s, d, e) -> (y + r, x + s, e, d)>, affine_map<(y, x, f, r, s, d, e) -> (r, s, e, d, f)>, affine_map<(y, x, f, r, s, d, e) -> (y, x, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]}
      ins(%image, %filter : tensor<6x5x4x2xf16>, tensor<3x2x4x2x16xf16>) outs(%sums : tensor<4x4x16xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4x16xf32>
  return %0 : tensor<4x4x16xf32>
}

// Without channels, IREE would read the neighbours of a window that takes every second pixel.

// CHECK-LABEL: func.func @dilated
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2]] output_shape [2, 10, 1]
// CHECK: output_sizes = {{\[}}[2], [4], [1, 4, 1]] batch_pos = [] m_pos = [0, 1] k_pos = [2] input_k_perm = [0, 1, 2]
func.func @dilated(%image: tensor<2x10xf16>, %filter: tensor<4x16xf16>, %sums: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  // expected-remark@+1 {{IREE would read elements of the image as neighbours that the dilated window takes apart}}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, x, f, k) -> (b, x + 2 * k)>, affine_map<(b, x, f, k) -> (k, f)>, affine_map<(b, x, f, k) -> (b, x, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%image, %filter : tensor<2x10xf16>, tensor<4x16xf16>) outs(%sums : tensor<2x4x16xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x16xf32>
  return %0 : tensor<2x4x16xf32>
}

// IREE reads this one rightly.

// CHECK-LABEL: func.func @right
// CHECK-NOT: im2col
func.func @right(%image: tensor<6x5x8xf16>, %filter: tensor<3x2x8x16xf16>, %sums: tensor<4x4x16xf32>) -> tensor<4x4x16xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(y, x, f, r, s, c) -> (y + r, x + s, c)>, affine_map<(y, x, f, r, s, c) -> (r, s, c, f)>, affine_map<(y, x, f, r, s, c) -> (y, x, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%image, %filter : tensor<6x5x8xf16>, tensor<3x2x8x16xf16>) outs(%sums : tensor<4x4x16xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4x16xf32>
  return %0 : tensor<4x4x16xf32>
}
