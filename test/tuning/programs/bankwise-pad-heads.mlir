// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-pad-heads{multiple=8}))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-pad-heads))' --mlir-print-local-scope --bankwise-remarks 2>&1 | FileCheck %s --check-prefix=PREDICTED

// One kernel copies Q, K and V to rows of 40 elements. V is read as it lies in memory.

// CHECK-LABEL: func.func @odd
// CHECK-DAG:   %[[Q:.*]] = tensor.collapse_shape %arg0 {{\[}}[0, 1, 2]] : tensor<8x64x33xf16> into tensor<16896xf16>
// CHECK-DAG:   %[[K:.*]] = tensor.collapse_shape %arg1
// CHECK-DAG:   %[[V:.*]] = tensor.collapse_shape %arg2
// CHECK:       %[[COPIES:.*]]:3 = linalg.generic
// CHECK-SAME:    outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<8x64x40xf16>, tensor<8x64x40xf16>, tensor<8x64x40xf16>)
// CHECK-DAG:     %[[BATCH:.*]] = linalg.index 0
// CHECK-DAG:     %[[OF:.*]] = linalg.index 1
// CHECK-DAG:     %[[COLUMN:.*]] = linalg.index 2
// CHECK:         %[[ROW:.*]] = affine.linearize_index [%[[BATCH]], %[[OF]]] by (8, 64)
// CHECK:         %[[FIRST:.*]] = arith.muli %[[ROW]], %c33
// CHECK:         %[[INSIDE:.*]] = arith.minui %[[COLUMN]], %c32
// CHECK:         %[[PLACE:.*]] = arith.addi %[[FIRST]], %[[INSIDE]]
// CHECK:         %[[THERE:.*]] = arith.cmpi ult, %[[COLUMN]], %c33
// CHECK:         %[[X:.*]] = tensor.extract %[[Q]][%[[PLACE]]]
// CHECK:         arith.select %[[THERE]], %[[X]], %{{.*}} : f16
// CHECK:       %[[R:.*]] = iree_linalg_ext.attention
// CHECK-SAME:    affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
// CHECK-SAME:    ins(%[[COPIES]]#0, %[[COPIES]]#1, %[[COPIES]]#2, %arg3 : tensor<8x64x40xf16>, tensor<8x64x40xf16>, tensor<8x64x40xf16>, f16) outs(%{{.*}} : tensor<8x64x40xf16>)
// CHECK:       %[[FLAT:.*]] = tensor.collapse_shape %[[R]]
// CHECK:       linalg.generic {{.*}} outs(%{{.*}} : tensor<16896xf16>)
// CHECK:         %[[AT:.*]] = linalg.index 0
// CHECK-DAG:     %[[OF:.*]] = arith.divui %[[AT]], %c33
// CHECK-DAG:     %[[IN:.*]] = arith.remui %[[AT]], %c33
// CHECK:         %[[FIRST:.*]] = arith.muli %[[OF]], %c40
// CHECK:         %[[PLACE:.*]] = arith.addi %[[FIRST]], %[[IN]]
// CHECK:         %[[Y:.*]] = tensor.extract %[[FLAT]][%[[PLACE]]]
// CHECK:         linalg.yield %[[Y]]
// CHECK:       %[[CUT:.*]] = tensor.expand_shape %{{.*}} output_shape [8, 64, 33]
// CHECK:       return %[[CUT]]
// PREDICTED: heads are not copied: heads copied to rows of 40 and 40 elements are predicted to take {{.*}} us, and as they are {{.*}} us
func.func @odd(%q: tensor<8x64x33xf16>, %k: tensor<8x64x33xf16>, %v: tensor<8x64x33xf16>, %s: f16) -> tensor<8x64x33xf16> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>}>} {
  %0 = tensor.empty() : tensor<8x33x64xf16>
  %t = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, c, b)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v : tensor<8x64x33xf16>) outs(%0 : tensor<8x33x64xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<8x33x64xf16>
  %e = tensor.empty() : tensor<8x64x33xf16>
  // expected-remark @+1 {{heads are copied to rows of 40 and 40 elements}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, n, k2)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %t, %s : tensor<8x64x33xf16>, tensor<8x64x33xf16>, tensor<8x33x64xf16>, f16) outs(%e : tensor<8x64x33xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<8x64x33xf16>
  return %r : tensor<8x64x33xf16>
}

// A tensor that is K and V is copied once. The output has whole rows, and is not copied.

// CHECK-LABEL: func.func @shared
// CHECK:       linalg.generic {{.*}} outs(%{{.*}} : tensor<2x32x40xf32>)
// CHECK:       %[[KEYS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x64x40xf32>)
// CHECK:       iree_linalg_ext.attention
// CHECK-SAME:    ins(%{{.*}}, %[[KEYS]], %[[KEYS]], %arg3, %arg2 :
// CHECK-NEXT:  ^bb0(%[[SCORE:.*]]: f32):
// CHECK-NEXT:    %[[TANH:.*]] = math.tanh %[[SCORE]]
// CHECK-NEXT:    iree_linalg_ext.yield %[[TANH]]
// PREDICTED: heads are not copied: there is no prediction for the GPU
func.func @shared(%q: tensor<2x32x37xf32>, %k: tensor<2x64x37xf32>, %mask: tensor<2x32x64xi1>, %s: f32) -> tensor<2x32x37xf32> {
  %e = tensor.empty() : tensor<2x32x37xf32>
  // expected-remark @+1 {{heads are copied to rows of 40 and 40 elements}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, k2)>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %k, %s, %mask : tensor<2x32x37xf32>, tensor<2x64x37xf32>, tensor<2x64x37xf32>, f32, tensor<2x32x64xi1>) outs(%e : tensor<2x32x37xf32>) {
  ^bb0(%x: f32):
    %t = math.tanh %x : f32
    iree_linalg_ext.yield %t : f32
  } -> tensor<2x32x37xf32>
  return %r : tensor<2x32x37xf32>
}

// Columns that are whole rows already are not copied.

// CHECK-LABEL: func.func @whole_columns
// CHECK:       %[[COPIES:.*]]:2 = linalg.generic
// CHECK-NOT:   linalg.generic
// CHECK:       %[[R:.*]] = iree_linalg_ext.attention
// CHECK-SAME:    ins(%{{.*}}, %{{.*}}, %arg2, %arg3 : tensor<2x64x16xf16>, tensor<2x64x16xf16>, tensor<2x64x24xf16>, f16)
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    iree_linalg_ext.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  return %[[R]]
func.func @whole_columns(%q: tensor<2x64x9xf16>, %k: tensor<2x64x9xf16>, %v: tensor<2x64x24xf16>, %s: f16) -> tensor<2x64x24xf16> {
  %e = tensor.empty() : tensor<2x64x24xf16>
  // expected-remark @+1 {{heads are copied to rows of 16 and 24 elements}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<2x64x9xf16>, tensor<2x64x9xf16>, tensor<2x64x24xf16>, f16) outs(%e : tensor<2x64x24xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x64x24xf16>
  return %r : tensor<2x64x24xf16>
}

// K lies along the keys in memory.

// CHECK-LABEL: func.func @across
// CHECK-NOT:   linalg.generic
func.func @across(%q: tensor<2x64x9xf16>, %k: tensor<2x9x64xf16>, %v: tensor<2x64x9xf16>, %s: f16) -> tensor<2x64x9xf16> {
  %e = tensor.empty() : tensor<2x64x9xf16>
  // expected-remark @+1 {{heads are not copied: its rows do not lie along the head and the columns}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k1, k2)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<2x64x9xf16>, tensor<2x9x64xf16>, tensor<2x64x9xf16>, f16) outs(%e : tensor<2x64x9xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x64x9xf16>
  return %r : tensor<2x64x9xf16>
}

// What computes with the output reads the columns that there are, behind a view of it, too.

// CHECK-LABEL: func.func @computed_with
// CHECK:       %[[R:.*]] = iree_linalg_ext.attention {{.*}} outs(%{{.*}} : tensor<2x32x40xf16>)
// CHECK:       %[[CUT:.*]] = tensor.extract_slice %[[R]][0, 0, 0] [2, 32, 37] [1, 1, 1] : tensor<2x32x40xf16> to tensor<2x32x37xf16>
// CHECK:       %[[ROWS:.*]] = tensor.collapse_shape %[[CUT]]
// CHECK:       linalg.generic {{.*}} ins(%[[ROWS]] : tensor<64x37xf16>)
func.func @computed_with(%q: tensor<2x32x37xf16>, %k: tensor<2x64x37xf16>, %s: f16) -> tensor<64x37xf32> {
  %e = tensor.empty() : tensor<2x32x37xf16>
  // expected-remark @+1 {{heads are copied to rows of 40 and 40 elements}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %k, %s : tensor<2x32x37xf16>, tensor<2x64x37xf16>, tensor<2x64x37xf16>, f16) outs(%e : tensor<2x32x37xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x32x37xf16>
  %rows = tensor.collapse_shape %r [[0, 1], [2]] : tensor<2x32x37xf16> into tensor<64x37xf16>
  %f = tensor.empty() : tensor<64x37xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<64x37xf16>) outs(%f : tensor<64x37xf32>) {
  ^bb0(%x: f16, %y: f32):
    %w = arith.extf %x : f16 to f32
    linalg.yield %w : f32
  } -> tensor<64x37xf32>
  return %wide : tensor<64x37xf32>
}
