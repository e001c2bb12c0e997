// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-tile-convolutions-by-lanes{tile=32,32,8,2,4,4}))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// 18 filters are rows, 5 x 5 places are columns. 16 channels are split into 4 parts of 4, with 3 x 3 elements of a window
// each: 36 summed elements become 40. The bias becomes as long as the rows.

// CHECK-LABEL: func.func @convolution
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1]
// CHECK:         binding(0) {{.*}} {bankwise.shape = array<i64: 4, 36, 25>, bankwise.strided = {dims = [array<i64: 4, 484>, array<i64: 4, 121, 3, 11, 3, 1>, array<i64: 5, 22, 5, 2>], elements = 1936 : i64, offset = 0 : i64}} : memref<4x40x32xf32>
// CHECK:         binding(1) {{.*}} {bankwise.shape = array<i64: 18, 4, 36>, {{.*}}} : memref<32x4x40xf32>
// CHECK:         binding(2) {{.*}} {bankwise.shape = array<i64: 18, 25>, {{.*}}} : memref<32x32xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
// CHECK-SAME:      lane_basis = {{\[}}[4, 8, 1, 1], [0, 1, 2, 3]], promote_operands = [0, 1], {{.*}}reduction = [0, 0, 0, 8], subgroup_basis = {{\[}}[4, 1, 4, 1], [0, 1, 2, 3]], thread = [1, 4, 1, 4], workgroup = [32, 32, 0, 0]
// CHECK:         arith.constant dense<[1.000000e+00, 2.000000e+00, {{.*}}, 9.500000e+00, 0.000000e+00{{(, 0.000000e[+]00)*}}]> : tensor<32xf32>
func.func @convolution() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<16x11x11xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<18x16x3x3xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<18x5x5xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<16x11x11xf32> -> tensor<16x11x11xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<18x16x3x3xf32> -> tensor<18x16x3x3xf32>
  %e = tensor.empty() : tensor<18x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<18x5x5xf32>) -> tensor<18x5x5xf32>
  // expected-remark @+1 {{as a matmul of 18 x 25 x 4 x 36}}
  %r = linalg.generic {indexing_maps = [affine_map<(f, h, w, c, y, x) -> (c, h * 2 + y, w * 2 + x)>, affine_map<(f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(f, h, w, c, y, x) -> (f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<16x11x11xf32>, tensor<18x16x3x3xf32>) outs(%f : tensor<18x5x5xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 1, 3, 3], thread = [1, 1, 1, 0, 0, 0], workgroup = [2, 5, 5, 0, 0, 0]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<18x5x5xf32>
  %numbers = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]> : tensor<18xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(f, h, w) -> (f, h, w)>, affine_map<(f, h, w) -> (f)>, affine_map<(f, h, w) -> (f, h, w)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %numbers : tensor<18x5x5xf32>, tensor<18xf32>) outs(%e : tensor<18x5x5xf32>) {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<18x5x5xf32>
  iree_codegen.store_to_buffer %v, %bc : tensor<18x5x5xf32> into memref<18x5x5xf32>
  return
}

// -----

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// What is added to is no fill.

// CHECK-LABEL: func.func @adds
// CHECK:         thread = [1, 1, 1, 0, 0, 0]
// expected-remark @+1 {{no lane gets a tile of the convolution: it adds to another tensor}}
func.func @adds() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<16x11x11xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<18x16x3x3xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<18x5x5xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<16x11x11xf32> -> tensor<16x11x11xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<18x16x3x3xf32> -> tensor<18x16x3x3xf32>
  %d = iree_codegen.load_from_buffer %bc : memref<18x5x5xf32> -> tensor<18x5x5xf32>
  %e = tensor.empty() : tensor<18x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<18x5x5xf32>) -> tensor<18x5x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(f, h, w, c, y, x) -> (c, h * 2 + y, w * 2 + x)>, affine_map<(f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(f, h, w, c, y, x) -> (f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<16x11x11xf32>, tensor<18x16x3x3xf32>) outs(%d : tensor<18x5x5xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 1, 3, 3], thread = [1, 1, 1, 0, 0, 0], workgroup = [2, 5, 5, 0, 0, 0]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<18x5x5xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<18x5x5xf32> into memref<18x5x5xf32>
  return
}

// -----

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// Each element of the result is used for a whole row of what is stored.

// CHECK-LABEL: func.func @repeats
// CHECK:         thread = [1, 1, 0]
// expected-remark @+1 {{no lane gets a tile of the convolution: what is computed of its result has loops of its own}}
func.func @repeats() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<8x16xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<16x8xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<8x8x4xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<8x16xf32> -> tensor<8x16xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<16x8xf32> -> tensor<16x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<8x16xf32>, tensor<16x8xf32>) outs(%f : tensor<8x8xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 16], thread = [1, 1, 0], workgroup = [4, 8, 0]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %w = tensor.empty() : tensor<8x8x4xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(m, n, l) -> (m, n)>, affine_map<(m, n, l) -> (m, n, l)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r : tensor<8x8xf32>) outs(%w : tensor<8x8x4xf32>) {
  ^bb0(%p: f32, %t: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8x4xf32>
  iree_codegen.store_to_buffer %v, %bc : tensor<8x8x4xf32> into memref<8x8x4xf32>
  return
}

// -----

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// The product of two vectors has neither rows nor columns.

// CHECK-LABEL: func.func @one_number
// CHECK-NOT:     bankwise.
func.func @one_number() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<128xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<128xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<f32>
  %a = iree_codegen.load_from_buffer %ba : memref<128xf32> -> tensor<128xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<128xf32> -> tensor<128xf32>
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]} ins(%a, %b : tensor<128xf32>, tensor<128xf32>) outs(%f : tensor<f32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[32], [0]], partial_reduction = [128], subgroup_basis = [[1], [0]], thread = [4], workgroup = [0]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  iree_codegen.store_to_buffer %r, %bc : tensor<f32> into memref<f32>
  return
}
