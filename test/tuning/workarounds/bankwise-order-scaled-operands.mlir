// RUN: bankwise-opt %s --iree-gpu-test-target=gfx950 --pass-pipeline='builtin.module(func.func(bankwise-order-scaled-operands,canonicalize,cse))' 2>&1 | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// A lane that has the second block of a row instead of its own is left alone, with a warning.

// CHECK: warning: 8-bit operands of scaled matmuls stay in another order than the hardware's: lanes read other blocks than IREE's layout has

// Lane l reads the k from 16 (l / 16) on, and those 64 further, of both operands.

// CHECK-LABEL: func.func @f8
// CHECK:         %[[L:.+]]:3 = affine.delinearize_index %{{.+}} into (4, 16)
// CHECK:         %[[A:.+]] = vector.transfer_read %{{.+}}[%c0, %[[L]]#2, %c0, %c0, %[[L]]#1, %c0], %{{.+}} : memref<1x16x1x2x4x16xf8E4M3FN, #gpu.address_space<workgroup>>, vector<1x1x1x2x1x16xf8E4M3FN>
// CHECK:         %[[AC:.+]] = vector.shape_cast %[[A]] : vector<1x1x1x2x1x16xf8E4M3FN> to vector<1x1x1x1x1x32xf8E4M3FN>
// CHECK:         %[[B:.+]] = vector.transfer_read %{{.+}}[%c0, %[[L]]#2, %c0, %c0, %[[L]]#1, %c0], %{{.+}} : memref<1x16x1x2x4x16xf8E5M2, #gpu.address_space<workgroup>>, vector<1x1x1x2x1x16xf8E5M2>
// CHECK:         %[[BC:.+]] = vector.shape_cast %[[B]]
// CHECK:         iree_codegen.inner_tiled ins(%[[AC]], %[[BC]], %arg0, %arg0)
func.func @f8(%s: vector<1x1x1x1xf8E8M0FNU>, %sum: vector<1x1x4x1xf32>) -> vector<1x1x4x1xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pad = ub.poison : f8E4M3FN
  %pad2 = ub.poison : f8E5M2
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %a = memref.alloc() : memref<1x16x1x4x1x32xf8E4M3FN, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<1x16x1x4x1x32xf8E5M2, #gpu.address_space<workgroup>>
  %ar = vector.transfer_read %a[%c0, %l#2, %c0, %l#1, %c0, %c0], %pad {in_bounds = [true, true, true, true, true, true]} : memref<1x16x1x4x1x32xf8E4M3FN, #gpu.address_space<workgroup>>, vector<1x1x1x1x1x32xf8E4M3FN>
  %br = vector.transfer_read %b[%c0, %l#2, %c0, %l#1, %c0, %c0], %pad2 {in_bounds = [true, true, true, true, true, true]} : memref<1x16x1x4x1x32xf8E5M2, #gpu.address_space<workgroup>>, vector<1x1x1x1x1x32xf8E5M2>
  %d = iree_codegen.inner_tiled ins(%ar, %br, %s, %s) outs(%sum) <indexing_maps = [affine_map<(m, n, k, b) -> (m, k, b)>, affine_map<(m, n, k, b) -> (n, k, b)>, affine_map<(m, n, k, b) -> (m, k)>, affine_map<(m, n, k, b) -> (n, k)>, affine_map<(m, n, k, b) -> (m, n)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], kind = #iree_gpu.scaled_mma_layout<intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f8E4M3FN, rhs_elem_type = f8E5M2, acc_elem_type = f32>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>> : vector<1x1x1x1x1x32xf8E4M3FN>, vector<1x1x1x1x1x32xf8E5M2>, vector<1x1x1x1xf8E8M0FNU>, vector<1x1x1x1xf8E8M0FNU> into vector<1x1x4x1xf32>
  return %d : vector<1x1x4x1xf32>
}

// Two lanes share a row of 32x32x64, and 4-bit elements are in their places already.

// CHECK-LABEL: func.func @f8_times_f4
// CHECK:         vector.transfer_read {{.+}} : memref<1x32x1x2x2x16xf8E4M3FN, #gpu.address_space<workgroup>>, vector<1x1x1x2x1x16xf8E4M3FN>
// CHECK:         vector.transfer_read {{.+}} : memref<1x32x1x2x1x32xf4E2M1FN, #gpu.address_space<workgroup>>, vector<1x1x1x1x1x32xf4E2M1FN>
func.func @f8_times_f4(%s: vector<1x1x1x1xf8E8M0FNU>, %sum: vector<1x1x16x1xf32>) -> vector<1x1x16x1xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pad = ub.poison : f8E4M3FN
  %pad2 = ub.poison : f4E2M1FN
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (2, 32) : index, index, index
  %a = memref.alloc() : memref<1x32x1x2x1x32xf8E4M3FN, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<1x32x1x2x1x32xf4E2M1FN, #gpu.address_space<workgroup>>
  %ar = vector.transfer_read %a[%c0, %l#2, %c0, %l#1, %c0, %c0], %pad {in_bounds = [true, true, true, true, true, true]} : memref<1x32x1x2x1x32xf8E4M3FN, #gpu.address_space<workgroup>>, vector<1x1x1x1x1x32xf8E4M3FN>
  %at = vector.transpose %ar, [0, 2, 4, 1, 3, 5] : vector<1x1x1x1x1x32xf8E4M3FN> to vector<1x1x1x1x1x32xf8E4M3FN>
  %br = vector.transfer_read %b[%c0, %l#2, %c0, %l#1, %c0, %c0], %pad2 {in_bounds = [true, true, true, true, true, true]} : memref<1x32x1x2x1x32xf4E2M1FN, #gpu.address_space<workgroup>>, vector<1x1x1x1x1x32xf4E2M1FN>
  %d = iree_codegen.inner_tiled ins(%at, %br, %s, %s) outs(%sum) <indexing_maps = [affine_map<(m, n, k, b) -> (m, k, b)>, affine_map<(m, n, k, b) -> (n, k, b)>, affine_map<(m, n, k, b) -> (m, k)>, affine_map<(m, n, k, b) -> (n, k)>, affine_map<(m, n, k, b) -> (m, n)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], kind = #iree_gpu.scaled_mma_layout<intrinsic = MFMA_SCALE_F32_32x32x64_B32, lhs_elem_type = f8E4M3FN, rhs_elem_type = f4E2M1FN, acc_elem_type = f32>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>> : vector<1x1x1x1x1x32xf8E4M3FN>, vector<1x1x1x1x1x32xf4E2M1FN>, vector<1x1x1x1xf8E8M0FNU>, vector<1x1x1x1xf8E8M0FNU> into vector<1x1x16x1xf32>
  return %d : vector<1x1x16x1xf32>
}

// CHECK-LABEL: func.func @other_blocks
// CHECK-COUNT-2: vector.transfer_read {{.+}} : memref<1x16x1x4x1x32x
func.func @other_blocks(%s: vector<1x1x1x1xf8E8M0FNU>, %sum: vector<1x1x4x1xf32>) -> vector<1x1x4x1xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pad = ub.poison : f8E4M3FN
  %pad2 = ub.poison : f8E5M2
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %other = arith.xori %l#1, %c1 : index
  %a = memref.alloc() : memref<1x16x1x4x1x32xf8E4M3FN, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<1x16x1x4x1x32xf8E5M2, #gpu.address_space<workgroup>>
  %ar = vector.transfer_read %a[%c0, %l#2, %c0, %other, %c0, %c0], %pad {in_bounds = [true, true, true, true, true, true]} : memref<1x16x1x4x1x32xf8E4M3FN, #gpu.address_space<workgroup>>, vector<1x1x1x1x1x32xf8E4M3FN>
  %br = vector.transfer_read %b[%c0, %l#2, %c0, %other, %c0, %c0], %pad2 {in_bounds = [true, true, true, true, true, true]} : memref<1x16x1x4x1x32xf8E5M2, #gpu.address_space<workgroup>>, vector<1x1x1x1x1x32xf8E5M2>
  %d = iree_codegen.inner_tiled ins(%ar, %br, %s, %s) outs(%sum) <indexing_maps = [affine_map<(m, n, k, b) -> (m, k, b)>, affine_map<(m, n, k, b) -> (n, k, b)>, affine_map<(m, n, k, b) -> (m, k)>, affine_map<(m, n, k, b) -> (n, k)>, affine_map<(m, n, k, b) -> (m, n)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], kind = #iree_gpu.scaled_mma_layout<intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f8E4M3FN, rhs_elem_type = f8E5M2, acc_elem_type = f32>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>> : vector<1x1x1x1x1x32xf8E4M3FN>, vector<1x1x1x1x1x32xf8E5M2>, vector<1x1x1x1xf8E8M0FNU>, vector<1x1x1x1xf8E8M0FNU> into vector<1x1x4x1xf32>
  return %d : vector<1x1x4x1xf32>
}
