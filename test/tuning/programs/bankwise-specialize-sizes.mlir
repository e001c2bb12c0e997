// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-specialize-sizes))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-specialize-sizes{bound=48}))' --mlir-print-local-scope | FileCheck %s --check-prefix=ASKED

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>

// Few rows, some rows and many rows get kernels of their own.

// CHECK-LABEL: func.func @rows
// CHECK:         linalg.matmul {bankwise.size_bounds = array<i64: [[FEW:[0-9]+]], [[SOME:[0-9]+]]>, iree_codegen.specialization_ranges = #util<int.assumption.multi_array{{\[\[}}<umin = 0, umax = [[FEW]]>], [<umin = 0, umax = [[SOME]]>]]>}
// ASKED-LABEL: func.func @rows
// ASKED:         bankwise.size_bounds = array<i64: 48>, iree_codegen.specialization_ranges = #util<int.assumption.multi_array{{\[\[}}<umin = 0, umax = 48>]]>}
func.func @rows(%a: tensor<?x4096xf16>, %b: tensor<4096x4096xf16>, %e: tensor<?x4096xf32>) -> tensor<?x4096xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  // expected-remark @+1 {{have kernels of their own}}
  %r = linalg.matmul ins(%a, %b : tensor<?x4096xf16>, tensor<4096x4096xf16>) outs(%f : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  return %r : tensor<?x4096xf32>
}

// Up to three rows of f32 keep IREE's kernel, a workgroup for each element of the result, where what it reads of B lies
// side by side; other rows get three kernels beside it.

// CHECK-LABEL: func.func @row
// CHECK:         linalg.matmul {{.*}}bankwise.size_bounds = array<i64: 3, {{[0-9]+, [0-9]+}}>
func.func @row(%a: tensor<?x4096xf32>, %b: tensor<4096x4096xf32>, %e: tensor<?x4096xf32>) -> tensor<?x4096xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  // expected-remark @+1 {{sizes up to 3 and}}
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<?x4096xf32>, tensor<4096x4096xf32>) outs(%f : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  return %r : tensor<?x4096xf32>
}

// CHECK-LABEL: func.func @strided_row
// CHECK:         linalg.matmul {{.*}}bankwise.size_bounds = array<i64: {{[0-9]+, [0-9]+}}>
func.func @strided_row(%a: tensor<?x4096xf32>, %b: tensor<4096x4096xf32>, %e: tensor<?x4096xf32>) -> tensor<?x4096xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  // expected-remark @+1 {{have kernels of their own}}
  %r = linalg.matmul ins(%a, %b : tensor<?x4096xf32>, tensor<4096x4096xf32>) outs(%f : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  return %r : tensor<?x4096xf32>
}

// The size is that of the second loop where the columns are dynamic.

// CHECK-LABEL: func.func @columns
// CHECK:         specialization_ranges = #util<int.assumption.multi_array{{\[\[}}<umin = 0>, <umin = 0, umax = {{[0-9]+}}>],
func.func @columns(%a: tensor<4096x4096xf16>, %b: tensor<?x4096xf16>, %e: tensor<4096x?xf32>) -> tensor<4096x?xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096x?xf32>) -> tensor<4096x?xf32>
  // expected-remark @+1 {{have kernels of their own}}
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<4096x4096xf16>, tensor<?x4096xf16>) outs(%f : tensor<4096x?xf32>) -> tensor<4096x?xf32>
  return %r : tensor<4096x?xf32>
}

// Short sequences have few rows and few keys, whose number is that of another loop.

// CHECK-LABEL: func.func @attention
// CHECK:         iree_linalg_ext.attention {{.*}} {bankwise.size_bounds = array<i64: [[SHORT:[0-9]+]]>, iree_codegen.specialization_ranges = #util<int.assumption.multi_array{{\[\[}}<umin = 0>, <umin = 0, umax = [[SHORT]]>]]>
func.func @attention(%q: tensor<16x?x128xf16>, %k: tensor<16x?x128xf16>, %v: tensor<16x?x128xf16>, %s: f16, %e: tensor<16x?x128xf16>) -> tensor<16x?x128xf16> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  // expected-remark @+1 {{have kernels of their own}}
  %r = iree_linalg_ext.attention <{indexing_maps = [affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>, affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}> ins(%q, %k, %v, %s : tensor<16x?x128xf16>, tensor<16x?x128xf16>, tensor<16x?x128xf16>, f16) outs(%e : tensor<16x?x128xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<16x?x128xf16>
  return %r : tensor<16x?x128xf16>
}

// Sizes that are known, several dynamic ones, and types without a matrix instruction.

// CHECK-LABEL: func.func @known_sizes
// CHECK-NOT:     specialization_ranges
func.func @known_sizes(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %e: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x64xf16>, tensor<64x64xf16>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @rows_and_columns
// CHECK-NOT:     specialization_ranges
func.func @rows_and_columns(%a: tensor<?x4096xf16>, %b: tensor<4096x?xf16>, %e: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  // expected-remark @+1 {{one kernel computes all sizes: not one of its sizes is dynamic}}
  %r = linalg.matmul ins(%a, %b : tensor<?x4096xf16>, tensor<4096x?xf16>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @f64
// CHECK-NOT:     specialization_ranges
func.func @f64(%a: tensor<?x4096xf64>, %b: tensor<4096x4096xf64>, %e: tensor<?x4096xf64>) -> tensor<?x4096xf64> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  %zero = arith.constant 0.0 : f64
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<?x4096xf64>) -> tensor<?x4096xf64>
  // expected-remark @+1 {{one kernel computes all sizes: there is no matrix instruction for f64, f64, f64}}
  %r = linalg.matmul ins(%a, %b : tensor<?x4096xf64>, tensor<4096x4096xf64>) outs(%f : tensor<?x4096xf64>) -> tensor<?x4096xf64>
  return %r : tensor<?x4096xf64>
}

// f32 is multiplied by lanes, whose tiles differ as much.

// CHECK-LABEL: func.func @f32
// CHECK:         bankwise.size_bounds = array<i64: {{[0-9]+}}, {{[0-9]+}}>
func.func @f32(%a: tensor<?x4096xf32>, %b: tensor<4096x4096xf32>, %e: tensor<?x4096xf32>) -> tensor<?x4096xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  // expected-remark @+1 {{have kernels of their own}}
  %r = linalg.matmul ins(%a, %b : tensor<?x4096xf32>, tensor<4096x4096xf32>) outs(%f : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  return %r : tensor<?x4096xf32>
}

// A user's ranges stand.

// CHECK-LABEL: func.func @ranges_of_the_user
// CHECK:         {iree_codegen.specialization_ranges = #util<int.assumption.multi_array{{\[\[}}<umin = 0, umax = 7>]]>}
func.func @ranges_of_the_user(%a: tensor<?x4096xf16>, %b: tensor<4096x4096xf16>, %e: tensor<?x4096xf32>) -> tensor<?x4096xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %r = linalg.matmul {iree_codegen.specialization_ranges = #util<int.assumption.multi_array[[<umin = 0, umax = 7>]]>} ins(%a, %b : tensor<?x4096xf16>, tensor<4096x4096xf16>) outs(%f : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  return %r : tensor<?x4096xf32>
}
