// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-tile-windows))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#amd = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [9, 9, 9]>>

// Lanes lie along rows of the result, of which each has four elements, and take a column of the window at a time.

// CHECK-LABEL: func.func @depthwise
// CHECK-SAME:    bankwise.windows, {{.*}}workgroup_size = [256, 1, 1]
// CHECK:         lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 5, 1], thread = [1, 1, 4, 1, 0, 0], workgroup = [1, 12, 80, 1, 0, 0]}>
func.func @depthwise(%a: tensor<4x240x16x84xf32>, %b: tensor<240x5x5xf32>, %e: tensor<4x240x12x80xf32>) -> tensor<4x240x12x80xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  // expected-remark @+1 {{1 x 12 x 80 x 1 with windows, of which a lane has 4}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, y, x) -> (n, c, h + y, w + x)>, affine_map<(n, h, w, c, y, x) -> (c, y, x)>, affine_map<(n, h, w, c, y, x) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<4x240x16x84xf32>, tensor<240x5x5xf32>) outs(%e : tensor<4x240x12x80xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 5, 5], thread = [1, 1, 1, 1, 0, 0], workgroup = [1, 1, 2, 16, 0, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<4x240x12x80xf32>
  return %r : tensor<4x240x12x80xf32>
}

// On AMD, too, if each unit still has a warp when lanes have neighbours.

// CHECK-LABEL: func.func @on_amd
// CHECK-SAME:    workgroup_size = [64, 1, 1]
// CHECK:         reduction = [0, 0, 0, 0, 5, 1], thread = [1, 1, 5, 1, 0, 0], workgroup = [1, 10, 30, 1, 0, 0]
func.func @on_amd(%a: tensor<1x192x44x34xf32>, %b: tensor<192x5x5xf32>, %e: tensor<1x192x40x30xf32>) -> tensor<1x192x40x30xf32> attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #amd}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  // expected-remark @+1 {{1 x 10 x 30 x 1 with windows, of which a lane has 5}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, y, x) -> (n, c, h + y, w + x)>, affine_map<(n, h, w, c, y, x) -> (c, y, x)>, affine_map<(n, h, w, c, y, x) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<1x192x44x34xf32>, tensor<192x5x5xf32>) outs(%e : tensor<1x192x40x30xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 5, 5], thread = [1, 1, 1, 1, 0, 0], workgroup = [1, 1, 2, 16, 0, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<1x192x40x30xf32>
  return %r : tensor<1x192x40x30xf32>
}

// Of fewer elements a lane has one.

// CHECK-LABEL: func.func @few_on_amd
// CHECK-SAME:    workgroup_size = [64, 1, 1]
// CHECK:         reduction = [0, 0, 0, 0, 5, 5], thread = [1, 1, 1, 1, 0, 0], workgroup = [1, 5, 10, 1, 0, 0]
func.func @few_on_amd(%a: tensor<1x128x14x14xf32>, %b: tensor<128x5x5xf32>, %e: tensor<1x128x10x10xf32>) -> tensor<1x128x10x10xf32> attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #amd}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  // expected-remark @+1 {{1 x 5 x 10 x 1 with windows, of which a lane has 1}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, y, x) -> (n, c, h + y, w + x)>, affine_map<(n, h, w, c, y, x) -> (c, y, x)>, affine_map<(n, h, w, c, y, x) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<1x128x14x14xf32>, tensor<128x5x5xf32>) outs(%e : tensor<1x128x10x10xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 5, 5], thread = [1, 1, 1, 1, 0, 0], workgroup = [1, 1, 2, 16, 0, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<1x128x10x10xf32>
  return %r : tensor<1x128x10x10xf32>
}

// Neighbours of the result have no neighbours of the image: a lane has one element, and reads its whole window.

// CHECK-LABEL: func.func @strided
// CHECK-SAME:    workgroup_size = [64, 1, 1]
// CHECK:         reduction = [0, 0, 0, 0, 3, 3], thread = [1, 1, 1, 1, 0, 0], workgroup = [1, 1, 10, 6, 0, 0]
func.func @strided(%a: tensor<1x6x15x21xf32>, %b: tensor<6x3x3xf32>, %e: tensor<1x6x7x10xf32>) -> tensor<1x6x7x10xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  // expected-remark @+1 {{1 x 1 x 10 x 6 with windows, of which a lane has 1}}
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, y, x) -> (n, c, h * 2 + y, w * 2 + x)>, affine_map<(n, h, w, c, y, x) -> (c, y, x)>, affine_map<(n, h, w, c, y, x) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a, %b : tensor<1x6x15x21xf32>, tensor<6x3x3xf32>) outs(%e : tensor<1x6x7x10xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 3, 3], thread = [1, 1, 1, 1, 0, 0], workgroup = [1, 1, 2, 16, 0, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<1x6x7x10xf32>
  return %r : tensor<1x6x7x10xf32>
}

// Sums over channels are a matmul's.

// CHECK-LABEL: func.func @convolution
// CHECK:         workgroup = [8, 2, 2, 0, 0, 0]
func.func @convolution(%a: tensor<6x9x9xf32>, %b: tensor<8x6x3x3xf32>, %e: tensor<8x7x7xf32>) -> tensor<8x7x7xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %r = linalg.generic {indexing_maps = [affine_map<(f, h, w, c, y, x) -> (c, h + y, w + x)>, affine_map<(f, h, w, c, y, x) -> (f, c, y, x)>, affine_map<(f, h, w, c, y, x) -> (f, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<6x9x9xf32>, tensor<8x6x3x3xf32>) outs(%e : tensor<8x7x7xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 1, 3, 3], thread = [1, 1, 1, 0, 0, 0], workgroup = [8, 2, 2, 0, 0, 0]}>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %s = arith.addf %z, %0 : f32
    linalg.yield %s : f32
  } -> tensor<8x7x7xf32>
  return %r : tensor<8x7x7xf32>
}
