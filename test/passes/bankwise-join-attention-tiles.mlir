// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-join-attention-tiles))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-join-attention-tiles))' --mlir-print-local-scope | FileCheck %s --check-prefix=AMD

// AMD-COUNT-6: workgroup = [1, 64, 32, 0, 0]

// 1024 workgroups are left of 4096.

// CHECK-LABEL: func.func @whole_head
// CHECK:         promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 128, 0, 0]}>
// expected-remark @+2 {{tiles of a workgroup joined from [1, 64, 32, 0, 0] to [1, 64, 128, 0, 0]}}
func.func @whole_head(%q: tensor<16x4096x128xf16>, %k: tensor<16x4096x128xf16>, %v: tensor<16x4096x128xf16>, %s: f16, %o: tensor<16x4096x128xf32>, %m: tensor<16x4096xf32>, %l: tensor<16x4096xf32>) -> tensor<16x4096x128xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]}>} ins(%q, %k, %v, %s : tensor<16x4096x128xf16>, tensor<16x4096x128xf16>, tensor<16x4096x128xf16>, f16) outs(%o, %m, %l : tensor<16x4096x128xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x4096x128xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>
  return %r#0 : tensor<16x4096x128xf32>
}

// -----

// A tile that has all 64 columns gets twice the rows.

// CHECK-LABEL: func.func @rows
// CHECK:         workgroup = [1, 128, 64, 0, 0]
// expected-remark @+2 {{tiles of a workgroup joined from [1, 64, 32, 0, 0] to [1, 128, 64, 0, 0]}}
func.func @rows(%q: tensor<16x4096x64xf16>, %k: tensor<16x4096x64xf16>, %v: tensor<16x4096x64xf16>, %s: f16, %o: tensor<16x4096x64xf32>, %m: tensor<16x4096xf32>, %l: tensor<16x4096xf32>) -> tensor<16x4096x64xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]}>} ins(%q, %k, %v, %s : tensor<16x4096x64xf16>, tensor<16x4096x64xf16>, tensor<16x4096x64xf16>, f16) outs(%o, %m, %l : tensor<16x4096x64xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x4096x64xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>
  return %r#0 : tensor<16x4096x64xf32>
}

// -----

// All 256 columns would leave too few registers; and 256 workgroups must be left.

// CHECK-LABEL: func.func @registers
// CHECK:         workgroup = [1, 64, 128, 0, 0]
// expected-remark @+2 {{tiles of a workgroup joined}}
func.func @registers(%q: tensor<4x4096x256xf16>, %k: tensor<4x4096x256xf16>, %v: tensor<4x4096x256xf16>, %s: f16, %o: tensor<4x4096x256xf32>, %m: tensor<4x4096xf32>, %l: tensor<4x4096xf32>) -> tensor<4x4096x256xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]}>} ins(%q, %k, %v, %s : tensor<4x4096x256xf16>, tensor<4x4096x256xf16>, tensor<4x4096x256xf16>, f16) outs(%o, %m, %l : tensor<4x4096x256xf32>, tensor<4x4096xf32>, tensor<4x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x4096x256xf32>, tensor<4x4096xf32>, tensor<4x4096xf32>
  return %r#0 : tensor<4x4096x256xf32>
}

// -----

// There are 128 workgroups, which hardly fill a GPU.

// CHECK-LABEL: func.func @few_workgroups
// CHECK:         workgroup = [1, 64, 32, 0, 0]
func.func @few_workgroups(%q: tensor<2x1024x128xf16>, %k: tensor<2x1024x128xf16>, %v: tensor<2x1024x128xf16>, %s: f16, %o: tensor<2x1024x128xf32>, %m: tensor<2x1024xf32>, %l: tensor<2x1024xf32>) -> tensor<2x1024x128xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]}>} ins(%q, %k, %v, %s : tensor<2x1024x128xf16>, tensor<2x1024x128xf16>, tensor<2x1024x128xf16>, f16) outs(%o, %m, %l : tensor<2x1024x128xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x1024x128xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>
  return %r#0 : tensor<2x1024x128xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic
// CHECK:         workgroup = [1, 64, 32, 0, 0]
// expected-remark @+1 {{the tiles of the attention stay: its sizes are not all known}}
func.func @dynamic(%q: tensor<16x?x128xf16>, %k: tensor<16x4096x128xf16>, %v: tensor<16x4096x128xf16>, %s: f16, %o: tensor<16x?x128xf32>, %m: tensor<16x?xf32>, %l: tensor<16x?xf32>) -> tensor<16x?x128xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]}>} ins(%q, %k, %v, %s : tensor<16x?x128xf16>, tensor<16x4096x128xf16>, tensor<16x4096x128xf16>, f16) outs(%o, %m, %l : tensor<16x?x128xf32>, tensor<16x?xf32>, tensor<16x?xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x?x128xf32>, tensor<16x?xf32>, tensor<16x?xf32>
  return %r#0 : tensor<16x?x128xf32>
}

// -----

// CHECK-LABEL: func.func @uneven
// CHECK:         workgroup = [1, 64, 32, 0, 0]
// expected-remark @+1 {{the tiles of the attention stay: tiles of 32 do not divide a loop of 80}}
func.func @uneven(%q: tensor<16x4096x128xf16>, %k: tensor<16x4096x128xf16>, %v: tensor<16x4096x80xf16>, %s: f16, %o: tensor<16x4096x80xf32>, %m: tensor<16x4096xf32>, %l: tensor<16x4096xf32>) -> tensor<16x4096x80xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]}>} ins(%q, %k, %v, %s : tensor<16x4096x128xf16>, tensor<16x4096x128xf16>, tensor<16x4096x80xf16>, f16) outs(%o, %m, %l : tensor<16x4096x80xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x4096x80xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>
  return %r#0 : tensor<16x4096x80xf32>
}

// -----

// A workgroup computes all columns already.

// CHECK-LABEL: func.func @whole
// CHECK:         workgroup = [1, 64, 0, 0, 0]
func.func @whole(%q: tensor<16x4096x128xf16>, %k: tensor<16x4096x128xf16>, %v: tensor<16x4096x128xf16>, %s: f16, %o: tensor<16x4096x128xf32>, %m: tensor<16x4096xf32>, %l: tensor<16x4096xf32>) -> tensor<16x4096x128xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 0, 0, 0]}>} ins(%q, %k, %v, %s : tensor<16x4096x128xf16>, tensor<16x4096x128xf16>, tensor<16x4096x128xf16>, f16) outs(%o, %m, %l : tensor<16x4096x128xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x4096x128xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>
  return %r#0 : tensor<16x4096x128xf32>
}
