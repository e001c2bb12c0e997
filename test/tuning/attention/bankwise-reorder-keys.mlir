// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-reorder-keys))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#keys = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], outer_tile = [1, 2], thread_tile = [8, 4], element_tile = [1, 2], subgroup_strides = [0, 0], thread_strides = [4, 1]>
#scores = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 4], outer_tile = [2, 1], thread_tile = [8, 4], element_tile = [1, 2], subgroup_strides = [0, 0], thread_strides = [4, 1]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>
!tile = tensor<32x16xf16, #gpu.address_space<workgroup>>

// The scores of 16 rows and 32 keys: a lane has two neighbours of each 8 keys, and reads the mask two elements at a
// time. Keys that are 4 apart take the places of neighbours in the rows of the tile of K, so that a lane has 8 of them.

// CHECK-LABEL: func.func @mask
// CHECK:         vector.transfer_read {{.+}} : tensor<32x16xf16, #gpu.address_space<workgroup>>
// CHECK-NEXT:    iree_vector_ext.to_layout {{.+}}batch_tile = [1, 2], outer_tile = [1, 1], thread_tile = [8, 4], element_tile = [4, 2], {{.+}}thread_strides = [4, 1]
// CHECK:         iree_vector_ext.to_layout {{.+}}batch_tile = [4, 1], outer_tile = [1, 2], thread_tile = [8, 4], element_tile = [1, 2], {{.+}}thread_strides = [4, 1]
// CHECK:         vector.transfer_read {{.+}} : tensor<16x32xf16>
// CHECK-NEXT:    iree_vector_ext.to_layout {{.+}}thread_tile = [8, 4], element_tile = [1, 8], {{.+}}thread_strides = [4, 1]
// CHECK:         iree_vector_ext.to_layout {{.+}}batch_tile = [1, 4], outer_tile = [2, 1], thread_tile = [8, 4], element_tile = [1, 2], {{.+}}thread_strides = [4, 1]
func.func @mask(%q: vector<16x16xf16>, %k: !tile, %m: tensor<16x32xf16>, %c: vector<16x32xf16>, %z: vector<16xf16>) -> vector<16xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %zeros = arith.constant dense<0.0> : vector<16x32xf16>
  %kr = vector.transfer_read %k[%c0, %c0], %pad {in_bounds = [true, true]} : !tile, vector<32x16xf16>
  %kl = iree_vector_ext.to_layout %kr to layout(#keys) : vector<32x16xf16>
  %s = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %q, %kl, %zeros : vector<16x16xf16>, vector<32x16xf16> into vector<16x32xf16>
  %sl = iree_vector_ext.to_layout %s to layout(#scores) : vector<16x32xf16>
  // expected-remark @+1 {{keys come in another order: a lane reads the mask of 8 keys at once instead of 2}}
  %mr = vector.transfer_read %m[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<16x32xf16>, vector<16x32xf16>
  %ml = iree_vector_ext.to_layout %mr to layout(#scores) : vector<16x32xf16>
  %t = arith.addf %sl, %ml : vector<16x32xf16>
  %r = vector.multi_reduction <maximumf>, %t, %z [1] : vector<16x32xf16> to vector<16xf16>
  return %r : vector<16xf16>
}
