// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-implicit-gemm))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// 4 x 13 x 13 places of windows are rows, 3 x 3 x 16 elements of a window are summed in the order of
// the filter. Rows of two digits, places in an image of 27 rows, are no neighbours; columns are, 48 of
// them. The result lies in memory as the matmul has it.

// CHECK-LABEL: func.func @channels_last
// CHECK-SAME:    bankwise.enlarged_bindings = ["0 : index memref<676x144xf16>", "1 : index memref<144x32xf16>", "2 : index memref<676x32xf32>"]
// CHECK-SAME:    workgroup_size = [128, 1, 1]
// CHECK:         binding(0) {{.*}} {bankwise.shape = array<i64: 676, 144>, bankwise.strided = {dims = [array<i64: 4, 11664, 13, 864, 13, 32>, array<i64: 3, 432, 48, 1>], elements = 46656 : i64, offset = 0 : i64}} : memref<676x144xf16>
// CHECK:         binding(1) {{.*}} {bankwise.shape = array<i64: 144, 32>, bankwise.strided = {dims = [array<i64: 144, 32>, array<i64: 32, 1>]
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:      padding = [64, 64, 64]
// CHECK-NOT:       padding_conv
// CHECK-SAME:      reduction = [0, 0, 4], subgroup = [2, 4, 0], workgroup = [64, 64, 0]
// CHECK:         iree_codegen.store_to_buffer {{.*}} : tensor<676x32xf32> into memref<676x32xf32>
func.func @channels_last() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<4x27x27x16xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<3x3x16x32xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<4x13x13x32xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<4x27x27x16xf16> -> tensor<4x27x27x16xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<3x3x16x32xf16> -> tensor<3x3x16x32xf16>
  %e = tensor.empty() : tensor<4x13x13x32xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<4x13x13x32xf32>) -> tensor<4x13x13x32xf32>
  // expected-remark @+1 {{computed as a matmul of 676 x 32 x 144}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, f, y, x, c) -> (n, h * 2 + y, w * 2 + x, c)>, affine_map<(n, h, w, f, y, x, c) -> (y, x, c, f)>, affine_map<(n, h, w, f, y, x, c) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<4x27x27x16xf16>, tensor<3x3x16x32xf16>) outs(%c : tensor<4x13x13x32xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], padding = [1, 2, 16, 32, 32], padding_conv = [1, 2, 16, 32, 0, 0, 0], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 2, 16, 32, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x13x13x32xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<4x13x13x32xf32> into memref<4x13x13x32xf32>
  return
}

// Where a binding begins may be known at run time only. What is read of it begins 2 rows of 8 behind that.

// CHECK-LABEL: func.func @somewhere_in_a_buffer
// CHECK:         binding(0) {{.*}} {bankwise.shape = array<i64: 32, 16>, bankwise.strided = {dims = [array<i64: 2, 1152, 4, 256, 4, 32>, array<i64: 16, 1>], elements = 2304 : i64, offset = 256 : i64}} : memref<32x16xf16, strided<[16, 1], offset: ?>>
// CHECK-NOT:     memref.subview
// CHECK:         iree_codegen.load_from_buffer {{.*}} : memref<32x16xf16, strided<[16, 1], offset: ?>> -> tensor<32x16xf16>
func.func @somewhere_in_a_buffer() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c64) : memref<2x9x8x16xf16, strided<[1152, 128, 16, 1], offset: ?>>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<16x32xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<2x4x4x32xf32>
  %va = memref.subview %ba[0, 2, 0, 0] [2, 4, 4, 16] [1, 2, 2, 1] : memref<2x9x8x16xf16, strided<[1152, 128, 16, 1], offset: ?>> to memref<2x4x4x16xf16, strided<[1152, 256, 32, 1], offset: ?>>
  %a = iree_codegen.load_from_buffer %va : memref<2x4x4x16xf16, strided<[1152, 256, 32, 1], offset: ?>> -> tensor<2x4x4x16xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<16x32xf16> -> tensor<16x32xf16>
  %e = tensor.empty() : tensor<2x4x4x32xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x4x32xf32>) -> tensor<2x4x4x32xf32>
  // expected-remark @+1 {{computed as a matmul of 32 x 32 x 16}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, f, c) -> (n, h, w, c)>, affine_map<(n, h, w, f, c) -> (c, f)>, affine_map<(n, h, w, f, c) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2x4x4x16xf16>, tensor<16x32xf16>) outs(%c : tensor<2x4x4x32xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [1, 4, 16, 32, 16], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 4, 16, 32, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x4x4x32xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<2x4x4x32xf32> into memref<2x4x4x32xf32>
  return
}

// The filter comes first where the last dimension of the result is one of the image. What is summed
// of the image are 4 neighbours each.

// CHECK-LABEL: func.func @channels_first
// CHECK:         binding(0) {{.*}} {bankwise.shape = array<i64: 32, 48>, bankwise.strided = {dims = [array<i64: 2, 768, 4, 64, 4, 4>, array<i64: 3, 256, 4, 16, 4, 1>]
// CHECK:         binding(2) {{.*}} {bankwise.shape = array<i64: 24, 32>, bankwise.strided = {dims = [array<i64: 24, 16>, array<i64: 2, 384, 16, 1>]
// CHECK:         %[[IMAGE:.+]] = iree_codegen.load_from_buffer {{.*}} -> tensor<32x48xf16>
// CHECK:         %[[FILTER:.+]] = iree_codegen.load_from_buffer {{.*}} -> tensor<24x48xf16>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[FILTER]], %[[IMAGE]] :
func.func @channels_first() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<2x3x16x16xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<24x3x4x4xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<2x24x4x4xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<2x3x16x16xf16> -> tensor<2x3x16x16xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<24x3x4x4xf16> -> tensor<24x3x4x4xf16>
  %e = tensor.empty() : tensor<2x24x4x4xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<2x24x4x4xf32>) -> tensor<2x24x4x4xf32>
  // expected-remark @+1 {{computed as a matmul of 24 x 32 x 48}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, f, h, w, c, y, x) -> (n, c, h * 4 + y, w * 4 + x)>, affine_map<(n, f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(n, f, h, w, c, y, x) -> (n, f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<2x3x16x16xf16>, tensor<24x3x4x4xf16>) outs(%c : tensor<2x24x4x4xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], padding = [1, 32, 1, 16, 32], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 32, 1, 16, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x24x4x4xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<2x24x4x4xf32> into memref<2x24x4x4xf32>
  return
}

// The epilogue transposes, and filters are the last dimension of what is stored: the image comes
// first. What is read for all images alike goes on by nothing with the image.

// CHECK-LABEL: func.func @epilogue
// CHECK:         binding(3) {{.*}} {bankwise.shape = array<i64: 32>, bankwise.strided = {dims = [array<i64: 2, 0, 16, 1>]
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<32x24xf32>, tensor<32xf32>) outs(%{{.*}} : tensor<32x24xf16>)
func.func @epilogue() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<2x3x16x16xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<24x3x4x4xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<2x4x4x24xf16>
  %a = iree_codegen.load_from_buffer %ba : memref<2x3x16x16xf16> -> tensor<2x3x16x16xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<24x3x4x4xf16> -> tensor<24x3x4x4xf16>
  %e = tensor.empty() : tensor<2x24x4x4xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<2x24x4x4xf32>) -> tensor<2x24x4x4xf32>
  // expected-remark @+1 {{computed as a matmul of 32 x 24 x 48}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, f, h, w, c, y, x) -> (n, c, h * 4 + y, w * 4 + x)>, affine_map<(n, f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(n, f, h, w, c, y, x) -> (n, f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<2x3x16x16xf16>, tensor<24x3x4x4xf16>) outs(%c : tensor<2x24x4x4xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], padding = [1, 32, 1, 16, 32], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 32, 1, 16, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x24x4x4xf32>
  %bd = hal.interface.binding.subspan layout(#layout) binding(3) offset(%c0) : memref<4x4xf32>
  %d = iree_codegen.load_from_buffer %bd : memref<4x4xf32> -> tensor<4x4xf32>
  %o = tensor.empty() : tensor<2x4x4x24xf16>
  %s = linalg.generic {indexing_maps = [affine_map<(n, h, w, f) -> (n, f, h, w)>, affine_map<(n, h, w, f) -> (h, w)>, affine_map<(n, h, w, f) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%r, %d : tensor<2x24x4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<2x4x4x24xf16>) {
  ^bb0(%x: f32, %y: f32, %z: f16):
    %0 = arith.addf %x, %y : f32
    %1 = arith.truncf %0 : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<2x4x4x24xf16>
  iree_codegen.store_to_buffer %s, %bc : tensor<2x4x4x24xf16> into memref<2x4x4x24xf16>
  return
}

// Rows of a matmul may be two loops over every other row of a buffer.

// CHECK-LABEL: func.func @rows_of_two_loops
// CHECK:         binding(0) {{.*}} {bankwise.shape = array<i64: 40, 32>, bankwise.strided = {dims = [array<i64: 4, 672, 10, 64>, array<i64: 32, 1>], elements = 2688 : i64, offset = 32 : i64}}
// CHECK-NOT:     memref.subview
func.func @rows_of_two_loops() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %bi = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<4x21x32xf16>
  %ba = memref.subview %bi[0, 1, 0] [4, 10, 32] [1, 2, 1] : memref<4x21x32xf16> to memref<4x10x32xf16, strided<[672, 64, 1], offset: 32>>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<48x32xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<4x10x48xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<4x10x32xf16, strided<[672, 64, 1], offset: 32>> -> tensor<4x10x32xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<48x32xf16> -> tensor<48x32xf16>
  %e = tensor.empty() : tensor<4x10x48xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<4x10x48xf32>) -> tensor<4x10x48xf32>
  // expected-remark @+1 {{computed as a matmul of 40 x 48 x 32}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, m, f, k) -> (n, m, k)>, affine_map<(n, m, f, k) -> (f, k)>, affine_map<(n, m, f, k) -> (n, m, f)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x10x32xf16>, tensor<48x32xf16>) outs(%c : tensor<4x10x48xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], padding = [1, 16, 32, 32], reduction = [0, 0, 0, 2], subgroup = [1, 1, 1, 0], workgroup = [1, 16, 32, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x10x48xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<4x10x48xf32> into memref<4x10x48xf32>
  return
}

// A matmul is left alone, and nothing is said.

// CHECK-LABEL: func.func @plain
// CHECK-NOT:     bankwise.
func.func @plain() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<40x32xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<48x32xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<40x48xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<40x32xf16> -> tensor<40x32xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<48x32xf16> -> tensor<48x32xf16>
  %e = tensor.empty() : tensor<40x48xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<40x48xf32>) -> tensor<40x48xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, f, k) -> (m, k)>, affine_map<(m, f, k) -> (f, k)>, affine_map<(m, f, k) -> (m, f)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<40x32xf16>, tensor<48x32xf16>) outs(%c : tensor<40x48xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], padding = [16, 32, 32], reduction = [0, 0, 2], subgroup = [1, 1, 0], workgroup = [16, 32, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<40x48xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<40x48xf32> into memref<40x48xf32>
  return
}

// 17 channels become 32, each for itself, so that other elements share an instruction.

// CHECK-LABEL: func.func @padded_channels
// CHECK-NOT:     bankwise.
// expected-remark @+1 {{the loops of the contraction stay: a loop over its summed elements is padded}}
func.func @padded_channels() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<1x9x9x17xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<3x3x17x32xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<1x4x4x32xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<1x9x9x17xf16> -> tensor<1x9x9x17xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<3x3x17x32xf16> -> tensor<3x3x17x32xf16>
  %e = tensor.empty() : tensor<1x4x4x32xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, f, y, x, c) -> (n, h * 2 + y, w * 2 + x, c)>, affine_map<(n, h, w, f, y, x, c) -> (y, x, c, f)>, affine_map<(n, h, w, f, y, x, c) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<1x9x9x17xf16>, tensor<3x3x17x32xf16>) outs(%c : tensor<1x4x4x32xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], padding = [1, 2, 16, 32, 32], padding_conv = [1, 2, 16, 32, 0, 0, 32], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 2, 16, 32, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<1x4x4x32xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<1x4x4x32xf32> into memref<1x4x4x32xf32>
  return
}

// 24 elements of the inner loop are one and a half instructions.

// CHECK-LABEL: func.func @two_sums
// CHECK-NOT:     bankwise.
// expected-remark @+1 {{the loops of the contraction stay: its summed elements are no single loop}}
func.func @two_sums() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<40x3x24xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<48x3x24xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<40x48xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<40x3x24xf16> -> tensor<40x3x24xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<48x3x24xf16> -> tensor<48x3x24xf16>
  %e = tensor.empty() : tensor<40x48xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<40x48xf32>) -> tensor<40x48xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, f, j, k) -> (m, j, k)>, affine_map<(m, f, j, k) -> (f, j, k)>, affine_map<(m, f, j, k) -> (m, f)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<40x3x24xf16>, tensor<48x3x24xf16>) outs(%c : tensor<40x48xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 1, 2], subgroup = [1, 1, 0, 0], workgroup = [16, 32, 0, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<40x48xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<40x48xf32> into memref<40x48xf32>
  return
}

// The window is as high as the image: IREE makes one loop of x and c, and another one of y.

// CHECK-LABEL: func.func @two_sums_of_a_window
// CHECK-NOT:     bankwise.
// expected-remark @+1 {{the loops of the contraction stay: its summed elements are several loops to IREE, too}}
func.func @two_sums_of_a_window() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<2x4x9x16xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<4x2x16x32xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<2x8x32xf32>
  %a = iree_codegen.load_from_buffer %ba : memref<2x4x9x16xf16> -> tensor<2x4x9x16xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<4x2x16x32xf16> -> tensor<4x2x16x32xf16>
  %e = tensor.empty() : tensor<2x8x32xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, w, f, y, x, c) -> (n, y, w + x, c)>, affine_map<(n, w, f, y, x, c) -> (y, x, c, f)>, affine_map<(n, w, f, y, x, c) -> (n, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<2x4x9x16xf16>, tensor<4x2x16x32xf16>) outs(%c : tensor<2x8x32xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], padding = [2, 16, 32, 3, 16], padding_conv = [2, 16, 32, 0, 0, 0], reduction = [0, 0, 0, 3, 1], subgroup = [1, 1, 1, 0, 0], workgroup = [2, 16, 32, 0, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x8x32xf32>
  iree_codegen.store_to_buffer %r, %bc : tensor<2x8x32xf32> into memref<2x8x32xf32>
  return
}

// The number of an image is another loop's afterwards.

// CHECK-LABEL: func.func @place
// CHECK-NOT:     bankwise.
// expected-remark @+1 {{the loops of the contraction stay: what is computed of its result depends on the place}}
func.func @place() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ba = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<2x3x16x16xf16>
  %bb = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<24x3x4x4xf16>
  %bc = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<2x4x4x24xf16>
  %a = iree_codegen.load_from_buffer %ba : memref<2x3x16x16xf16> -> tensor<2x3x16x16xf16>
  %b = iree_codegen.load_from_buffer %bb : memref<24x3x4x4xf16> -> tensor<24x3x4x4xf16>
  %e = tensor.empty() : tensor<2x24x4x4xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<2x24x4x4xf32>) -> tensor<2x24x4x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, f, h, w, c, y, x) -> (n, c, h * 4 + y, w * 4 + x)>, affine_map<(n, f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(n, f, h, w, c, y, x) -> (n, f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<2x3x16x16xf16>, tensor<24x3x4x4xf16>) outs(%c : tensor<2x24x4x4xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], padding = [1, 32, 1, 16, 32], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 32, 1, 16, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %0 = arith.extf %x : f16 to f32
    %1 = arith.extf %y : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x24x4x4xf32>
  %bd = hal.interface.binding.subspan layout(#layout) binding(3) offset(%c0) : memref<4x4xf32>
  %d = iree_codegen.load_from_buffer %bd : memref<4x4xf32> -> tensor<4x4xf32>
  %o = tensor.empty() : tensor<2x4x4x24xf16>
  %s = linalg.generic {indexing_maps = [affine_map<(n, h, w, f) -> (n, f, h, w)>, affine_map<(n, h, w, f) -> (h, w)>, affine_map<(n, h, w, f) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%r, %d : tensor<2x24x4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<2x4x4x24xf16>) {
  ^bb0(%x: f32, %y: f32, %z: f16):
    %0 = linalg.index 0 : index
    %2 = arith.index_cast %0 : index to i32
    %3 = arith.sitofp %2 : i32 to f32
    %1 = arith.truncf %3 : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<2x4x4x24xf16>
  iree_codegen.store_to_buffer %s, %bc : tensor<2x4x4x24xf16> into memref<2x4x4x24xf16>
  return
}
