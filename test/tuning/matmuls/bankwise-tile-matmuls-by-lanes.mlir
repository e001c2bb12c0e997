// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-tile-matmuls-by-lanes))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// The number of rows is rounded up to whole tiles. A lane reads four elements of A along the sum at once, and of B
// four columns, which is the innermost dimension.

// CHECK-LABEL: func.func @rows
// CHECK-SAME:    %[[ROWS:[a-z0-9]+]]: index
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute>
// CHECK:         %[[ROUNDED:.+]] = affine.apply affine_map<()[s0] -> ((s0 ceildiv [[M:[0-9]+]]) * [[M]])>()[%[[ROWS]]]
// CHECK:         binding(0) {{.*}}bankwise.shape = array<i64: -[[M]], 128>} : memref<?x128xf32>{%[[ROUNDED]]}
// CHECK:         linalg.generic
// CHECK-SAME:      lowering_config = #iree_gpu.lowering_config<{lane_basis = {{\[}}[4, 8, 1], [0, 1, 2]], promote_operands = [0, 1], {{.*}}reduction = [0, 0, {{[0-9]+}}], subgroup_basis = {{\[}}[{{[0-9]+}}, {{[0-9]+}}, 1], [0, 1, 2]], thread = [1, 4, 4], workgroup = {{\[}}[[M]], {{[0-9]+}}, 0]}>
func.func @rows(%rows: index) attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<?x128xf32>{%rows}
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<128x256xf32>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x256xf32>{%rows}
  %x = iree_codegen.load_from_buffer %a : memref<?x128xf32> -> tensor<?x128xf32>
  %y = iree_codegen.load_from_buffer %b : memref<128x256xf32> -> tensor<128x256xf32>
  %e = tensor.empty(%rows) : tensor<?x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x256xf32>) -> tensor<?x256xf32>
  // expected-remark @+1 {{tile of a workgroup: }}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x128xf32>, tensor<128x256xf32>) outs(%f : tensor<?x256xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 128], subgroup_basis = [[1, 1, 8], [0, 1, 2]], thread = [0, 0, 4], workgroup = [1, 1, 0]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x256xf32>
  iree_codegen.store_to_buffer %r, %c : tensor<?x256xf32> into memref<?x256xf32>
  return
}

// -----

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// IREE's tile of 32 x 128 does not divide 90 columns. The rows of B lie along the sum.

// CHECK-LABEL: func.func @ragged
// CHECK:         binding(1) {{.*}}bankwise.shape = array<i64: 90, 128>} : memref<[[N:[0-9]+]]x128xf32>
// CHECK:         lane_basis = {{.*}} thread = [1, 1, 4]
func.func @ragged() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<64x128xf32>
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<90x128xf32>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<64x90xf32>
  %x = iree_codegen.load_from_buffer %a : memref<64x128xf32> -> tensor<64x128xf32>
  %y = iree_codegen.load_from_buffer %b : memref<90x128xf32> -> tensor<90x128xf32>
  %e = tensor.empty() : tensor<64x90xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x90xf32>) -> tensor<64x90xf32>
  // expected-remark @+1 {{tile of a workgroup: }}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<64x128xf32>, tensor<90x128xf32>) outs(%f : tensor<64x90xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 8], thread = [1, 16, 0], workgroup = [32, 128, 1]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<64x90xf32>
  iree_codegen.store_to_buffer %r, %c : tensor<64x90xf32> into memref<64x90xf32>
  return
}

// -----

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// IREE's tile of 8 x 32 divides 1576 rows, and no tile does that stages its operands in the LDS.

// CHECK-LABEL: func.func @only_stock_divides
// CHECK:         binding(0) {{.*}}bankwise.shape = array<i64: 1576, 768>} : memref<{{[0-9]+}}x768xf32>
// CHECK:         promote_operands = [0, 1]
func.func @only_stock_divides() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1576x768xf32>
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<512x768xf32>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<1576x512xf32>
  %x = iree_codegen.load_from_buffer %a : memref<1576x768xf32> -> tensor<1576x768xf32>
  %y = iree_codegen.load_from_buffer %b : memref<512x768xf32> -> tensor<512x768xf32>
  %e = tensor.empty() : tensor<1576x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1576x512xf32>) -> tensor<1576x512xf32>
  // expected-remark @+1 {{tile of a workgroup: }}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<1576x768xf32>, tensor<512x768xf32>) outs(%f : tensor<1576x512xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 4, 0], workgroup = [8, 32, 1]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<1576x512xf32>
  iree_codegen.store_to_buffer %r, %c : tensor<1576x512xf32> into memref<1576x512xf32>
  return
}

// -----

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>

// Other tiles divide these sizes too: `bankwise-retile` finds one that keeps the bits.

// CHECK-LABEL: func.func @divided
// CHECK:         thread = [1, 16, 0]
func.func @divided(%x: tensor<64x128xf32>, %y: tensor<128x256xf32>, %e: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x256xf32>) -> tensor<64x256xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<64x128xf32>, tensor<128x256xf32>) outs(%f : tensor<64x256xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 8], thread = [1, 16, 0], workgroup = [32, 128, 1]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}

// -----

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>

// One row is a sum for the lanes to share, which IREE configures well. What is added to comes from memory.

// CHECK-LABEL: func.func @sums
// CHECK:         partial_reduction = [0, 0, 128]
func.func @sums(%x: tensor<2x128xf32>, %y: tensor<128x90xf32>, %e: tensor<2x90xf32>) -> tensor<2x90xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x90xf32>) -> tensor<2x90xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<2x128xf32>, tensor<128x90xf32>) outs(%f : tensor<2x90xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 128], workgroup = [1, 1, 0]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<2x90xf32>
  return %r : tensor<2x90xf32>
}

// expected-remark @+1 {{no lane gets a tile of the matmul: it adds to a matrix from memory}}
func.func @added(%x: tensor<64x128xf32>, %y: tensor<90x128xf32>, %e: tensor<64x90xf32>) -> tensor<64x90xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<64x128xf32>, tensor<90x128xf32>) outs(%e : tensor<64x90xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 8], thread = [1, 16, 0], workgroup = [32, 128, 1]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<64x90xf32>
  return %r : tensor<64x90xf32>
}

// -----

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// The kernel for one row keeps a workgroup for each element of the result.

// CHECK-LABEL: func.func @one_row
// CHECK:         partial_reduction = [0, 0, 4096]
// expected-remark @+1 {{no lane gets a tile of the matmul: a workgroup for each element is predicted to be faster}}
func.func @one_row(%any: index) attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %most = util.assume.int %any<umin = 0, umax = 1> : index
  %rows = iree_tensor_ext.dispatch.workload.ordinal %most, 0 : index
  %zero = arith.constant 0.0 : f32
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<?x4096xf32>{%rows}
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<4096x4096xf32>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x4096xf32>{%rows}
  %x = iree_codegen.load_from_buffer %a : memref<?x4096xf32> -> tensor<?x4096xf32>
  %y = iree_codegen.load_from_buffer %b : memref<4096x4096xf32> -> tensor<4096x4096xf32>
  %e = tensor.empty(%rows) : tensor<?x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x4096xf32>, tensor<4096x4096xf32>) outs(%f : tensor<?x4096xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 4096], subgroup_basis = [[1, 1, 8], [0, 1, 2]], thread = [0, 0, 4], workgroup = [1, 1, 0]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x4096xf32>
  iree_codegen.store_to_buffer %r, %c : tensor<?x4096xf32> into memref<?x4096xf32>
  return
}
