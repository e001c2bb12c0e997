// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-use-larger-instructions))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Warps with 32 rows get instructions of 32 rows. Everything else of the configuration stays.

// CHECK-LABEL: func.func @of_32_rows
// CHECK:         pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = {{\[}}[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}
// CHECK-SAME:    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = {{\[}}[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}
// CHECK-SAME:    {lowering_config = #iree_gpu.lowering_config<{promote_operands = [1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 128, 64, 0, 0]}>}

// expected-remark @+2 {{its products are computed by 32 rows and columns}}
func.func @of_32_rows(%q: tensor<2x512x64xf16>, %k: tensor<2x512x64xf16>, %v: tensor<2x512x64xf16>, %s: f16, %o: tensor<2x512x64xf32>, %m: tensor<2x512xf32>) -> tensor<2x512x64xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>} {
  %r:3 = iree_linalg_ext.online_attention <decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}}, indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 128, 64, 0, 0]}>} ins(%q, %k, %v, %s : tensor<2x512x64xf16>, tensor<2x512x64xf16>, tensor<2x512x64xf16>, f16) outs(%o, %m, %m : tensor<2x512x64xf32>, tensor<2x512xf32>, tensor<2x512xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x512x64xf32>, tensor<2x512xf32>, tensor<2x512xf32>
  return %r#0 : tensor<2x512x64xf32>
}

// -----

// A warp has 16 rows.

// CHECK-LABEL: func.func @of_16_rows
// CHECK:         16x16x
// CHECK-NOT:     32x32x
// CHECK:       return

// expected-remark @+2 {{no instructions of 32 rows: a warp has no 32 rows, or 32 do not divide its keys or columns}}
func.func @of_16_rows(%q: tensor<2x512x64xf16>, %k: tensor<2x512x64xf16>, %v: tensor<2x512x64xf16>, %s: f16, %o: tensor<2x512x64xf32>, %m: tensor<2x512xf32>) -> tensor<2x512x64xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>} {
  %r:3 = iree_linalg_ext.online_attention <decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}}, indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 64, 0, 0]}>} ins(%q, %k, %v, %s : tensor<2x512x64xf16>, tensor<2x512x64xf16>, tensor<2x512x64xf16>, f16) outs(%o, %m, %m : tensor<2x512x64xf32>, tensor<2x512xf32>, tensor<2x512xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x512x64xf32>, tensor<2x512xf32>, tensor<2x512xf32>
  return %r#0 : tensor<2x512x64xf32>
}

// -----

// A step has 16 keys.

// CHECK-LABEL: func.func @of_16_keys
// CHECK:         16x16x
// CHECK-NOT:     32x32x
// CHECK:       return

// expected-remark @+2 {{no instructions of 32 rows: a warp has no 32 rows, or 32 do not divide its keys or columns}}
func.func @of_16_keys(%q: tensor<2x512x64xf16>, %k: tensor<2x512x64xf16>, %v: tensor<2x512x64xf16>, %s: f16, %o: tensor<2x512x64xf32>, %m: tensor<2x512xf32>) -> tensor<2x512x64xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>} {
  %r:3 = iree_linalg_ext.online_attention <decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}}, indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 16], workgroup = [1, 128, 64, 0, 0]}>} ins(%q, %k, %v, %s : tensor<2x512x64xf16>, tensor<2x512x64xf16>, tensor<2x512x64xf16>, f16) outs(%o, %m, %m : tensor<2x512x64xf32>, tensor<2x512xf32>, tensor<2x512xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x512x64xf32>, tensor<2x512xf32>, tensor<2x512xf32>
  return %r#0 : tensor<2x512x64xf32>
}

// -----

// A row of V has 48 columns.

// CHECK-LABEL: func.func @of_48_columns
// CHECK:         16x16x
// CHECK-NOT:     32x32x
// CHECK:       return

// expected-remark @+2 {{no instructions of 32 rows: a warp has no 32 rows, or 32 do not divide its keys or columns}}
func.func @of_48_columns(%q: tensor<2x512x64xf16>, %k: tensor<2x512x64xf16>, %v: tensor<2x512x48xf16>, %s: f16, %o: tensor<2x512x48xf32>, %m: tensor<2x512xf32>) -> tensor<2x512x48xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>} {
  %r:3 = iree_linalg_ext.online_attention <decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16, col_major = true>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}}, indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 128, 48, 0, 0]}>} ins(%q, %k, %v, %s : tensor<2x512x64xf16>, tensor<2x512x64xf16>, tensor<2x512x48xf16>, f16) outs(%o, %m, %m : tensor<2x512x48xf32>, tensor<2x512xf32>, tensor<2x512xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x512x48xf32>, tensor<2x512xf32>, tensor<2x512xf32>
  return %r#0 : tensor<2x512x48xf32>
}

// -----

// Products of f32 were not compared.

// CHECK-LABEL: func.func @of_f32
// CHECK:         16x16x
// CHECK-NOT:     32x32x
// CHECK:       return

func.func @of_f32(%q: tensor<2x512x64xf32>, %k: tensor<2x512x64xf32>, %v: tensor<2x512x64xf32>, %s: f32, %o: tensor<2x512x64xf32>, %m: tensor<2x512xf32>) -> tensor<2x512x64xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>} {
  %r:3 = iree_linalg_ext.online_attention <decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}}, indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 128, 64, 0, 0]}>} ins(%q, %k, %v, %s : tensor<2x512x64xf32>, tensor<2x512x64xf32>, tensor<2x512x64xf32>, f32) outs(%o, %m, %m : tensor<2x512x64xf32>, tensor<2x512xf32>, tensor<2x512xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x512x64xf32>, tensor<2x512xf32>, tensor<2x512xf32>
  return %r#0 : tensor<2x512x64xf32>
}
