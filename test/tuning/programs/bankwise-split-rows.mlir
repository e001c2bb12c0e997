// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-split-rows))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Of 132 multiprocessors, 125 share the row evenly.

// CHECK-LABEL: func.func @divided
// CHECK:       %[[X:.*]] = tensor.expand_shape %arg0 {{\[}}[0, 1]] output_shape [125, 2400] : tensor<300000xf16> into tensor<125x2400xf16>
// CHECK:       %[[Z:.*]] = linalg.fill {{.*}} -> tensor<125xf32>
// CHECK:       %[[P:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%[[X]] : tensor<125x2400xf16>) outs(%[[Z]] : tensor<125xf32>)
// CHECK:         arith.extf
// CHECK:         arith.mulf
// CHECK:         arith.addf
// CHECK:       flow.dispatch.region -> (tensor<f32>) {
// CHECK-NEXT:    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%[[P]] : tensor<125xf32>) outs(%arg1 : tensor<f32>)
// CHECK-NEXT:  ^bb0(%[[E:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[B]], %[[E]] : f32
// CHECK-NEXT:    linalg.yield %[[S]]
// CHECK:         flow.return
func.func @divided(%x: tensor<300000xf16>, %o: tensor<f32>) -> tensor<f32> {
  // expected-remark@+1 {{125 workgroups share a row, with 2400 elements each}}
  %sum = linalg.generic {
      indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>],
      iterator_types = ["reduction"]} ins(%x : tensor<300000xf16>) outs(%o : tensor<f32>) {
  ^bb0(%a: f16, %b: f32):
    %w = arith.extf %a : f16 to f32
    %q = arith.mulf %w, %w : f32
    %s = arith.addf %b, %q : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}

// No number of parts divides the rows: the last 67 elements are read beside the sums of the parts,
// which are views of the rows in a dispatch of their own.

// CHECK-LABEL: func.func @end
// CHECK:       %[[P:.*]] = flow.dispatch.region
// CHECK-NEXT:    %[[M:.*]] = tensor.extract_slice %arg0[0, 0] [2, 999936] [1, 1]
// CHECK-NEXT:    %[[X:.*]] = tensor.expand_shape %[[M]] {{\[}}[0], [1, 2]] output_shape [2, 96, 10416]
// CHECK-NEXT:    linalg.generic {{.*}} ins(%[[X]] : tensor<2x96x10416xf32>)
// CHECK:         flow.return
// CHECK:       %[[E:.*]] = tensor.extract_slice %arg0[0, 999907] [2, 96] [1, 1]
// CHECK:       flow.dispatch.region
// CHECK-NEXT:    linalg.generic {{.*}} ins(%[[P]], %[[E]] : tensor<2x96xf32>, tensor<2x96xf32>) outs(%arg1 : tensor<2xf32>)
// CHECK-NEXT:  ^bb0(%[[PART:.*]]: f32, %[[LAST:.*]]: f32, %[[B:.*]]: f32):
// CHECK:         %[[K:.*]] = math.exp %[[LAST]]
// CHECK:         %[[I:.*]] = linalg.index 1
// CHECK:         %[[T:.*]] = arith.cmpi uge, %[[I]], %c{{.*}}
// CHECK:         %[[N:.*]] = arith.select %[[T]], %[[K]], %{{.*}} : f32
// CHECK:         %[[S:.*]] = arith.addf %[[N]], %[[PART]] : f32
// CHECK:         %[[R:.*]] = arith.addf %[[S]], %[[B]] : f32
// CHECK-NEXT:    linalg.yield %[[R]]
func.func @end(%x: tensor<2x1000003xf32>, %o: tensor<2xf32>) -> tensor<2xf32> {
  // expected-remark@+1 {{96 workgroups share a row, with 10416 elements each}}
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x1000003xf32>) outs(%o : tensor<2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %a : f32
    %s = arith.addf %e, %b : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %sum : tensor<2xf32>
}

// Rows that are computed are no views of memory: IREE computes what the parts read with them.

// CHECK-LABEL: func.func @computed
// CHECK:       %[[C:.*]] = linalg.generic
// CHECK:       tensor.extract_slice %[[C]][0, 0]
// CHECK-NOT:   flow.dispatch.region
// CHECK:       linalg.generic {{.*}}["parallel", "parallel", "reduction"]
// CHECK:       flow.dispatch.region
func.func @computed(%x: tensor<2x1000003xf32>, %o: tensor<2xf32>) -> tensor<2xf32> {
  %empty = tensor.empty() : tensor<2x1000003xf32>
  %exp = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x1000003xf32>) outs(%empty : tensor<2x1000003xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<2x1000003xf32>
  // expected-remark@+1 {{96 workgroups share a row, with 10416 elements each}}
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<2x1000003xf32>) outs(%o : tensor<2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %sum : tensor<2xf32>
}

// Of a softmax the maximum and the sum of exponentials are split.

// CHECK-LABEL: func.func @softmax
// CHECK-NOT:   linalg.softmax
// CHECK:       arith.constant 0xFF800000 : f32
// CHECK:       tensor.extract_slice %arg0
// CHECK:       linalg.generic {{.*}}["parallel", "reduction"]
// CHECK:         arith.maximumf
// CHECK:       linalg.generic {{.*}}["reduction"]
// CHECK:         arith.maximumf
// CHECK:       linalg.generic {{.*}}["parallel", "reduction"]
// CHECK:         math.exp2
// CHECK:       linalg.generic {{.*}}["reduction"]
// CHECK:         arith.addf
// CHECK:       %[[R:.*]] = linalg.generic {{.*}}["parallel"]
// CHECK:         arith.divf
// CHECK:       return %[[R]]
func.func @softmax(%x: tensor<100003xf32>, %o: tensor<100003xf32>) -> tensor<100003xf32> {
  // expected-remark@+1 {{workgroups share a row}}
  %r = linalg.softmax dimension(0) ins(%x : tensor<100003xf32>) outs(%o : tensor<100003xf32>) -> tensor<100003xf32>
  return %r : tensor<100003xf32>
}

// There are rows for every multiprocessor, and rows that are not long.

// CHECK-LABEL: func.func @stays
// CHECK-NOT:   tensor.expand_shape
// CHECK:       return
func.func @stays(%x: tensor<100x300000xf32>, %o: tensor<100xf32>, %y: tensor<4096xf32>, %p: tensor<f32>) -> (tensor<100xf32>, tensor<f32>) {
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<100x300000xf32>) outs(%o : tensor<100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<100xf32>
  %short = linalg.generic {
      indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>],
      iterator_types = ["reduction"]} ins(%y : tensor<4096xf32>) outs(%p : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %sum, %short : tensor<100xf32>, tensor<f32>
}
