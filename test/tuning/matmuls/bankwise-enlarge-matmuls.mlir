// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-enlarge-matmuls))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-enlarge-matmuls{other-tiles=false}))' --mlir-print-local-scope | FileCheck %s --check-prefix=OWN

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// Of the tiles that need not divide the sizes, the one that takes the least time; all threads share
// its copies evenly. The summed elements become multiples of a step.

// CHECK-LABEL: func.func @sizes_of_no_tile
// CHECK-SAME:    bankwise.enlarged_bindings = ["0 : index memref<3072x3008xf16>", "1 : index memref<3008x3072xf16>", "2 : index memref<3072x3072xf32>"]
// CHECK-SAME:    workgroup_size = [256, 1, 1]
// CHECK:         {bankwise.shape = array<i64: 3000, 3000>} : memref<3072x3008xf16>
// CHECK-NOT:     padding
// CHECK:         reduction = [0, 0, 4], subgroup = [6, 6, 0], workgroup = [192, 192, 0]
// CHECK:         iree_codegen.store_to_buffer {{.*}} into memref<3072x3072xf32>

// OWN-LABEL: func.func @sizes_of_no_tile
// OWN-SAME:    memref<3008x3008xf16>
// OWN-NOT:     padding
// OWN:         reduction = [0, 0, 1], subgroup = [2, 4, 0], workgroup = [64, 64, 0]
func.func @sizes_of_no_tile() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f16
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<3000x3000xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<3000x3000xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<3000x3000xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<3000x3000xf16> -> tensor<3000x3000xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<3000x3000xf16> -> tensor<3000x3000xf16>
  %e = tensor.empty() : tensor<3000x3000xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<3000x3000xf32>) -> tensor<3000x3000xf32>
  // expected-remark @+1 {{tile of a workgroup: 192 x 192, 64 a step, 2 x 4 warps, of 3072x3072x3008 with zeros behind the end}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<3000x3000xf16>, tensor<3000x3000xf16>) outs(%c : tensor<3000x3000xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 16], promote_operands = [0, 1], reduction = [0, 0, 1], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<3000x3000xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<3000x3000xf32> into memref<3000x3000xf32>
  return
}

// What is read beyond the end of %a would become 1 in the place of 0.

// CHECK-LABEL: func.func @no_zeros
// CHECK-NOT:     bankwise.
// CHECK:         padding
// expected-remark @+1 {{tiles of the matmul are padded by IREE: what is computed of zeros need not be zero}}
func.func @no_zeros() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f16
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<100x100xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<100x100xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<100x100xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<100x100xf16> -> tensor<100x100xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<100x100xf16> -> tensor<100x100xf16>
  %ea = tensor.empty() : tensor<100x100xf16>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<100x100xf16>) outs(%ea : tensor<100x100xf16>) {
  ^bb0(%x: f16, %y: f16):
    %0 = arith.addf %x, %one : f16
    linalg.yield %0 : f16
  } -> tensor<100x100xf16>
  %e = tensor.empty() : tensor<100x100xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<100x100xf32>) -> tensor<100x100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d, %b : tensor<100x100xf16>, tensor<100x100xf16>) outs(%c : tensor<100x100xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 16], promote_operands = [0, 1], reduction = [0, 0, 1], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<100x100xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<100x100xf32> into memref<100x100xf32>
  return
}

// Where IREE pads nothing, nothing is done, and nothing is said.

// CHECK-LABEL: func.func @whole
// CHECK-NOT:     bankwise.
func.func @whole() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f16
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<128x128xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<128x128xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<128x128xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<128x128xf16> -> tensor<128x128xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<128x128xf16> -> tensor<128x128xf16>
  %e = tensor.empty() : tensor<128x128xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<128x128xf16>, tensor<128x128xf16>) outs(%c : tensor<128x128xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 1], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<128x128xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<128x128xf32> into memref<128x128xf32>
  return
}

// What the epilogue reads gets larger with the result.

// CHECK-LABEL: func.func @residual
// CHECK:         binding(3) {{.*}} {bankwise.shape = array<i64: 100, 100>} : memref<128x128xf32>
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<128x128xf32>, tensor<128x128xf32>)
func.func @residual() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f16
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<100x100xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<100x100xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<100x100xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<100x100xf16> -> tensor<100x100xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<100x100xf16> -> tensor<100x100xf16>
  %e = tensor.empty() : tensor<100x100xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<100x100xf32>) -> tensor<100x100xf32>
  // expected-remark @+1 {{tile of a workgroup: 32 x 32, 64 a step, 2 x 4 warps, of 128x128x128 with zeros behind the end}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<100x100xf16>, tensor<100x100xf16>) outs(%c : tensor<100x100xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 16], promote_operands = [0, 1], reduction = [0, 0, 1], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<100x100xf32>
  %bd = hal.interface.binding.subspan layout(#layout) binding(3) offset(%c0) : memref<100x100xf32>
  %d = iree_codegen.load_from_buffer %bd : memref<100x100xf32> -> tensor<100x100xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%r, %d : tensor<100x100xf32>, tensor<100x100xf32>) outs(%e : tensor<100x100xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<100x100xf32>
  iree_codegen.store_to_buffer %s, %bc : tensor<100x100xf32> into memref<100x100xf32>
  return
}
