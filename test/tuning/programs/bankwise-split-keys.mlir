// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-split-keys{parts=2}))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-split-keys))' --mlir-print-local-scope --bankwise-remarks 2>&1 | FileCheck %s --check-prefix=PREDICTED

// The merge reads both parts of a row at once.

// CHECK-LABEL: func.func @two_parts
// CHECK:       %[[K:.*]] = tensor.expand_shape %arg1 {{\[}}[0], [1, 2], [3]] output_shape [8, 2, 4096, 128]
// CHECK:       %[[V:.*]] = tensor.expand_shape %arg2 {{\[}}[0], [1, 2], [3]] output_shape [8, 2, 4096, 128]
// CHECK:       %[[PARTS:.*]]:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d0, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> ()>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>]>
// CHECK-SAME:    ins(%arg0, %[[K]], %[[V]]
// CHECK-DAG:   tensor.extract_slice %[[PARTS]]#0[1, 0, 0, 0] [1, 8, 128, 128] [1, 1, 1, 1] : tensor<2x8x128x128xf32> to tensor<8x128x128xf32>
// CHECK-DAG:   tensor.extract_slice %[[PARTS]]#1[0, 0, 0] [1, 8, 128]
// CHECK-DAG:   tensor.extract_slice %[[PARTS]]#2[1, 0, 0] [1, 8, 128]
// CHECK:       ^bb0(%[[O0:.*]]: f32, %[[O1:.*]]: f32, %[[M0:.*]]: f32, %[[M1:.*]]: f32, %[[S0:.*]]: f32, %[[S1:.*]]: f32, %{{.*}}: f16):
// CHECK:         %[[M:.*]] = arith.maximumf %[[M0]], %[[M1]]
// CHECK:         %[[D0:.*]] = arith.subf %[[M0]], %[[M]]
// CHECK:         %[[E0:.*]] = math.exp2 %[[D0]]
// CHECK:         %[[D1:.*]] = arith.subf %[[M1]], %[[M]]
// CHECK:         %[[E1:.*]] = math.exp2 %[[D1]]
// CHECK:         %[[P0:.*]] = arith.mulf %[[E0]], %[[O0]]
// CHECK:         %[[P1:.*]] = arith.mulf %[[E1]], %[[O1]]
// CHECK:         %[[O:.*]] = arith.addf %[[P0]], %[[P1]]
// CHECK:         %[[Q0:.*]] = arith.mulf %[[E0]], %[[S0]]
// CHECK:         %[[Q1:.*]] = arith.mulf %[[E1]], %[[S1]]
// CHECK:         %[[S:.*]] = arith.addf %[[Q0]], %[[Q1]]
// CHECK:         %[[I:.*]] = arith.divf %{{.*}}, %[[S]]
// CHECK:         %[[R:.*]] = arith.mulf %[[I]], %[[O]]
// CHECK:         arith.truncf %[[R]] : f32 to f16
// CHECK-NOT:   iree_linalg_ext.attention
// PREDICTED: keys in 16 parts are predicted to take {{.*}} us, and in one {{.*}} us
func.func @two_parts(%q: tensor<8x128x128xf16>, %k: tensor<8x8192x128xf16>, %v: tensor<8x8192x128xf16>, %s: f16) -> tensor<8x128x128xf16> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>}>} {
  %e = tensor.empty() : tensor<8x128x128xf16>
  // expected-remark @+1 {{keys are in 2 parts}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<8x128x128xf16>, tensor<8x8192x128xf16>, tensor<8x8192x128xf16>, f16) outs(%e : tensor<8x128x128xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<8x128x128xf16>
  return %r : tensor<8x128x128xf16>
}

// A single row is computed twice, and what is computed of the scores stays.

// CHECK-LABEL: func.func @one_row
// CHECK:       %[[MASK:.*]] = tensor.expand_shape %arg3 {{\[}}[0], [1], [2, 3]] output_shape [4, 1, 2, 32]
// CHECK:       %[[TWICE:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, {{.*}} ins(%arg0 : tensor<4x1x64xf32>) outs(%{{.*}} : tensor<2x4x1x64xf32>)
// CHECK:       iree_linalg_ext.online_attention
// CHECK-SAME:    affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d1, d2, d3)>
// CHECK-SAME:    affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d6, d1, d2)>
// CHECK-SAME:    ins(%[[TWICE]], %{{.*}}, %{{.*}}, %arg4, %[[MASK]]
// CHECK-NEXT:  ^bb0(%[[SCORE:.*]]: f32):
// CHECK-NEXT:    %[[TANH:.*]] = math.tanh %[[SCORE]]
// CHECK-NEXT:    iree_linalg_ext.yield %[[TANH]]
// CHECK:       tensor.extract_slice %{{.*}}#0[0, 0, 0, 0, 0] [1, 1, 4, 1, 64] [1, 1, 1, 1, 1] : tensor<2x2x4x1x64xf32> to tensor<4x1x64xf32>
// CHECK-NOT:   arith.truncf
// PREDICTED: keys are not split: there is no prediction for the GPU
func.func @one_row(%q: tensor<4x1x64xf32>, %k: tensor<4x64x64xf32>, %v: tensor<4x64x64xf32>, %mask: tensor<4x1x64xi1>, %s: f32) -> tensor<4x1x64xf32> {
  %e = tensor.empty() : tensor<4x1x64xf32>
  // expected-remark @+1 {{keys are in 2 parts}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, k2)>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s, %mask : tensor<4x1x64xf32>, tensor<4x64x64xf32>, tensor<4x64x64xf32>, f32, tensor<4x1x64xi1>) outs(%e : tensor<4x1x64xf32>) {
  ^bb0(%x: f32):
    %t = math.tanh %x : f32
    iree_linalg_ext.yield %t : f32
  } -> tensor<4x1x64xf32>
  return %r : tensor<4x1x64xf32>
}

// Heads of K and V are repeated, as exporters do it: the four of Q that share one are rows.

// CHECK-LABEL: func.func @shared_heads
// CHECK:       %[[Q:.*]] = tensor.expand_shape %arg0 {{\[}}[0, 1], [2], [3]] output_shape [2, 4, 1, 64]
// CHECK:       %[[K:.*]] = tensor.expand_shape %arg1 {{\[}}[0], [1, 2], [3]] output_shape [2, 2, 64, 64]
// CHECK:       %[[PARTS:.*]]:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d0, d5, d4)>
// CHECK-SAME:    ins(%[[Q]], %[[K]],
// CHECK:       tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2], [3]] : tensor<2x4x1x64xf16> into tensor<8x1x64xf16>
func.func @shared_heads(%q: tensor<8x1x64xf16>, %k: tensor<2x128x64xf16>, %v: tensor<2x128x64xf16>, %s: f16) -> tensor<8x1x64xf16> {
  %e = tensor.empty() : tensor<8x1x64xf16>
  %four = tensor.empty() : tensor<2x4x128x64xf16>
  %ks = linalg.generic {indexing_maps = [affine_map<(h, g, k, d) -> (h, k, d)>, affine_map<(h, g, k, d) -> (h, g, k, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%k : tensor<2x128x64xf16>) outs(%four : tensor<2x4x128x64xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<2x4x128x64xf16>
  %vs = linalg.generic {indexing_maps = [affine_map<(h, g, k, d) -> (h, k, d)>, affine_map<(h, g, k, d) -> (h, g, k, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v : tensor<2x128x64xf16>) outs(%four : tensor<2x4x128x64xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<2x4x128x64xf16>
  %kc = tensor.collapse_shape %ks [[0, 1], [2], [3]] : tensor<2x4x128x64xf16> into tensor<8x128x64xf16>
  %vc = tensor.collapse_shape %vs [[0, 1], [2], [3]] : tensor<2x4x128x64xf16> into tensor<8x128x64xf16>
  // expected-remark @+1 {{keys are in 2 parts}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %kc, %vc, %s : tensor<8x1x64xf16>, tensor<8x128x64xf16>, tensor<8x128x64xf16>, f16) outs(%e : tensor<8x1x64xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<8x1x64xf16>
  return %r : tensor<8x1x64xf16>
}

// What transposes the output is part of the merge, and V may have the keys last. No loop is over rows.

// CHECK-LABEL: func.func @transposed
// CHECK:       %[[V:.*]] = tensor.expand_shape %arg2 {{\[}}[0], [1], [2, 3]] output_shape [3, 64, 2, 64]
// CHECK:       iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d4, d0, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> ()>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d4, d1)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1)>
// CHECK:       %[[OUT:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<64x3xf16>)
// CHECK:       return %[[OUT]] : tensor<64x3xf16>
func.func @transposed(%q: tensor<3x64xf16>, %k: tensor<3x128x64xf16>, %v: tensor<3x64x128xf16>, %s: f16) -> tensor<64x3xf16> {
  %e = tensor.empty() : tensor<3x64xf16>
  // expected-remark @+1 {{keys are in 2 parts}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, k1, k2, n) -> (b, k1)>, affine_map<(b, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, k1, k2, n) -> (b, n, k2)>, affine_map<(b, k1, k2, n) -> ()>, affine_map<(b, k1, k2, n) -> (b, n)>]}> ins(%q, %k, %v, %s : tensor<3x64xf16>, tensor<3x128x64xf16>, tensor<3x64x128xf16>, f16) outs(%e : tensor<3x64xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<3x64xf16>
  %f = tensor.empty() : tensor<64x3xf16>
  %t = linalg.generic {indexing_maps = [affine_map<(n, b) -> (b, n)>, affine_map<(n, b) -> (n, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<3x64xf16>) outs(%f : tensor<64x3xf16>) {
  ^bb0(%x: f16, %y: f16):
    linalg.yield %x : f16
  } -> tensor<64x3xf16>
  return %t : tensor<64x3xf16>
}

// The size of V's keys is known only by those of K.

// CHECK-LABEL: func.func @partly_dynamic
// CHECK-NOT:     online_attention
func.func @partly_dynamic(%q: tensor<2x16x64xf16>, %k: tensor<2x128x64xf16>, %v: tensor<2x?x64xf16>, %s: f16) -> tensor<2x16x64xf16> {
  %e = tensor.empty() : tensor<2x16x64xf16>
  // expected-remark @+1 {{keys are not split: its sizes are not all known}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<2x16x64xf16>, tensor<2x128x64xf16>, tensor<2x?x64xf16>, f16) outs(%e : tensor<2x16x64xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x16x64xf16>
  return %r : tensor<2x16x64xf16>
}

// CHECK-LABEL: func.func @odd_keys
// CHECK-NOT:     online_attention
func.func @odd_keys(%q: tensor<2x16x64xf16>, %k: tensor<2x127x64xf16>, %s: f16) -> tensor<2x16x64xf16> {
  %e = tensor.empty() : tensor<2x16x64xf16>
  // expected-remark @+1 {{keys are not split: its 127 keys are no 2 equal parts}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %k, %s : tensor<2x16x64xf16>, tensor<2x127x64xf16>, tensor<2x127x64xf16>, f16) outs(%e : tensor<2x16x64xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x16x64xf16>
  return %r : tensor<2x16x64xf16>
}

// CHECK-LABEL: func.func @dynamic_keys
// CHECK-NOT:     online_attention
func.func @dynamic_keys(%q: tensor<2x16x64xf16>, %k: tensor<2x?x64xf16>, %s: f16) -> tensor<2x16x64xf16> {
  %e = tensor.empty() : tensor<2x16x64xf16>
  // expected-remark @+1 {{keys are not split: its sizes are not all known}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %k, %s : tensor<2x16x64xf16>, tensor<2x?x64xf16>, tensor<2x?x64xf16>, f16) outs(%e : tensor<2x16x64xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x16x64xf16>
  return %r : tensor<2x16x64xf16>
}

// What is added to a score depends on the number of its key, which would have to be another one.

// CHECK-LABEL: func.func @positions
// CHECK-NOT:     online_attention
func.func @positions(%q: tensor<2x16x64xf16>, %k: tensor<2x128x64xf16>, %s: f16) -> tensor<2x16x64xf16> {
  %e = tensor.empty() : tensor<2x16x64xf16>
  // expected-remark @+1 {{keys are not split: its scores depend on the numbers of rows and keys}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %k, %s : tensor<2x16x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, f16) outs(%e : tensor<2x16x64xf16>) {
  ^bb0(%x: f32):
    %i = iree_linalg_ext.index 3 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %a = arith.addf %x, %f : f32
    iree_linalg_ext.yield %a : f32
  } -> tensor<2x16x64xf16>
  return %r : tensor<2x16x64xf16>
}
