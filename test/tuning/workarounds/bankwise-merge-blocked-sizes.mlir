// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-merge-blocked-sizes))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// The rows of A and of what is computed from the product are one dimension again.

// CHECK-LABEL: func.func @rows
// CHECK-SAME:    %[[ROWS:[a-z0-9]+]]: index
// CHECK-NOT:     memref.expand_shape
// CHECK:         %[[X:.+]] = iree_codegen.load_from_buffer %{{.+}} : memref<?x128xf16> -> tensor<?x128xf16>
// CHECK:         tensor.empty(%[[ROWS]]) : tensor<?x64xf32>
// CHECK:         linalg.fill {{.*}} -> tensor<?x64xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[X]], %{{.+}} : tensor<?x128xf16>, tensor<128x64xf16>)
// CHECK:         tensor.empty(%[[ROWS]]) : tensor<?x64xf16>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
// CHECK:         iree_codegen.store_to_buffer %{{.+}}, %{{.+}} : tensor<?x64xf16> into memref<?x64xf16>
func.func @rows(%rows: index) attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<?x128xf16>{%rows}
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<128x64xf16>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x64xf16>{%rows}
  %half = affine.apply affine_map<()[s0] -> (s0 floordiv 2)>()[%rows]
  %av = memref.expand_shape %a [[0, 1], [2]] output_shape [%half, 2, 128] : memref<?x128xf16> into memref<?x2x128xf16>
  %cv = memref.expand_shape %c [[0, 1], [2]] output_shape [%half, 2, 64] : memref<?x64xf16> into memref<?x2x64xf16>
  %x = iree_codegen.load_from_buffer %av : memref<?x2x128xf16> -> tensor<?x2x128xf16>
  %y = iree_codegen.load_from_buffer %b : memref<128x64xf16> -> tensor<128x64xf16>
  %bias = arith.constant dense<1.0> : tensor<64xf16>
  %e = tensor.empty(%half) : tensor<?x2x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2x64xf32>) -> tensor<?x2x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x2x128xf16>, tensor<128x64xf16>) outs(%f : tensor<?x2x64xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 8], thread = [1, 1, 4, 0], workgroup = [1, 2, 64, 0]}>} {
  ^bb0(%p: f16, %q: f16, %t: f32):
    %pw = arith.extf %p : f16 to f32
    %qw = arith.extf %q : f16 to f32
    %pq = arith.mulf %pw, %qw : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x2x64xf32>
  %g = tensor.empty(%half) : tensor<?x2x64xf16>
  %u = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (n)>, affine_map<(b, m, n) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %bias : tensor<?x2x64xf32>, tensor<64xf16>) outs(%g : tensor<?x2x64xf16>) {
  ^bb0(%p: f32, %q: f16, %o: f16):
    %w = arith.truncf %p : f32 to f16
    %s = arith.addf %w, %q : f16
    linalg.yield %s : f16
  } -> tensor<?x2x64xf16>
  iree_codegen.store_to_buffer %u, %cv : tensor<?x2x64xf16> into memref<?x2x64xf16>
  return
}

// A tensor that has but one of the two parts keeps them apart, and so does one that another
// instruction than a matrix instruction multiplies.

// CHECK-LABEL: func.func @one_part
// CHECK:         memref.expand_shape
// expected-remark @+1 {{a dynamic size stays parted: tensor<2xf32> has but one of the parts}}
func.func @one_part(%rows: index, %bias: tensor<2xf32>) attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<?x128xf16>{%rows}
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<128x64xf16>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x64xf32>{%rows}
  %half = affine.apply affine_map<()[s0] -> (s0 floordiv 2)>()[%rows]
  %av = memref.expand_shape %a [[0, 1], [2]] output_shape [%half, 2, 128] : memref<?x128xf16> into memref<?x2x128xf16>
  %cv = memref.expand_shape %c [[0, 1], [2]] output_shape [%half, 2, 64] : memref<?x64xf32> into memref<?x2x64xf32>
  %x = iree_codegen.load_from_buffer %av : memref<?x2x128xf16> -> tensor<?x2x128xf16>
  %y = iree_codegen.load_from_buffer %b : memref<128x64xf16> -> tensor<128x64xf16>
  %e = tensor.empty(%half) : tensor<?x2x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2x64xf32>) -> tensor<?x2x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x2x128xf16>, tensor<128x64xf16>) outs(%f : tensor<?x2x64xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 8], thread = [1, 1, 4, 0], workgroup = [1, 2, 64, 0]}>} {
  ^bb0(%p: f16, %q: f16, %t: f32):
    %pw = arith.extf %p : f16 to f32
    %qw = arith.extf %q : f16 to f32
    %pq = arith.mulf %pw, %qw : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x2x64xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (m)>, affine_map<(b, m, n) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %bias : tensor<?x2x64xf32>, tensor<2xf32>) outs(%e : tensor<?x2x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<?x2x64xf32>
  iree_codegen.store_to_buffer %u, %cv : tensor<?x2x64xf32> into memref<?x2x64xf32>
  return
}

// CHECK-LABEL: func.func @f32
// CHECK:         memref.expand_shape
// expected-remark @+1 {{a dynamic size stays parted: there is no matrix instruction for f32, f32, f32}}
func.func @f32(%rows: index) attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<?x128xf32>{%rows}
  %b = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<128x64xf32>
  %c = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x64xf32>{%rows}
  %half = affine.apply affine_map<()[s0] -> (s0 floordiv 2)>()[%rows]
  %av = memref.expand_shape %a [[0, 1], [2]] output_shape [%half, 2, 128] : memref<?x128xf32> into memref<?x2x128xf32>
  %cv = memref.expand_shape %c [[0, 1], [2]] output_shape [%half, 2, 64] : memref<?x64xf32> into memref<?x2x64xf32>
  %x = iree_codegen.load_from_buffer %av : memref<?x2x128xf32> -> tensor<?x2x128xf32>
  %y = iree_codegen.load_from_buffer %b : memref<128x64xf32> -> tensor<128x64xf32>
  %e = tensor.empty(%half) : tensor<?x2x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2x64xf32>) -> tensor<?x2x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x2x128xf32>, tensor<128x64xf32>) outs(%f : tensor<?x2x64xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 8], thread = [1, 1, 4, 0], workgroup = [1, 2, 64, 0]}>} {
  ^bb0(%p: f32, %q: f32, %t: f32):
    %pq = arith.mulf %p, %q : f32
    %s = arith.addf %t, %pq : f32
    linalg.yield %s : f32
  } -> tensor<?x2x64xf32>
  iree_codegen.store_to_buffer %r, %cv : tensor<?x2x64xf32> into memref<?x2x64xf32>
  return
}
