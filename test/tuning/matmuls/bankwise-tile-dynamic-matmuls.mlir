// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-tile-dynamic-matmuls))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// The number of rows is rounded up to whole tiles, and so are the 200 columns; the sum is 128
// elements long in any case.

// CHECK-LABEL: func.func @rows
// CHECK-SAME:    %[[ROWS:[a-z0-9]+]]: index
// CHECK-SAME:    bankwise.enlarged_bindings
// CHECK:         %[[ROUNDED:.+]] = affine.apply affine_map<()[s0] -> ((s0 ceildiv [[M:[0-9]+]]) * [[M]])>()[%[[ROWS]]]
// CHECK:         binding(0) {{.*}}bankwise.shape = array<i64: -[[M]], 128>} : memref<?x128xf16>{%[[ROUNDED]]}
// CHECK:         binding(1) {{.*}}bankwise.shape = array<i64: 128, 200>} : memref<128x[[N:[0-9]+]]xf16>
// CHECK:         linalg.generic
// CHECK-SAME:      lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], {{.*}}reduction = [0, 0, {{[0-9]+}}], subgroup_basis = {{\[}}[{{[0-9]+}}, {{[0-9]+}}, 1], [0, 1, 2]], workgroup = {{\[}}[[M]], {{[0-9]+}}, 0]}>
// CHECK:         -> tensor<?x[[N]]xf32>
func.func @rows(%rows: index) attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<?x128xf16>{%rows}
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<128x200xf16>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x200xf32>{%rows}
  %x = iree_codegen.load_from_buffer %a : memref<?x128xf16> -> tensor<?x128xf16>
  %y = iree_codegen.load_from_buffer %b : memref<128x200xf16> -> tensor<128x200xf16>
  %e = tensor.empty(%rows) : tensor<?x200xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x200xf32>) -> tensor<?x200xf32>
  // expected-remark @+1 {{by matrix instructions in the place of scalar ones}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x128xf16>, tensor<128x200xf16>) outs(%f : tensor<?x200xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 128], subgroup_basis = [[1, 1, 8], [0, 1, 2]], thread = [0, 0, 4], workgroup = [1, 1, 0]}>} {
  ^bb0(%p: f16, %q: f16, %t: f32):
    %pw = arith.extf %p : f16 to f32
    %qw = arith.extf %q : f16 to f32
    %pq = arith.mulf %pw, %qw : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x200xf32>
  iree_codegen.store_to_buffer %r, %c : tensor<?x200xf32> into memref<?x200xf32>
  return
}

// There is no matrix instruction for f32, and sizes that are known are left to IREE.

// CHECK-LABEL: func.func @f32
// CHECK:         partial_reduction = [0, 0, 128]
// expected-remark @+1 {{the matmul keeps scalar instructions: there is no matrix instruction for f32, f32, f32}}
func.func @f32(%x: tensor<?x128xf32>, %y: tensor<128x64xf32>, %e: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x128xf32>, tensor<128x64xf32>) outs(%f : tensor<?x64xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 128], workgroup = [1, 1, 0]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @known_sizes
// CHECK:         partial_reduction = [0, 0, 128]
func.func @known_sizes(%x: tensor<2x128xf16>, %y: tensor<128x64xf16>, %e: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64xf32>) -> tensor<2x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<2x128xf16>, tensor<128x64xf16>) outs(%f : tensor<2x64xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 128], workgroup = [1, 1, 0]}>} {
  ^bb0(%p: f16, %q: f16, %t: f32):
    %pw = arith.extf %p : f16 to f32
    %qw = arith.extf %q : f16 to f32
    %pq = arith.mulf %pw, %qw : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<2x64xf32>
  return %r : tensor<2x64xf32>
}

// A kernel for few rows has a tile of few rows, and the one that is called for more than 256 has
// one of many, though it is told nothing.

// CHECK-LABEL: func.func @few_rows
// CHECK:         workgroup = [16, {{[0-9]+}}, 0]
func.func @few_rows(%asked: index) attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %known = util.assume.int %asked<umin = 0, umax = 16> : index
  %rows = iree_tensor_ext.dispatch.workload.ordinal %known, 0 : index
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<?x4096xf16>{%rows}
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<4096x4096xf16>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x4096xf32>{%rows}
  %x = iree_codegen.load_from_buffer %a : memref<?x4096xf16> -> tensor<?x4096xf16>
  %y = iree_codegen.load_from_buffer %b : memref<4096x4096xf16> -> tensor<4096x4096xf16>
  %e = tensor.empty(%rows) : tensor<?x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  // expected-remark @+1 {{by matrix instructions in the place of scalar ones}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x4096xf16>, tensor<4096x4096xf16>) outs(%f : tensor<?x4096xf32>) attrs = {bankwise.size_bounds = array<i64: 16, 256>, lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 4096], subgroup_basis = [[1, 1, 32], [0, 1, 2]], thread = [0, 0, 4], workgroup = [1, 1, 0]}>} {
  ^bb0(%p: f16, %q: f16, %t: f32):
    %pw = arith.extf %p : f16 to f32
    %qw = arith.extf %q : f16 to f32
    %pq = arith.mulf %pw, %qw : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x4096xf32>
  iree_codegen.store_to_buffer %r, %c : tensor<?x4096xf32> into memref<?x4096xf32>
  return
}

// CHECK-LABEL: func.func @many_rows
// CHECK:         workgroup = [128, {{[0-9]+}}, 0]
func.func @many_rows(%asked: index) attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %known = util.assume.int %asked<umin = 0, umax = 9007199254740991> : index
  %rows = iree_tensor_ext.dispatch.workload.ordinal %known, 0 : index
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<?x4096xf16>{%rows}
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<4096x4096xf16>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x4096xf32>{%rows}
  %x = iree_codegen.load_from_buffer %a : memref<?x4096xf16> -> tensor<?x4096xf16>
  %y = iree_codegen.load_from_buffer %b : memref<4096x4096xf16> -> tensor<4096x4096xf16>
  %e = tensor.empty(%rows) : tensor<?x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  // expected-remark @+1 {{by matrix instructions in the place of scalar ones}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x4096xf16>, tensor<4096x4096xf16>) outs(%f : tensor<?x4096xf32>) attrs = {bankwise.size_bounds = array<i64: 16, 256>, lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 4096], subgroup_basis = [[1, 1, 32], [0, 1, 2]], thread = [0, 0, 4], workgroup = [1, 1, 0]}>} {
  ^bb0(%p: f16, %q: f16, %t: f32):
    %pw = arith.extf %p : f16 to f32
    %qw = arith.extf %q : f16 to f32
    %pq = arith.mulf %pw, %qw : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x4096xf32>
  iree_codegen.store_to_buffer %r, %c : tensor<?x4096xf32> into memref<?x4096xf32>
  return
}

// Where no kernel has few rows to itself, the tile is a compromise.

// CHECK-LABEL: func.func @any_rows
// CHECK:         workgroup = [64, {{[0-9]+}}, 0]
func.func @any_rows(%asked: index) attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %known = util.assume.int %asked<umin = 0, umax = 9007199254740991> : index
  %rows = iree_tensor_ext.dispatch.workload.ordinal %known, 0 : index
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<?x4096xf16>{%rows}
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<4096x4096xf16>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x4096xf32>{%rows}
  %x = iree_codegen.load_from_buffer %a : memref<?x4096xf16> -> tensor<?x4096xf16>
  %y = iree_codegen.load_from_buffer %b : memref<4096x4096xf16> -> tensor<4096x4096xf16>
  %e = tensor.empty(%rows) : tensor<?x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  // expected-remark @+1 {{by matrix instructions in the place of scalar ones}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x4096xf16>, tensor<4096x4096xf16>) outs(%f : tensor<?x4096xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 4096], subgroup_basis = [[1, 1, 32], [0, 1, 2]], thread = [0, 0, 4], workgroup = [1, 1, 0]}>} {
  ^bb0(%p: f16, %q: f16, %t: f32):
    %pw = arith.extf %p : f16 to f32
    %qw = arith.extf %q : f16 to f32
    %pq = arith.mulf %pw, %qw : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x4096xf32>
  iree_codegen.store_to_buffer %r, %c : tensor<?x4096xf32> into memref<?x4096xf32>
  return
}
