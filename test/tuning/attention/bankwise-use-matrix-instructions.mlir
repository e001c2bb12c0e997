// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-use-matrix-instructions))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>

// Rows of 96 elements: 128 rows and 64 keys at once, by 4 warps.

// CHECK-LABEL: func.func @head_96
// CHECK-SAME:    workgroup_size = [128, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}
// CHECK:       pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = {{\[}}[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}
// CHECK-SAME:  qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = {{\[}}[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}
// CHECK-SAME:  {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 64, 0], workgroup = [1, 128, 0, 0, 96]}>}
// expected-remark @+2 {{tile of a workgroup: 128 rows x 96 columns, 64 keys a step, 4 warps, by matrix instructions in the place of scalar ones}}
func.func @head_96(%q: tensor<24x2048x96xf16>, %k: tensor<24x2048x96xf16>, %v: tensor<24x2048x96xf16>, %s: f16, %o: tensor<24x2048x96xf32>, %m: tensor<24x2048xf32>) -> tensor<24x2048x96xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0], workgroup = [1, 1, 0, 0, 32]}>} ins(%q, %k, %v, %s : tensor<24x2048x96xf16>, tensor<24x2048x96xf16>, tensor<24x2048x96xf16>, f16) outs(%o, %m, %m : tensor<24x2048x96xf32>, tensor<24x2048xf32>, tensor<24x2048xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<24x2048x96xf32>, tensor<24x2048xf32>, tensor<24x2048xf32>
  return %r#0 : tensor<24x2048x96xf32>
}

// Neither the rows nor the head nor the keys are those of whole tiles: tensors and buffers get larger
// sizes, and bindings remember the true ones.

// CHECK-LABEL: func.func @sizes_of_no_tile
// CHECK-SAME:    bankwise.enlarged_bindings = ["0 : index memref<16x96x80xf16>", "1 : index memref<16x96x80xf16>", "2 : index memref<16x96x72xf16>", "3 : index memref<16x96x72xf16>"]
// CHECK-SAME:    bankwise.keys = array<i64: 70, 96>
// CHECK:         hal.interface.binding.subspan {{.*}} binding(0) {{.*}} {bankwise.shape = array<i64: 16, 77, 72>} : memref<16x96x80xf16>
// CHECK:         iree_codegen.load_from_buffer {{.*}} -> tensor<16x96x80xf16>
// CHECK:         workgroup = [1, 32, 0, 0, 72]
// CHECK:         linalg.generic {{.*}} outs(%{{.+}} : tensor<16x96x72xf16>)
// CHECK:         iree_codegen.store_to_buffer {{.*}} into memref<16x96x72xf16>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
func.func @sizes_of_no_tile() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %scale = arith.constant 0.1 : f16
  %zero = arith.constant 0.0 : f32
  %bq = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<16x77x72xf16>
  %bk = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<16x70x72xf16>
  %bv = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<16x70x72xf16>
  %bo = hal.interface.binding.subspan layout(#layout) binding(3) offset(%c0) : memref<16x77x72xf16>
  %q = iree_codegen.load_from_buffer %bq : memref<16x77x72xf16> -> tensor<16x77x72xf16>
  %k = iree_codegen.load_from_buffer %bk : memref<16x70x72xf16> -> tensor<16x70x72xf16>
  %v = iree_codegen.load_from_buffer %bv : memref<16x70x72xf16> -> tensor<16x70x72xf16>
  %eo = tensor.empty() : tensor<16x77x72xf32>
  %em = tensor.empty() : tensor<16x77xf32>
  %o = linalg.fill ins(%zero : f32) outs(%eo : tensor<16x77x72xf32>) -> tensor<16x77x72xf32>
  %m = linalg.fill ins(%zero : f32) outs(%em : tensor<16x77xf32>) -> tensor<16x77xf32>
  // expected-remark @+1 {{tile of a workgroup: 32 rows x 72 columns, 48 keys a step, 2 warps, by matrix instructions in the place of scalar ones}}
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0], workgroup = [1, 1, 0, 0, 32]}>} ins(%q, %k, %v, %scale : tensor<16x77x72xf16>, tensor<16x70x72xf16>, tensor<16x70x72xf16>, f16) outs(%o, %m, %m : tensor<16x77x72xf32>, tensor<16x77xf32>, tensor<16x77xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x77x72xf32>, tensor<16x77xf32>, tensor<16x77xf32>
  %e = tensor.empty() : tensor<16x77x72xf16>
  %n = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r#2, %r#0 : tensor<16x77xf32>, tensor<16x77x72xf32>) outs(%e : tensor<16x77x72xf16>) {
  ^bb0(%sum: f32, %x: f32, %out: f16):
    %y = arith.divf %x, %sum : f32
    %z = arith.truncf %y : f32 to f16
    linalg.yield %z : f16
  } -> tensor<16x77x72xf16>
  iree_codegen.store_to_buffer %n, %bo : tensor<16x77x72xf16> into memref<16x77x72xf16>
  return
}

// The caller's tensors cannot be larger.

// CHECK-LABEL: func.func @rows_77
// CHECK:         partial_reduction = [0, 0, 0, 128, 0]
// expected-remark @+1 {{the attention keeps IREE's instructions: func.return uses what would be enlarged}}
func.func @rows_77(%q: tensor<16x77x64xf16>, %k: tensor<16x77x64xf16>, %v: tensor<16x77x64xf16>, %s: f16, %o: tensor<16x77x64xf32>, %m: tensor<16x77xf32>) -> tensor<16x77x64xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0], workgroup = [1, 1, 0, 0, 32]}>} ins(%q, %k, %v, %s : tensor<16x77x64xf16>, tensor<16x77x64xf16>, tensor<16x77x64xf16>, f16) outs(%o, %m, %m : tensor<16x77x64xf32>, tensor<16x77xf32>, tensor<16x77xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x77x64xf32>, tensor<16x77xf32>, tensor<16x77xf32>
  return %r#0 : tensor<16x77x64xf32>
}

// Four heads of Q share one of K and V: a workgroup has the 16 rows of two of them.

// CHECK-LABEL: func.func @grouped
// CHECK:       subgroup_basis = {{\[}}[1, 2, 1, 1, 1, 1], [0, 1, 2, 4, 5]]
// CHECK:       subgroup_basis = {{\[}}[1, 2, 1, 1, 1, 1], [0, 1, 2, 3, 4]]
// CHECK-SAME:  reduction = [0, 0, 0, 0, 32, 0], workgroup = [1, 2, 16, 0, 0, 96]
// expected-remark @+2 {{tile of a workgroup: 32 rows x 96 columns, 32 keys a step, 2 warps, by matrix instructions in the place of scalar ones}}
func.func @grouped(%q: tensor<16x2x4x96xf16>, %k: tensor<64x2x96xf16>, %v: tensor<64x2x96xf16>, %s: f16, %o: tensor<2x4x16x96xf32>, %m: tensor<2x4x16xf32>) -> tensor<2x4x16x96xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> ()>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>]> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 0, 128, 0], workgroup = [1, 1, 1, 0, 0, 32]}>} ins(%q, %k, %v, %s : tensor<16x2x4x96xf16>, tensor<64x2x96xf16>, tensor<64x2x96xf16>, f16) outs(%o, %m, %m : tensor<2x4x16x96xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x4x16x96xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>
  return %r#0 : tensor<2x4x16x96xf32>
}

// By matrix instructions, eight workgroups would go over all keys of two rows, and 64 by scalar ones.

// CHECK-LABEL: func.func @two_rows
// CHECK:         partial_reduction = [0, 0, 0, 128, 0]
// expected-remark @+1 {{the attention keeps IREE's instructions: 32 rows x 128 columns, 128 keys a step, 2 warps is predicted to take 142.0 us, and they 99.2 us}}
func.func @two_rows(%q: tensor<8x2x128xf16>, %k: tensor<8x8192x128xf16>, %v: tensor<8x8192x128xf16>, %s: f16, %o: tensor<8x2x128xf32>, %m: tensor<8x2xf32>) -> tensor<8x2x128xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 2, 16], [1, 0, 4, 3]], subgroup_basis = [[1, 1, 1, 1, 8], [0, 1, 4, 3]], thread = [0, 0, 0, 8]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 2, 16], [1, 0, 3, 4]], subgroup_basis = [[1, 1, 1, 1, 8], [0, 1, 2, 4]], thread = [0, 0, 8, 0]}>}}> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 128, 0], workgroup = [1, 1, 0, 0, 32]}>} ins(%q, %k, %v, %s : tensor<8x2x128xf16>, tensor<8x8192x128xf16>, tensor<8x8192x128xf16>, f16) outs(%o, %m, %m : tensor<8x2x128xf32>, tensor<8x2xf32>, tensor<8x2xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<8x2x128xf32>, tensor<8x2xf32>, tensor<8x2xf32>
  return %r#0 : tensor<8x2x128xf32>
}

// IREE would mix up the registers of Q if the loop over its rows came behind that over the head.

// CHECK-LABEL: func.func @rows_last
// CHECK:       iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
// CHECK-SAME:  workgroup = [1, 128, 0, 0, 96]}>}
// expected-remark @+2 {{tile of a workgroup: 128 rows x 96 columns, 64 keys a step, 4 warps, by matrix instructions in the place of scalar ones}}
func.func @rows_last(%q: tensor<24x2048x96xf16>, %k: tensor<24x2048x96xf16>, %v: tensor<24x2048x96xf16>, %s: f16, %o: tensor<24x2048x96xf32>, %m: tensor<24x2048xf32>) -> tensor<24x2048x96xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4)>]> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 128, 0, 0], workgroup = [1, 0, 0, 32, 1]}>} ins(%q, %k, %v, %s : tensor<24x2048x96xf16>, tensor<24x2048x96xf16>, tensor<24x2048x96xf16>, f16) outs(%o, %m, %m : tensor<24x2048x96xf32>, tensor<24x2048xf32>, tensor<24x2048xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<24x2048x96xf32>, tensor<24x2048xf32>, tensor<24x2048xf32>
  return %r#0 : tensor<24x2048x96xf32>
}
