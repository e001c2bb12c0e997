// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-implicit-gemm{faster-only=true}))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<MFMA_F32_16x16x4_F32>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [9, 9, 9]>>
#other = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<MFMA_F32_16x16x4_F32>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// 5 workgroups leave nearly all of 304 compute units idle.

// CHECK-LABEL: func.func @few_workgroups
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:      padding = [64, 64, 64]
func.func @few_workgroups() attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>}>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<64x22x22xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<64x64x3x3xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<64x20x20xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<64x22x22xf32> -> tensor<64x22x22xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<64x64x3x3xf32> -> tensor<64x64x3x3xf32>
  %e = tensor.empty() : tensor<64x20x20xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<64x20x20xf32>) -> tensor<64x20x20xf32>
  // expected-remark @+1 {{computed as a matmul of 64 x 400 x 576}}
  %r = linalg.generic {indexing_maps = [affine_map<(f, h, w, c, y, x) -> (c, h + y, w + x)>, affine_map<(f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(f, h, w, c, y, x) -> (f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<64x22x22xf32>, tensor<64x64x3x3xf32>) outs(%i : tensor<64x20x20xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>, padding = [64, 4, 32, 64], promote_operands = [0, 1], reduction = [0, 0, 0, 16], subgroup = [2, 2, 1, 0], workgroup = [64, 4, 32, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<64x20x20xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<64x20x20xf32> into memref<64x20x20xf32>
  return
}

// With 2,080 workgroups, IREE's tile is about as fast.

// CHECK-LABEL: func.func @many_workgroups
// CHECK:         affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>
// expected-remark @+1 {{64 x 64, 32 a step, 2 x 2 warps is predicted to take 37.0 us, and IREE's tile 37.0 us; it saves less than 10%}}
func.func @many_workgroups() attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>}>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<32x210x322xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<128x32x3x3xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<128x208x320xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<32x210x322xf32> -> tensor<32x210x322xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<128x32x3x3xf32> -> tensor<128x32x3x3xf32>
  %e = tensor.empty() : tensor<128x208x320xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<128x208x320xf32>) -> tensor<128x208x320xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(f, h, w, c, y, x) -> (c, h + y, w + x)>, affine_map<(f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(f, h, w, c, y, x) -> (f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<32x210x322xf32>, tensor<128x32x3x3xf32>) outs(%i : tensor<128x208x320xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>, padding = [64, 1, 64, 32], promote_operands = [0, 1], reduction = [0, 0, 0, 8], subgroup = [2, 1, 2, 0], workgroup = [64, 1, 64, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<128x208x320xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<128x208x320xf32> into memref<128x208x320xf32>
  return
}

// Nothing is known of the times of other GPUs.

// CHECK-LABEL: func.func @another_gpu
// CHECK:         affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>
// expected-remark @+1 {{the loops of the contraction stay: there is no prediction for the GPU}}
func.func @another_gpu() attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #other}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>}>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<64x22x22xf32>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<64x64x3x3xf32>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<64x20x20xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<64x22x22xf32> -> tensor<64x22x22xf32>
  %b = iree_codegen.load_from_buffer %bb : memref<64x64x3x3xf32> -> tensor<64x64x3x3xf32>
  %e = tensor.empty() : tensor<64x20x20xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<64x20x20xf32>) -> tensor<64x20x20xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(f, h, w, c, y, x) -> (c, h + y, w + x)>, affine_map<(f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(f, h, w, c, y, x) -> (f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<64x22x22xf32>, tensor<64x64x3x3xf32>) outs(%i : tensor<64x20x20xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>, padding = [64, 4, 32, 64], promote_operands = [0, 1], reduction = [0, 0, 0, 16], subgroup = [2, 2, 1, 0], workgroup = [64, 4, 32, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<64x20x20xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<64x20x20xf32> into memref<64x20x20xf32>
  return
}
