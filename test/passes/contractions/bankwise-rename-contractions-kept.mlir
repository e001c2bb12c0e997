// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-rename-contractions{reductions=true}))' --bankwise-remarks --verify-diagnostics -o /dev/null

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Each function has one thing that keeps the columns of its result from being renamed.

// Without any of them, they are renamed.

func.func @renamed(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  // expected-remark @+1 {{renamed 4 steps of an index of the result side by side: LDS instructions 2 -> 1}}
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// What the operation does with single columns is not known.

func.func @unknown_operation(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  // expected-remark @+1 {{an index is not renamed: an accumulator meets vector.shuffle}}
  %flat = vector.shuffle %sum, %sum [0, 1] : vector<1x4x4x1xf32>, vector<1x4x4x1xf32>
  vector.print %flat : vector<2x4x4x1xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Each lane adds a number of its own, which may depend on its column.

func.func @number_of_each_lane(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %n = arith.index_cast %x : index to i32
  %f = arith.sitofp %n : i32 to f32
  // expected-remark @+1 {{an index is not renamed: an accumulator meets a number of each lane}}
  %v = vector.broadcast %f : f32 to vector<1x4x4x1xf32>
  %plus = arith.addf %sum, %v : vector<1x4x4x1xf32>
  %st = vector.transpose %plus, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// The result is not written by the lanes that read the columns.

func.func @other_lanes(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  // expected-remark @+1 {{an index is not renamed: an operand and the result do not lie alike in the lanes}}
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  %o = affine.apply affine_map<(d0) -> (15 - d0)>(%l#2)
  vector.transfer_write %st, %oe[%c0, %r, %c0, %o] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// The row that a lane reads depends on its column: it is no plain matrix.

func.func @rows_by_columns(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  %skew = affine.apply affine_map<(d0, d1) -> ((d0 + d1) mod 4)>(%l#1, %l#2)
  // expected-remark @+1 {{an index is not renamed: an index depends on the slot of another one}}
  %br = vector.transfer_read %be[%c0, %skew, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Where the lanes begin is not known.

func.func @unknown_index(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  // expected-remark @+1 {{an index is not renamed: an index is not known: block argument of func.func}}
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %i], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// A lane may read what it wrote itself, as no barrier lets it see what others wrote.

func.func @no_barrier(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %p = affine.apply affine_map<(d0) -> (d0 * 4)>(%l#2)
  vector.transfer_write %in, %b[%l#1, %p] {in_bounds = [true, true]} : vector<1x4xf32>, memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  // expected-remark @+1 {{an index is not renamed: no barrier is between vector.transfer_read and vector.transfer_write of the same memory}}
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// A lane may overwrite in the next trip what only it has read.

func.func @no_barrier_around_a_loop(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %c1 = arith.constant 1 : index
  scf.for %trip = %c0 to %i step %c1 {
  %p = affine.apply affine_map<(d0) -> (d0 * 4)>(%l#2)
  vector.transfer_write %in, %b[%l#1, %p] {in_bounds = [true, true]} : vector<1x4xf32>, memref<4x64xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  // expected-remark @+1 {{an index is not renamed: no barrier is between vector.transfer_read and vector.transfer_write of the same memory}}
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  }
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// A lane may load again what it stored itself.

func.func @loaded_again(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  // expected-remark @+1 {{an index is not renamed: no barrier is between vector.transfer_write and vector.transfer_read of the same memory}}
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  %again = vector.transfer_read %oe[%c0, %r, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x16x4x16xf32>, vector<1x4x4x1xf32>
  vector.print %again : vector<1x4x4x1xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Two barriers in the loop are enough.

func.func @barriers_around_a_loop(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %c1 = arith.constant 1 : index
  scf.for %trip = %c0 to %i step %c1 {
  gpu.barrier
  %p = affine.apply affine_map<(d0) -> (d0 * 4)>(%l#2)
  vector.transfer_write %in, %b[%l#1, %p] {in_bounds = [true, true]} : vector<1x4xf32>, memref<4x64xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  // expected-remark @+1 {{renamed 4 steps of an index of the result side by side}}
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  }
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// The same number is added in all steps, but another one in each lane of a step.

func.func @number_of_each_slot(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index, %bias: memref<16xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  // expected-remark @+1 {{an index is not renamed: what an accumulator meets differs between lanes}}
  %v = vector.transfer_read %bias[%l#2], %pad {in_bounds = [true]} : memref<16xf32>, vector<1xf32>
  %w = vector.broadcast %v : vector<1xf32> to vector<1x4x4x1xf32>
  %plus = arith.addf %sum, %w : vector<1x4x4x1xf32>
  %st = vector.transpose %plus, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Lanes with another number have other rows: columns are renamed.

func.func @number_of_each_row(%in: vector<1x4xf32>, %out: memref<16x64xf32>, %i: index, %bias: memref<16xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  // expected-remark @+1 {{renamed 4 steps of an index of the result side by side}}
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %v = vector.transfer_read %bias[%l#1], %pad {in_bounds = [true]} : memref<16xf32>, vector<1xf32>
  %w = vector.broadcast %v : vector<1xf32> to vector<1x4x4x1xf32>
  %plus = arith.addf %sum, %w : vector<1x4x4x1xf32>
  %st = vector.transpose %plus, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Where the edge is even alone, two columns are stored at once.

func.func @even_edge(%in: vector<1x4xf32>, %out: memref<960xf32>, %edge: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  // expected-remark @+1 {{renamed 2 steps of an index of the result side by side}}
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %kept = memref.alloca() : memref<1x4x4x1xf32, #gpu.address_space<private>>
  vector.transfer_write %sum, %kept[%c0, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x4x4x1xf32, #gpu.address_space<private>>
  %again = vector.transfer_read %kept[%c0, %c0, %c0, %c0], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x1xf32, #gpu.address_space<private>>, vector<1x4x4x1xf32>
  %st = vector.transpose %again, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  %four = vector.step : vector<4xindex>
  %rows = vector.broadcast %four : vector<4xindex> to vector<1x1x4x4xindex>
  %rowsof = vector.transpose %rows, [0, 3, 2, 1] : vector<1x1x4x4xindex> to vector<1x4x4x1xindex>
  %group = vector.broadcast %r : index to vector<1x4x4x1xindex>
  %row = arith.addi %rowsof, %group : vector<1x4x4x1xindex>
  %steps = vector.broadcast %four : vector<4xindex> to vector<1x4x1x4xindex>
  %stepsof = vector.transpose %steps, [0, 1, 3, 2] : vector<1x4x1x4xindex> to vector<1x4x4x1xindex>
  %sixteen = arith.constant dense<16> : vector<1x4x4x1xindex>
  %stepat = arith.muli %stepsof, %sixteen overflow<nsw> : vector<1x4x4x1xindex>
  %slot = vector.broadcast %l#2 : index to vector<1x4x4x1xindex>
  %column = arith.addi %stepat, %slot : vector<1x4x4x1xindex>
  %edges = arith.constant dense<58> : vector<1x4x4x1xindex>
  %last = arith.constant dense<15> : vector<1x4x4x1xindex>
  %rowin = arith.cmpi ult, %row, %last : vector<1x4x4x1xindex>
  %columnin = arith.cmpi ult, %column, %edges : vector<1x4x4x1xindex>
  %mask = arith.andi %rowin, %columnin : vector<1x4x4x1xi1>
  %width = arith.constant dense<60> : vector<1x4x4x1xindex>
  %rowat = arith.muli %row, %width : vector<1x4x4x1xindex>
  %index = arith.addi %rowat, %column : vector<1x4x4x1xindex>
  %i1 = vector.shape_cast %index : vector<1x4x4x1xindex> to vector<16xindex>
  %m1 = vector.shape_cast %mask : vector<1x4x4x1xi1> to vector<16xi1>
  %v1 = vector.shape_cast %st : vector<1x4x4x1xf32> to vector<16xf32>
  vector.scatter %out[%c0] [%i1], %m1, %v1 : memref<960xf32>, vector<16xindex>, vector<16xi1>, vector<16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// An edge may lie between any two columns.

func.func @odd_edge(%in: vector<1x4xf32>, %out: memref<960xf32>, %edge: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  // expected-remark @+1 {{no access to the LDS becomes wider}}
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %kept = memref.alloca() : memref<1x4x4x1xf32, #gpu.address_space<private>>
  vector.transfer_write %sum, %kept[%c0, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x4x4x1xf32, #gpu.address_space<private>>
  %again = vector.transfer_read %kept[%c0, %c0, %c0, %c0], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x1xf32, #gpu.address_space<private>>, vector<1x4x4x1xf32>
  %st = vector.transpose %again, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  %four = vector.step : vector<4xindex>
  %rows = vector.broadcast %four : vector<4xindex> to vector<1x1x4x4xindex>
  %rowsof = vector.transpose %rows, [0, 3, 2, 1] : vector<1x1x4x4xindex> to vector<1x4x4x1xindex>
  %group = vector.broadcast %r : index to vector<1x4x4x1xindex>
  %row = arith.addi %rowsof, %group : vector<1x4x4x1xindex>
  %steps = vector.broadcast %four : vector<4xindex> to vector<1x4x1x4xindex>
  %stepsof = vector.transpose %steps, [0, 1, 3, 2] : vector<1x4x1x4xindex> to vector<1x4x4x1xindex>
  %sixteen = arith.constant dense<16> : vector<1x4x4x1xindex>
  %stepat = arith.muli %stepsof, %sixteen overflow<nsw> : vector<1x4x4x1xindex>
  %slot = vector.broadcast %l#2 : index to vector<1x4x4x1xindex>
  %column = arith.addi %stepat, %slot : vector<1x4x4x1xindex>
  %edges = arith.constant dense<59> : vector<1x4x4x1xindex>
  %last = arith.constant dense<15> : vector<1x4x4x1xindex>
  %rowin = arith.cmpi ult, %row, %last : vector<1x4x4x1xindex>
  %columnin = arith.cmpi ult, %column, %edges : vector<1x4x4x1xindex>
  %mask = arith.andi %rowin, %columnin : vector<1x4x4x1xi1>
  %width = arith.constant dense<60> : vector<1x4x4x1xindex>
  %rowat = arith.muli %row, %width : vector<1x4x4x1xindex>
  %index = arith.addi %rowat, %column : vector<1x4x4x1xindex>
  %i1 = vector.shape_cast %index : vector<1x4x4x1xindex> to vector<16xindex>
  %m1 = vector.shape_cast %mask : vector<1x4x4x1xi1> to vector<16xi1>
  %v1 = vector.shape_cast %st : vector<1x4x4x1xf32> to vector<16xf32>
  vector.scatter %out[%c0] [%i1], %m1, %v1 : memref<960xf32>, vector<16xindex>, vector<16xi1>, vector<16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// An edge that is not known may be any number, and may differ between lanes.

func.func @edge_not_known(%in: vector<1x4xf32>, %out: memref<960xf32>, %edge: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %kept = memref.alloca() : memref<1x4x4x1xf32, #gpu.address_space<private>>
  vector.transfer_write %sum, %kept[%c0, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x4x4x1xf32, #gpu.address_space<private>>
  %again = vector.transfer_read %kept[%c0, %c0, %c0, %c0], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x1xf32, #gpu.address_space<private>>, vector<1x4x4x1xf32>
  %st = vector.transpose %again, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  %four = vector.step : vector<4xindex>
  %rows = vector.broadcast %four : vector<4xindex> to vector<1x1x4x4xindex>
  %rowsof = vector.transpose %rows, [0, 3, 2, 1] : vector<1x1x4x4xindex> to vector<1x4x4x1xindex>
  %group = vector.broadcast %r : index to vector<1x4x4x1xindex>
  %row = arith.addi %rowsof, %group : vector<1x4x4x1xindex>
  %steps = vector.broadcast %four : vector<4xindex> to vector<1x4x1x4xindex>
  %stepsof = vector.transpose %steps, [0, 1, 3, 2] : vector<1x4x1x4xindex> to vector<1x4x4x1xindex>
  %sixteen = arith.constant dense<16> : vector<1x4x4x1xindex>
  %stepat = arith.muli %stepsof, %sixteen overflow<nsw> : vector<1x4x4x1xindex>
  %slot = vector.broadcast %l#2 : index to vector<1x4x4x1xindex>
  %column = arith.addi %stepat, %slot : vector<1x4x4x1xindex>
  %edges = vector.broadcast %edge : index to vector<1x4x4x1xindex>
  %last = arith.constant dense<15> : vector<1x4x4x1xindex>
  %rowin = arith.cmpi ult, %row, %last : vector<1x4x4x1xindex>
  %columnin = arith.cmpi ult, %column, %edges : vector<1x4x4x1xindex>
  %mask = arith.andi %rowin, %columnin : vector<1x4x4x1xi1>
  %width = arith.constant dense<60> : vector<1x4x4x1xindex>
  %rowat = arith.muli %row, %width : vector<1x4x4x1xindex>
  %index = arith.addi %rowat, %column : vector<1x4x4x1xindex>
  %i1 = vector.shape_cast %index : vector<1x4x4x1xindex> to vector<16xindex>
  %m1 = vector.shape_cast %mask : vector<1x4x4x1xi1> to vector<16xi1>
  %v1 = vector.shape_cast %st : vector<1x4x4x1xf32> to vector<16xf32>
  // expected-remark @+1 {{an index of a scatter is not known}}
  vector.scatter %out[%c0] [%i1], %m1, %v1 : memref<960xf32>, vector<16xindex>, vector<16xi1>, vector<16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Lanes would have to wait for each other before the load.

func.func @loaded_again(%in: vector<1x4xf32>, %out: memref<960xf32>, %edge: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %kept = memref.alloca() : memref<1x4x4x1xf32, #gpu.address_space<private>>
  vector.transfer_write %sum, %kept[%c0, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x4x4x1xf32, #gpu.address_space<private>>
  %again = vector.transfer_read %kept[%c0, %c0, %c0, %c0], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x1xf32, #gpu.address_space<private>>, vector<1x4x4x1xf32>
  %st = vector.transpose %again, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  %four = vector.step : vector<4xindex>
  %rows = vector.broadcast %four : vector<4xindex> to vector<1x1x4x4xindex>
  %rowsof = vector.transpose %rows, [0, 3, 2, 1] : vector<1x1x4x4xindex> to vector<1x4x4x1xindex>
  %group = vector.broadcast %r : index to vector<1x4x4x1xindex>
  %row = arith.addi %rowsof, %group : vector<1x4x4x1xindex>
  %steps = vector.broadcast %four : vector<4xindex> to vector<1x4x1x4xindex>
  %stepsof = vector.transpose %steps, [0, 1, 3, 2] : vector<1x4x1x4xindex> to vector<1x4x4x1xindex>
  %sixteen = arith.constant dense<16> : vector<1x4x4x1xindex>
  %stepat = arith.muli %stepsof, %sixteen overflow<nsw> : vector<1x4x4x1xindex>
  %slot = vector.broadcast %l#2 : index to vector<1x4x4x1xindex>
  %column = arith.addi %stepat, %slot : vector<1x4x4x1xindex>
  %edges = arith.constant dense<60> : vector<1x4x4x1xindex>
  %last = arith.constant dense<15> : vector<1x4x4x1xindex>
  %rowin = arith.cmpi ult, %row, %last : vector<1x4x4x1xindex>
  %columnin = arith.cmpi ult, %column, %edges : vector<1x4x4x1xindex>
  %mask = arith.andi %rowin, %columnin : vector<1x4x4x1xi1>
  %width = arith.constant dense<60> : vector<1x4x4x1xindex>
  %rowat = arith.muli %row, %width : vector<1x4x4x1xindex>
  %index = arith.addi %rowat, %column : vector<1x4x4x1xindex>
  %i1 = vector.shape_cast %index : vector<1x4x4x1xindex> to vector<16xindex>
  %m1 = vector.shape_cast %mask : vector<1x4x4x1xi1> to vector<16xi1>
  %v1 = vector.shape_cast %st : vector<1x4x4x1xf32> to vector<16xf32>
  %old = memref.load %out[%l#2] : memref<960xf32>
  // expected-remark @+1 {{something else accesses what is scattered to}}
  vector.scatter %out[%c0] [%i1], %m1, %v1 : memref<960xf32>, vector<16xindex>, vector<16xi1>, vector<16xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// A lane takes single columns of what it keeps.

func.func @kept_in_parts(%in: vector<1x4xf32>, %out: memref<960xf32>, %edge: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x4xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 1, 4] : memref<16x4xf32, #gpu.address_space<workgroup>> into memref<1x16x1x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [1, 4, 4, 16] : memref<4x64xf32, #gpu.address_space<workgroup>> into memref<1x4x4x16xf32, #gpu.address_space<workgroup>>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x1x4xf32, #gpu.address_space<workgroup>>, vector<1x1x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x16xf32, #gpu.address_space<workgroup>>, vector<1x1x4x1xf32>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<1x1x4x1xf32> to vector<1x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%ar, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x1x1x1xf32>, vector<1x4x1x1xf32> into vector<1x4x4x1xf32>
  %kept = memref.alloca() : memref<1x4x4x1xf32, #gpu.address_space<private>>
  vector.transfer_write %sum, %kept[%c0, %c0, %c0, %c0] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x4x4x1xf32, #gpu.address_space<private>>
  // expected-remark @+1 {{a lane keeps parts of what is renamed}}
  %part = vector.transfer_read %kept[%c0, %c0, %c0, %c0], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x1xf32, #gpu.address_space<private>>, vector<1x1x4x1xf32>
  %again = vector.transfer_read %kept[%c0, %c0, %c0, %c0], %pad {in_bounds = [true, true, true, true]} : memref<1x4x4x1xf32, #gpu.address_space<private>>, vector<1x4x4x1xf32>
  %st = vector.transpose %again, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  %four = vector.step : vector<4xindex>
  %rows = vector.broadcast %four : vector<4xindex> to vector<1x1x4x4xindex>
  %rowsof = vector.transpose %rows, [0, 3, 2, 1] : vector<1x1x4x4xindex> to vector<1x4x4x1xindex>
  %group = vector.broadcast %r : index to vector<1x4x4x1xindex>
  %row = arith.addi %rowsof, %group : vector<1x4x4x1xindex>
  %steps = vector.broadcast %four : vector<4xindex> to vector<1x4x1x4xindex>
  %stepsof = vector.transpose %steps, [0, 1, 3, 2] : vector<1x4x1x4xindex> to vector<1x4x4x1xindex>
  %sixteen = arith.constant dense<16> : vector<1x4x4x1xindex>
  %stepat = arith.muli %stepsof, %sixteen overflow<nsw> : vector<1x4x4x1xindex>
  %slot = vector.broadcast %l#2 : index to vector<1x4x4x1xindex>
  %column = arith.addi %stepat, %slot : vector<1x4x4x1xindex>
  %edges = arith.constant dense<60> : vector<1x4x4x1xindex>
  %last = arith.constant dense<15> : vector<1x4x4x1xindex>
  %rowin = arith.cmpi ult, %row, %last : vector<1x4x4x1xindex>
  %columnin = arith.cmpi ult, %column, %edges : vector<1x4x4x1xindex>
  %mask = arith.andi %rowin, %columnin : vector<1x4x4x1xi1>
  %width = arith.constant dense<60> : vector<1x4x4x1xindex>
  %rowat = arith.muli %row, %width : vector<1x4x4x1xindex>
  %index = arith.addi %rowat, %column : vector<1x4x4x1xindex>
  %i1 = vector.shape_cast %index : vector<1x4x4x1xindex> to vector<16xindex>
  %m1 = vector.shape_cast %mask : vector<1x4x4x1xi1> to vector<16xi1>
  %v1 = vector.shape_cast %st : vector<1x4x4x1xf32> to vector<16xf32>
  vector.scatter %out[%c0] [%i1], %m1, %v1 : memref<960xf32>, vector<16xindex>, vector<16xi1>, vector<16xf32>
  return
}
