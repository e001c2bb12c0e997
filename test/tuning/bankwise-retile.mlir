// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-retile))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=a100 --pass-pipeline='builtin.module(func.func(bankwise-retile))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=sm_89 --pass-pipeline='builtin.module(func.func(bankwise-retile))' --mlir-print-local-scope --bankwise-remarks 2>&1 | FileCheck %s --check-prefix=UNMEASURED
// RUN: bankwise-opt %s --iree-gpu-test-target=sm_89 --pass-pipeline='builtin.module(func.func(bankwise-retile{mode=on other-order native-exponentials}))' --mlir-print-local-scope | FileCheck %s --check-prefix=ON

// UNMEASURED:     remark: tile of a workgroup: 128 rows x 128 columns, 64 keys a step, 8 warps is predicted to take {{.*}}; it is not taken: no time was measured on sm_89; --bankwise-retile=on takes it anyway
// UNMEASURED:     remark: tile of a workgroup: 256 x 128, {{.*}} it is not taken: no time

// The whole head in one workgroup, and more rows and warps; the keys of a step stay at this level.

// CHECK-LABEL: func.func @attention
// CHECK-SAME:    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>
// CHECK:       iree_linalg_ext.online_attention
// CHECK-SAME:    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], subgroup_basis = {{\[}}[1, 8, 1, 1, 1], [0, 1, 2, 4]]}>}
// CHECK-SAME:    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], subgroup_basis = {{\[}}[1, 8, 1, 1, 1], [0, 1, 3, 4]]}>}
// CHECK-SAME:    {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 256, 128, 0, 0]}>}

// ON-LABEL: func.func @attention
// ON:         reduction = [0, 0, 0, 0, {{32|128}}], workgroup = [1, {{128|256}}, 128, 0, 0]

// expected-remark @+2 {{tile of a workgroup: 256 rows x 128 columns, 64 keys a step, 8 warps is predicted to take}}
func.func @attention(%q: tensor<16x4096x128xf16>, %k: tensor<16x4096x128xf16>, %v: tensor<16x4096x128xf16>, %s: f16, %o: tensor<16x4096x128xf32>, %m: tensor<16x4096xf32>) -> tensor<16x4096x128xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>} {
  %r:3 = iree_linalg_ext.online_attention <decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}}, indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]}>} ins(%q, %k, %v, %s : tensor<16x4096x128xf16>, tensor<16x4096x128xf16>, tensor<16x4096x128xf16>, f16) outs(%o, %m, %m : tensor<16x4096x128xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16x4096x128xf32>, tensor<16x4096xf32>, tensor<16x4096xf32>
  return %r#0 : tensor<16x4096x128xf32>
}

// Four heads of Q share one of K and V: a workgroup has the 16 rows of two of them.

// CHECK-LABEL: func.func @grouped
// CHECK:         subgroup_basis = {{\[}}[1, 2, 1, 1, 1, 1], [0, 1, 2, 3, 5]]
// CHECK:         subgroup_basis = {{\[}}[1, 2, 1, 1, 1, 1], [0, 1, 2, 4, 5]]
// CHECK-SAME:    reduction = [0, 0, 0, 0, 0, 64], workgroup = [1, 2, 16, 64, 0, 0]

// expected-remark @+2 {{tile of a workgroup: 32 rows x 64 columns, 64 keys a step, 2 warps is predicted to take}}
func.func @grouped(%q: tensor<16x4x4x64xf16>, %k: tensor<2048x4x64xf16>, %v: tensor<2048x4x64xf16>, %s: f16, %o: tensor<4x4x16x64xf32>, %m: tensor<4x4x16xf32>) -> tensor<4x4x16x64xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %r:3 = iree_linalg_ext.online_attention <decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], subgroup_basis = [[1, 4, 1, 1, 1, 1], [0, 1, 2, 3, 5]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], subgroup_basis = [[1, 4, 1, 1, 1, 1], [0, 1, 2, 4, 5]]}>}}, indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d0, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d0, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> ()>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>]> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 64], workgroup = [1, 4, 16, 32, 0, 0]}>} ins(%q, %k, %v, %s : tensor<16x4x4x64xf16>, tensor<2048x4x64xf16>, tensor<2048x4x64xf16>, f16) outs(%o, %m, %m : tensor<4x4x16x64xf32>, tensor<4x4x16xf32>, tensor<4x4x16xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x4x16x64xf32>, tensor<4x4x16xf32>, tensor<4x4x16xf32>
  return %r#0 : tensor<4x4x16x64xf32>
}

// The tile of a product: 128 x 256 elements, of which a warp computes 4 x 8 matrix instructions.

// CHECK-LABEL: func.func @matmul
// CHECK-SAME:    workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}
// CHECK:         reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [256, 128, 0]

// expected-remark @+2 {{tile of a workgroup: 256 x 128, 64 a step, 4 x 2 warps is predicted to take}}
func.func @matmul(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>, %c: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4096x4096xf16>, tensor<4096x4096xf16>) outs(%c : tensor<4096x4096xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 64, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %1 = arith.extf %x : f16 to f32
    %2 = arith.extf %y : f16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %z, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// A convolution is left alone: a tile of its output is no tile of its image.

// CHECK-LABEL: func.func @convolution
// CHECK:         workgroup = [4, 32, 32, 0]
// expected-remark @+1 {{the tile of a workgroup stays: its operands are indexed by more than loops}}
func.func @convolution(%a: tensor<34x34x64xf16>, %b: tensor<3x3x64x64xf16>, %c: tensor<32x32x64xf32>) -> tensor<32x32x64xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0 + d3, d1 + d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a, %b : tensor<34x34x64xf16>, tensor<3x3x64x64xf16>) outs(%c : tensor<32x32x64xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 4], subgroup = [2, 1, 2, 0], workgroup = [4, 32, 32, 0]}>} {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %1 = arith.extf %x : f16 to f32
    %2 = arith.extf %y : f16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %z, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<32x32x64xf32>
  return %0 : tensor<32x32x64xf32>
}

// Nothing multiplies here.

// CHECK-LABEL: func.func @sum
// CHECK-NOT:     bankwise
func.func @sum(%a: tensor<64xf32>) -> tensor<64xf32> {
  return %a : tensor<64xf32>
}

// Without matrix instructions, operands lie in the LDS and a thread computes 8 x 8 elements. The 32
// summed elements of a step stay, because their order is part of the result.

// CHECK-LABEL: func.func @scalar_matmul
// CHECK-SAME:    workgroup_size = [256, 1, 1] subgroup_size = 32
// CHECK:         lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 0, 32], thread = [1, 8, 8, 0], workgroup = [1, 128, 128, 0]}>

func.func @scalar_matmul(%a: tensor<4x2048x2048xf32>, %b: tensor<4x2048x2048xf32>, %e: tensor<4x2048x2048xf32>) -> tensor<4x2048x2048xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %z = arith.constant 0.0 : f32
  %c = linalg.fill ins(%z : f32) outs(%e : tensor<4x2048x2048xf32>) -> tensor<4x2048x2048xf32>
  // expected-remark @+1 {{tile of a workgroup: 128 x 128, 32 a step, 8 x 8 a thread is predicted to take}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x2048x2048xf32>, tensor<4x2048x2048xf32>) outs(%c : tensor<4x2048x2048xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 32], thread = [1, 1, 16, 0], workgroup = [1, 32, 128, 1]}>} {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x2048x2048xf32>
  return %0 : tensor<4x2048x2048xf32>
}

// IREE takes the 128 elements of a thread apart, and rounds their products before it adds them.

// CHECK-LABEL: func.func @rounded_products
// CHECK:         thread = [1, 128, 0]

// expected-remark @+1 {{the tile of a workgroup stays: its threads add products that are rounded before}}
func.func @rounded_products(%a: tensor<16x4096xf32>, %b: tensor<4096x4096xf32>, %e: tensor<16x4096xf32>) -> tensor<16x4096xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 2, 1] subgroup_size = 32>} {
  %z = arith.constant 0.0 : f32
  %c = linalg.fill ins(%z : f32) outs(%e : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x4096xf32>, tensor<4096x4096xf32>) outs(%c : tensor<16x4096xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 128, 0], workgroup = [16, 256, 1]}>} {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<16x4096xf32>
  return %0 : tensor<16x4096xf32>
}
