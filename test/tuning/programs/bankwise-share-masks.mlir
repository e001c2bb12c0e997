// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-share-masks))' --split-input-file --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// The mask of a sequence is copied for its three heads. What is computed of the scores stays.

// CHECK-LABEL: func.func @sequences
// CHECK-DAG:   %[[Q:.*]] = tensor.expand_shape %arg0 {{\[}}[0, 1], [2], [3]] output_shape [2, 3, 5, 16]
// CHECK-DAG:   %[[K:.*]] = tensor.expand_shape %arg1 {{\[}}[0, 1], [2], [3]] output_shape [2, 3, 7, 16]
// CHECK-DAG:   %[[V:.*]] = tensor.expand_shape %arg2 {{\[}}[0, 1], [2], [3]] output_shape [2, 3, 7, 8]
// CHECK:       %[[R:.*]] = iree_linalg_ext.attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> ()>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>]>
// CHECK-SAME:    ins(%[[Q]], %[[K]], %[[V]], %arg4, %arg3 : {{.*}}, f16, tensor<2x5x7xi1>)
// CHECK-NEXT:  ^bb0(%[[SCORE:.*]]: f32):
// CHECK-NEXT:    %[[TANH:.*]] = math.tanh %[[SCORE]]
// CHECK-NEXT:    iree_linalg_ext.yield %[[TANH]]
// CHECK:       %[[C:.*]] = tensor.collapse_shape %[[R]] {{\[}}[0, 1], [2], [3]] : tensor<2x3x5x8xf16> into tensor<6x5x8xf16>
// CHECK:       return %[[C]]
func.func @sequences(%q: tensor<6x5x16xf16>, %k: tensor<6x7x16xf16>, %v: tensor<6x7x8xf16>, %mask: tensor<2x5x7xi1>, %s: f16) -> tensor<6x5x8xf16> {
  %e = tensor.empty() : tensor<2x3x5x7xi1>
  %m = linalg.generic {indexing_maps = [affine_map<(b, h, m, k) -> (b, m, k)>, affine_map<(b, h, m, k) -> (b, h, m, k)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%mask : tensor<2x5x7xi1>) outs(%e : tensor<2x3x5x7xi1>) {
  ^bb0(%x: i1, %y: i1):
    linalg.yield %x : i1
  } -> tensor<2x3x5x7xi1>
  %c = tensor.collapse_shape %m [[0, 1], [2], [3]] : tensor<2x3x5x7xi1> into tensor<6x5x7xi1>
  %o = tensor.empty() : tensor<6x5x8xf16>
  // expected-remark @+1 {{3 heads read one mask, which is not copied for each}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, k2)>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s, %c : tensor<6x5x16xf16>, tensor<6x7x16xf16>, tensor<6x7x8xf16>, f16, tensor<6x5x7xi1>) outs(%o : tensor<6x5x8xf16>) {
  ^bb0(%x: f32):
    %t = math.tanh %x : f32
    iree_linalg_ext.yield %t : f32
  } -> tensor<6x5x8xf16>
  return %r : tensor<6x5x8xf16>
}

// -----

// The mask is the same for all: the loops of the attention stay.

// CHECK-LABEL: func.func @all
// CHECK-NOT:   tensor.expand_shape
// CHECK:       %[[R:.*]] = iree_linalg_ext.attention {{.*}} affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>]>
// CHECK-SAME:    ins(%arg0, %arg1, %arg2, %arg4, %arg3 :
// CHECK:       return %[[R]]
func.func @all(%q: tensor<6x5x16xf16>, %k: tensor<6x7x16xf16>, %v: tensor<6x7x8xf16>, %mask: tensor<5x7xf16>, %s: f16) -> tensor<6x5x8xf16> {
  %e = tensor.empty() : tensor<6x5x7xf16>
  %m = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%mask : tensor<5x7xf16>) outs(%e : tensor<6x5x7xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<6x5x7xf16>
  %o = tensor.empty() : tensor<6x5x8xf16>
  // expected-remark @+1 {{6 heads read one mask}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, k2)>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s, %m : tensor<6x5x16xf16>, tensor<6x7x16xf16>, tensor<6x7x8xf16>, f16, tensor<6x5x7xf16>) outs(%o : tensor<6x5x8xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<6x5x8xf16>
  return %r : tensor<6x5x8xf16>
}

// -----

// Heads have masks, which all sequences share: swin's biases.

// CHECK-LABEL: func.func @heads
// CHECK:       iree_linalg_ext.attention {{.*}} affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>]>
// CHECK-SAME:    %arg3 :
func.func @heads(%q: tensor<6x5x16xf16>, %k: tensor<6x7x16xf16>, %v: tensor<6x7x8xf16>, %mask: tensor<3x5x7xf16>, %s: f16) -> tensor<6x5x8xf16> {
  %e = tensor.empty() : tensor<2x3x5x7xf16>
  %m = linalg.generic {indexing_maps = [affine_map<(b, h, m, k) -> (h, m, k)>, affine_map<(b, h, m, k) -> (b, h, m, k)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%mask : tensor<3x5x7xf16>) outs(%e : tensor<2x3x5x7xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<2x3x5x7xf16>
  %c = tensor.collapse_shape %m [[0, 1], [2], [3]] : tensor<2x3x5x7xf16> into tensor<6x5x7xf16>
  %o = tensor.empty() : tensor<6x5x8xf16>
  // expected-remark @+1 {{2 heads read one mask}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, k2)>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s, %c : tensor<6x5x16xf16>, tensor<6x7x16xf16>, tensor<6x7x8xf16>, f16, tensor<6x5x7xf16>) outs(%o : tensor<6x5x8xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<6x5x8xf16>
  return %r : tensor<6x5x8xf16>
}

// -----

// Rows with one mask for all keys stay: lanes read keys side by side.

// CHECK-LABEL: func.func @rows
// CHECK:       %[[M:.*]] = linalg.generic
// CHECK:       iree_linalg_ext.attention {{.*}}%[[M]] :
func.func @rows(%q: tensor<6x5x16xf16>, %k: tensor<6x7x16xf16>, %v: tensor<6x7x8xf16>, %mask: tensor<5xf16>, %s: f16) -> tensor<6x5x8xf16> {
  %e = tensor.empty() : tensor<6x5x7xf16>
  %m = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (m)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%mask : tensor<5xf16>) outs(%e : tensor<6x5x7xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<6x5x7xf16>
  %o = tensor.empty() : tensor<6x5x8xf16>
  // expected-remark @+1 {{its mask stays as it is: it is copied for rows or keys}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, k2)>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s, %m : tensor<6x5x16xf16>, tensor<6x7x16xf16>, tensor<6x7x8xf16>, f16, tensor<6x5x7xf16>) outs(%o : tensor<6x5x8xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<6x5x8xf16>
  return %r : tensor<6x5x8xf16>
}

// -----

// CHECK-LABEL: func.func @transposed
// CHECK:       %[[M:.*]] = linalg.generic
// CHECK:       iree_linalg_ext.attention {{.*}}%[[M]] :
func.func @transposed(%q: tensor<6x5x16xf16>, %k: tensor<6x7x16xf16>, %v: tensor<6x7x8xf16>, %mask: tensor<7x5xf16>, %s: f16) -> tensor<6x5x8xf16> {
  %e = tensor.empty() : tensor<6x5x7xf16>
  %m = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (k, m)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%mask : tensor<7x5xf16>) outs(%e : tensor<6x5x7xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<6x5x7xf16>
  %o = tensor.empty() : tensor<6x5x8xf16>
  // expected-remark @+1 {{its mask stays as it is: its copies are transposed}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, k2)>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s, %m : tensor<6x5x16xf16>, tensor<6x7x16xf16>, tensor<6x7x8xf16>, f16, tensor<6x5x7xf16>) outs(%o : tensor<6x5x8xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<6x5x8xf16>
  return %r : tensor<6x5x8xf16>
}

// -----

// A mask that is the program's own, and none: the first one is named, too.

// CHECK-LABEL: func.func @own
// CHECK:       iree_linalg_ext.attention {{.*}}%arg3 :
// CHECK:       iree_linalg_ext.attention
func.func @own(%q: tensor<6x5x16xf16>, %k: tensor<6x7x16xf16>, %v: tensor<6x7x8xf16>, %mask: tensor<6x5x7xf16>, %s: f16) -> (tensor<6x5x8xf16>, tensor<6x5x8xf16>) {
  %o = tensor.empty() : tensor<6x5x8xf16>
  // expected-remark @+1 {{its mask stays as it is: it is not copied for the heads}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, k2)>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s, %mask : tensor<6x5x16xf16>, tensor<6x7x16xf16>, tensor<6x7x8xf16>, f16, tensor<6x5x7xf16>) outs(%o : tensor<6x5x8xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<6x5x8xf16>
  %t = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<6x5x16xf16>, tensor<6x7x16xf16>, tensor<6x7x8xf16>, f16) outs(%o : tensor<6x5x8xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<6x5x8xf16>
  return %r, %t : tensor<6x5x8xf16>, tensor<6x5x8xf16>
}

// -----

// Nothing is said of an attention that has none, whatever else is not known of it.

// CHECK-LABEL: func.func @dynamic
// CHECK:       iree_linalg_ext.attention
func.func @dynamic(%q: tensor<6x?x16xf16>, %k: tensor<6x7x16xf16>, %v: tensor<6x7x8xf16>, %s: f16, %o: tensor<6x?x8xf16>) -> tensor<6x?x8xf16> {
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<6x?x16xf16>, tensor<6x7x16xf16>, tensor<6x7x8xf16>, f16) outs(%o : tensor<6x?x8xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<6x?x8xf16>
  return %r : tensor<6x?x8xf16>
}
