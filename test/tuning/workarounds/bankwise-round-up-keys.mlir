// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-round-up-keys))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// 256 lanes share the keys of a step, of which the last one need not be whole.

// CHECK-LABEL: func.func @computed
// CHECK-SAME:    bankwise.keys = array<i64: -9223372036854775808, -256>
// CHECK:         %[[ROUNDED:.*]] = affine.apply affine_map<()[s0] -> ((s0 ceildiv 256) * 256)>()[%arg0]
// CHECK:         binding(1) {{.*}} {bankwise.shape = array<i64: -256, 32>} : memref<?x32xf16>{%[[ROUNDED]]}
func.func @computed(%keys: index, %s: f16, %sums: tensor<16xf32>, %one: tensor<f32>) -> tensor<16xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %bq = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<32xf16>
  %bk = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<?x32xf16>{%keys}
  %bv = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x16xf16>{%keys}
  %q = iree_codegen.load_from_buffer %bq : memref<32xf16> -> tensor<32xf16>
  %k = iree_codegen.load_from_buffer %bk : memref<?x32xf16> -> tensor<?x32xf16>
  %v = iree_codegen.load_from_buffer %bv : memref<?x16xf16> -> tensor<?x16xf16>
  // expected-remark @+1 {{its keys are rounded up to multiples of 256}}
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> ()>]> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 256], workgroup = [16, 0, 0]}>} ins(%q, %k, %v, %s : tensor<32xf16>, tensor<?x32xf16>, tensor<?x16xf16>, f16) outs(%sums, %one, %one : tensor<16xf32>, tensor<f32>, tensor<f32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16xf32>, tensor<f32>, tensor<f32>
  return %r#0 : tensor<16xf32>
}

// IREE pads the keys itself where there is a mask.

// CHECK-LABEL: func.func @masked
// CHECK-NOT:     bankwise.
// CHECK:         return
func.func @masked(%keys: index, %s: f16, %sums: tensor<16xf32>, %one: tensor<f32>, %mask: tensor<?xf16>) -> tensor<16xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %bq = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<32xf16>
  %bk = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0) : memref<?x32xf16>{%keys}
  %bv = hal.interface.binding.subspan layout(#layout) binding(2) offset(%c0) : memref<?x16xf16>{%keys}
  %q = iree_codegen.load_from_buffer %bq : memref<32xf16> -> tensor<32xf16>
  %k = iree_codegen.load_from_buffer %bk : memref<?x32xf16> -> tensor<?x32xf16>
  %v = iree_codegen.load_from_buffer %bv : memref<?x16xf16> -> tensor<?x16xf16>
  %r:3 = iree_linalg_ext.online_attention <indexing_maps = [affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> ()>]> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 256], workgroup = [16, 0, 0]}>} ins(%q, %k, %v, %s, %mask : tensor<32xf16>, tensor<?x32xf16>, tensor<?x16xf16>, f16, tensor<?xf16>) outs(%sums, %one, %one : tensor<16xf32>, tensor<f32>, tensor<f32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<16xf32>, tensor<f32>, tensor<f32>
  return %r#0 : tensor<16xf32>
}
