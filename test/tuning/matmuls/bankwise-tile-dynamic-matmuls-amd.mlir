// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-tile-dynamic-matmuls{known-sizes=true}))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<MFMA_F32_16x16x4_F32>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [9, 9, 9]>>
#other = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<MFMA_F32_16x16x4_F32>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// A workgroup of one warp waits for the operands of 4 summed elements 120 times.

// CHECK-LABEL: func.func @few_rows
// CHECK:         mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>
func.func @few_rows() attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<4x480xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<480x120xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<4x120xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<4x480xf32> -> tensor<4x480xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<480x120xf32> -> tensor<480x120xf32>
  %e = tensor.empty() : tensor<4x120xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<4x120xf32>) -> tensor<4x120xf32>
  // expected-remark @+1 {{32 x 32, 128 a step, 2 x 2 warps, by matrix instructions in the place of scalar ones}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x480xf32>, tensor<480x120xf32>) outs(%c : tensor<4x120xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 4], thread = [1, 1, 0], workgroup = [1, 64, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<4x120xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<4x120xf32> into memref<4x120xf32>
  return
}


// With one step it waits once.

// CHECK-LABEL: func.func @one_step
// CHECK:         thread = [1, 1, 0]
// expected-remark @+1 {{it saves less than 10%}}
func.func @one_step() attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<4x32xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<32x120xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<4x120xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<4x32xf32> -> tensor<4x32xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<32x120xf32> -> tensor<32x120xf32>
  %e = tensor.empty() : tensor<4x120xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<4x120xf32>) -> tensor<4x120xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x32xf32>, tensor<32x120xf32>) outs(%c : tensor<4x120xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 32], thread = [1, 1, 0], workgroup = [1, 64, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<4x120xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<4x120xf32> into memref<4x120xf32>
  return
}


// Nothing is known of the times of other GPUs.

// CHECK-LABEL: func.func @another_gpu
// CHECK:         thread = [1, 1, 0]
func.func @another_gpu() attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #other}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<4x480xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<480x120xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<4x120xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<4x480xf32> -> tensor<4x480xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<480x120xf32> -> tensor<480x120xf32>
  %e = tensor.empty() : tensor<4x120xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<4x120xf32>) -> tensor<4x120xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x480xf32>, tensor<480x120xf32>) outs(%c : tensor<4x120xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 4], thread = [1, 1, 0], workgroup = [1, 64, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<4x120xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<4x120xf32> into memref<4x120xf32>
  return
}

