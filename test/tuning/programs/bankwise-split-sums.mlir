// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-split-sums))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope | FileCheck %s

// Four tiles of 64x64 elements are the work of few of 132 multiprocessors.

// CHECK-LABEL: func.func @few_tiles
// CHECK-DAG:   %[[A:.*]] = tensor.expand_shape %arg0 {{\[}}[0], [1, 2]] output_shape [64, [[P:[0-9]+]], [[L:[0-9]+]]] : tensor<64x4096xf32>
// CHECK-DAG:   %[[B:.*]] = tensor.expand_shape %arg1 {{\[}}[0, 1], [2]] output_shape [[[P]], [[L]], 64] : tensor<4096x64xf32>
// CHECK:       %[[PARTS:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[A]], %[[B]]
// CHECK:       linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[PARTS]]
// CHECK-NEXT:  ^bb0(%[[E:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:    arith.addf %[[B]], %[[E]]
func.func @few_tiles(%a: tensor<64x4096xf32>, %b: tensor<4096x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x4096xf32>, tensor<4096x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}

// Every multiprocessor has tiles, sums are short, or something else is added.

// CHECK-LABEL: func.func @others
// CHECK-NOT:   tensor.expand_shape
// CHECK:       return
func.func @others(%a: tensor<2048x2048xf32>, %b: tensor<2048x2048xf32>, %x: tensor<64x160xf32>, %y: tensor<160x64xf32>, %l: tensor<64x4096xf32>, %r: tensor<4096x64xf32>, %from: tensor<64x64xf32>) -> (tensor<2048x2048xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2048x2048xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %c = linalg.matmul ins(%a, %b : tensor<2048x2048xf32>, tensor<2048x2048xf32>) outs(%f : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %g = tensor.empty() : tensor<64x64xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<64x64xf32>) -> tensor<64x64xf32>
  %short = linalg.matmul ins(%x, %y : tensor<64x160xf32>, tensor<160x64xf32>) outs(%h : tensor<64x64xf32>) -> tensor<64x64xf32>
  %added = linalg.matmul ins(%l, %r : tensor<64x4096xf32>, tensor<4096x64xf32>) outs(%from : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c, %short, %added : tensor<2048x2048xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
