// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-join-reductions))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// What stands between the reductions and depends on them follows the region; what is made for them
// alone, and of no product, goes into it.

// CHECK-LABEL: func.func @logarithm_of_softmax
// CHECK-NOT:   linalg.generic
// CHECK:       %[[R:.*]]:3 = flow.dispatch.region -> (tensor<4x10xf32>, tensor<4xf32>, tensor<4x10xf32>) {
// CHECK:         %[[MASKED:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1
// CHECK:         %[[MAX:.*]] = linalg.generic {{.*}} ins(%[[MASKED]]
// CHECK:         %[[BELOW:.*]] = linalg.generic {{.*}} ins(%[[MASKED]], %[[MAX]]
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[BELOW]]
// CHECK:         %[[OUT:.*]] = linalg.generic {{.*}} ins(%[[BELOW]], %[[SUM]]
// CHECK:         flow.return %[[BELOW]], %[[SUM]], %[[OUT]]
// CHECK-NEXT:  }
// CHECK-NEXT:  %[[T:.*]] = linalg.generic {{.*}} ins(%[[R]]#0
// CHECK:       return %[[R]]#2, %[[T]], %[[R]]#1
func.func @logarithm_of_softmax(%x: tensor<4x10xf32>, %m: tensor<10xf32>) -> (tensor<4x10xf32>, tensor<10x4xf32>, tensor<4xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x10xf32>
  %t = tensor.empty() : tensor<10x4xf32>
  %r = tensor.empty() : tensor<4xf32>
  %masked = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<4x10xf32>, tensor<10xf32>) outs(%e : tensor<4x10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x10xf32>
  %f = linalg.fill ins(%lowest : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{2 reductions of the same rows are one kernel}}
  %max = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%masked : tensor<4x10xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %below = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%masked, %max : tensor<4x10xf32>, tensor<4xf32>) outs(%e : tensor<4x10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x10xf32>
  %transposed = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%below : tensor<4x10xf32>) outs(%t : tensor<10x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<10x4xf32>
  %g = linalg.fill ins(%zero : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%below : tensor<4x10xf32>) outs(%g : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = math.exp %a : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %out = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%below, %sum : tensor<4x10xf32>, tensor<4xf32>) outs(%e : tensor<4x10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %l = math.log %b : f32
    %s = arith.subf %a, %l : f32
    linalg.yield %s : f32
  } -> tensor<4x10xf32>
  return %out, %transposed, %sum : tensor<4x10xf32>, tensor<10x4xf32>, tensor<4xf32>
}

// The second reduction is of a matmul's rows, which is another kernel.

// CHECK-LABEL: func.func @across_a_product
// CHECK-NOT:   flow.dispatch.region
// CHECK:       return
func.func @across_a_product(%x: tensor<4x10xf32>, %w: tensor<10x10xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x10xf32>
  %r = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x10xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %below = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<4x10xf32>, tensor<4xf32>) outs(%e : tensor<4x10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x10xf32>
  %g = linalg.fill ins(%zero : f32) outs(%e : tensor<4x10xf32>) -> tensor<4x10xf32>
  %p = linalg.matmul ins(%below, %w : tensor<4x10xf32>, tensor<10x10xf32>) outs(%g : tensor<4x10xf32>) -> tensor<4x10xf32>
  %again = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%p : tensor<4x10xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %again : tensor<4xf32>
}

// Only the program knows how many rows there are.

// CHECK-LABEL: func.func @dynamic
// CHECK-NOT:   flow.dispatch.region
// CHECK:       return
func.func @dynamic(%x: tensor<?x10xf32>, %r: tensor<?xf32>) -> tensor<?xf32> {
  // expected-remark@+1 {{a reduction is a kernel of its own: the sizes of its rows are not known}}
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x10xf32>) outs(%r : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  // expected-remark@+1 {{a reduction is a kernel of its own: the sizes of its rows are not known}}
  %squares = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x, %sum : tensor<?x10xf32>, tensor<?xf32>) outs(%r : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %q, %o : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %squares : tensor<?xf32>
}
