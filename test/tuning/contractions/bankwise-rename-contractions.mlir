// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-rename-contractions,canonicalize,cse))' --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-rename-contractions{reductions=true},canonicalize,cse))' --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,FAST

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// The right operand has its columns in rows of the LDS: a lane reads 4 columns of a row at once, and
// writes them side by side.

// CHECK-LABEL: func.func @row_major
// CHECK:         vector.transfer_read %{{.+}} : memref<1x16x8x16xf16, #gpu.address_space<workgroup>>, vector<1x1x8x4xf16>
// CHECK:         %[[FOUR:.+]] = affine.apply affine_map<()[s0] -> (s0 * 4)>
// CHECK:         %[[READ:.+]] = vector.transfer_read %{{.+}}[%c0, %{{.+}}, %c0, %[[FOUR]]], %{{.+}} : memref<8x16x1x64xf16, #gpu.address_space<workgroup>>, vector<8x4x1x4xf16>
// CHECK-NEXT:    %[[CAST:.+]] = vector.shape_cast %[[READ]] : vector<8x4x1x4xf16> to vector<8x4x4x1xf16>
// CHECK-NEXT:    vector.transpose %[[CAST]], [0, 2, 3, 1]
// CHECK:         iree_codegen.inner_tiled
// CHECK:         %[[WIDE:.+]] = vector.shape_cast %{{.+}} : vector<1x4x4x1xf32> to vector<1x4x1x4xf32>
// CHECK-NEXT:    vector.transfer_write %[[WIDE]], %{{.+}}[%c0, %{{.+}}, %c0, %[[FOUR]]] {{.+}} : vector<1x4x1x4xf32>, memref<1x16x1x64xf32>
func.func @row_major(%in: vector<1x8xf16>, %out: memref<16x64xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %k = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x128xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<128x64xf16, #gpu.address_space<workgroup>>
  %q:2 = affine.delinearize_index %x into (8, 8) : index, index
  %p = affine.apply affine_map<(d0) -> (d0 * 8)>(%q#1)
  vector.transfer_write %in, %a[%q#0, %p] {in_bounds = [true, true]} : vector<1x8xf16>, memref<16x128xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %in, %b[%q#0, %p] {in_bounds = [true, true]} : vector<1x8xf16>, memref<128x64xf16, #gpu.address_space<workgroup>>
  gpu.barrier
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 8, 16] : memref<16x128xf16, #gpu.address_space<workgroup>> into memref<1x16x8x16xf16, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [8, 16, 4, 16] : memref<128x64xf16, #gpu.address_space<workgroup>> into memref<8x16x4x16xf16, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %k], %pad {in_bounds = [true, true, true, true]} : memref<1x16x8x16xf16, #gpu.address_space<workgroup>>, vector<1x1x8x4xf16>
  %at = vector.transpose %ar, [0, 2, 1, 3] : vector<1x1x8x4xf16> to vector<1x8x1x4xf16>
  %br = vector.transfer_read %be[%c0, %k, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<8x16x4x16xf16, #gpu.address_space<workgroup>>, vector<8x4x4x1xf16>
  %bt = vector.transpose %br, [0, 2, 3, 1] : vector<8x4x4x1xf16> to vector<8x4x1x4xf16>
  %sum = iree_codegen.inner_tiled ins(%at, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x8x1x4xf16>, vector<8x4x1x4xf16> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %k, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// Both operands have k in rows of the LDS. A lane reads one element in each of 8 steps. Where sums may
// change their order, it reads 4 neighbours of both, the same ones.

// CHECK-LABEL: func.func @summed
// EXACT:         vector.transfer_read %{{.+}} : memref<1x16x8x4xf32, #gpu.address_space<workgroup>>, vector<1x1x8x1xf32>
// EXACT:         vector.transfer_read %{{.+}} : memref<4x16x8x4xf32, #gpu.address_space<workgroup>>, vector<4x1x8x1xf32>
// FAST:          vector.transfer_write {{.+}} memref<64x32xf32
// FAST:          %[[FOUR:.+]] = affine.apply affine_map<()[s0] -> (s0 * 4)>
// FAST:          %[[LEFT:.+]] = vector.transfer_read %{{.+}}[%c0, %{{.+}}, %c0, %[[FOUR]]], %{{.+}} : memref<1x16x2x16xf32, #gpu.address_space<workgroup>>, vector<1x1x2x4xf32>
// FAST:          vector.shape_cast %[[LEFT]] : vector<1x1x2x4xf32> to vector<1x8x1x1xf32>
// FAST:          %[[RIGHT:.+]] = vector.transfer_read %{{.+}}[%c0, %{{.+}}, %c0, %[[FOUR]]], %{{.+}} : memref<4x16x2x16xf32, #gpu.address_space<workgroup>>, vector<4x1x2x4xf32>
// FAST:          vector.shape_cast %[[RIGHT]] : vector<4x1x2x4xf32> to vector<4x1x8x1xf32>
// CHECK:         iree_codegen.inner_tiled
func.func @summed(%in: vector<1x4xf32>, %out: memref<16x64xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<1x4x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<16x32xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<64x32xf32, #gpu.address_space<workgroup>>
  %q:2 = affine.delinearize_index %x into (8, 8) : index, index
  %p = affine.apply affine_map<(d0) -> (d0 * 4)>(%q#1)
  vector.transfer_write %in, %a[%q#0, %p] {in_bounds = [true, true]} : vector<1x4xf32>, memref<16x32xf32, #gpu.address_space<workgroup>>
  vector.transfer_write %in, %b[%q#0, %p] {in_bounds = [true, true]} : vector<1x4xf32>, memref<64x32xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [1, 16, 8, 4] : memref<16x32xf32, #gpu.address_space<workgroup>> into memref<1x16x8x4xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [4, 16, 8, 4] : memref<64x32xf32, #gpu.address_space<workgroup>> into memref<4x16x8x4xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [1, 16, 4, 16] : memref<16x64xf32> into memref<1x16x4x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<1x16x8x4xf32, #gpu.address_space<workgroup>>, vector<1x1x8x1xf32>
  %at = vector.transpose %ar, [0, 2, 1, 3] : vector<1x1x8x1xf32> to vector<1x8x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#2, %c0, %l#1], %pad {in_bounds = [true, true, true, true]} : memref<4x16x8x4xf32, #gpu.address_space<workgroup>>, vector<4x1x8x1xf32>
  %bt = vector.transpose %br, [2, 0, 1, 3] : vector<4x1x8x1xf32> to vector<8x4x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%at, %bt) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<1x8x1x1xf32>, vector<8x4x1x1xf32> into vector<1x4x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<1x4x4x1xf32> to vector<1x4x4x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<1x4x4x1xf32>, memref<1x16x4x16xf32>
  return
}

// The left operand has the rows of the result in rows of the LDS. A lane has 4 rows of the result of
// one instruction: they are 4 rows apart now, with those of the other instructions between them.

// CHECK-LABEL: func.func @rows_of_the_result
// CHECK:         %[[READ:.+]] = vector.transfer_read %{{.+}} : memref<8x4x1x64xf32, #gpu.address_space<workgroup>>, vector<8x1x1x4xf32>
// CHECK-NEXT:    vector.shape_cast %[[READ]] : vector<8x1x1x4xf32> to vector<8x1x4x1xf32>
// CHECK:         %[[SUM:.+]] = iree_codegen.inner_tiled
// CHECK:         %[[ROWS:.+]] = affine.apply affine_map<()[s0] -> (s0 * 4)>
// CHECK:         vector.transpose %{{.+}}, [0, 2, 1, 3, 4, 5] : vector<1x4x4x1x1x1xf32>
// CHECK:         %[[WIDE:.+]] = vector.shape_cast %{{.+}} to vector<1x16x1x1xf32>
// CHECK-NEXT:    vector.transfer_write %[[WIDE]], %{{.+}}[%c0, %[[ROWS]], %c0, %{{.+}}] {{.+}} : vector<1x16x1x1xf32>, memref<1x64x1x16xf32>
func.func @rows_of_the_result(%in: vector<1x4xf32>, %out: memref<64x16xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<4x1x4x1xf32>
  %x = gpu.thread_id x
  %l:3 = affine.delinearize_index %x into (4, 16) : index, index, index
  %r = affine.linearize_index disjoint [%l#1, %c0] by (4, 4) : index
  %a = memref.alloc() : memref<32x64xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<32x16xf32, #gpu.address_space<workgroup>>
  %q:2 = affine.delinearize_index %x into (16, 4) : index, index
  %p = affine.apply affine_map<(d0) -> (d0 * 4)>(%q#1)
  vector.transfer_write %in, %a[%q#0, %p] {in_bounds = [true, true]} : vector<1x4xf32>, memref<32x64xf32, #gpu.address_space<workgroup>>
  vector.transfer_write %in, %b[%q#0, %p] {in_bounds = [true, true]} : vector<1x4xf32>, memref<32x16xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %ae = memref.expand_shape %a [[0, 1], [2, 3]] output_shape [8, 4, 4, 16] : memref<32x64xf32, #gpu.address_space<workgroup>> into memref<8x4x4x16xf32, #gpu.address_space<workgroup>>
  %be = memref.expand_shape %b [[0, 1], [2, 3]] output_shape [8, 4, 1, 16] : memref<32x16xf32, #gpu.address_space<workgroup>> into memref<8x4x1x16xf32, #gpu.address_space<workgroup>>
  %oe = memref.expand_shape %out [[0, 1], [2, 3]] output_shape [4, 16, 1, 16] : memref<64x16xf32> into memref<4x16x1x16xf32>
  %ar = vector.transfer_read %ae[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<8x4x4x16xf32, #gpu.address_space<workgroup>>, vector<8x1x4x1xf32>
  %at = vector.transpose %ar, [2, 0, 3, 1] : vector<8x1x4x1xf32> to vector<4x8x1x1xf32>
  %br = vector.transfer_read %be[%c0, %l#1, %c0, %l#2], %pad {in_bounds = [true, true, true, true]} : memref<8x4x1x16xf32, #gpu.address_space<workgroup>>, vector<8x1x1x1xf32>
  %sum = iree_codegen.inner_tiled ins(%at, %br) outs(%zero) <
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
  > : vector<4x8x1x1xf32>, vector<8x1x1x1xf32> into vector<4x1x4x1xf32>
  %st = vector.transpose %sum, [0, 2, 1, 3] : vector<4x1x4x1xf32> to vector<4x4x1x1xf32>
  vector.transfer_write %st, %oe[%c0, %r, %c0, %l#2] {in_bounds = [true, true, true, true]} : vector<4x4x1x1xf32>, memref<4x16x1x16xf32>
  return
}

// Columns beyond the edge are masked. As the edge is a multiple of 4, a lane stores 4 neighbours or
// none of them.

// CHECK-LABEL: func.func @columns_up_to_an_edge
// CHECK:         vector.transfer_read %{{.+}} : memref<1x4x1x64xf32, #gpu.address_space<workgroup>>, vector<1x1x1x4xf32>
// CHECK:         %[[MOVED:.+]] = arith.muli %[[LANE:.+]]#2, %c3
// CHECK:         %[[COLUMN:.+]] = arith.addi %{{.+}}, %[[MOVED]]
// CHECK:         %[[IN:.+]] = arith.cmpi ult, %[[COLUMN]], %c60
// CHECK:         %[[AT:.+]] = arith.addi %{{.+}}, %[[MOVED]]
// CHECK:         %[[BOTH:.+]] = arith.andi %{{.+}}, %[[IN]]
// CHECK:         scf.if %[[BOTH]] {
// CHECK-NEXT:      %[[FOUR:.+]] = vector.from_elements
// CHECK-NEXT:      vector.store %[[FOUR]], %{{.+}}[%[[AT]]] : memref<960xf32>, vector<4xf32>
// CHECK-COUNT-3: vector.store
// CHECK-NOT:     vector.store
// CHECK-NOT:     vector.scatter
func.func @columns_up_to_an_edge(%in: vector<1x4xf32>, %out: memref<960xf32>, %edge: index) attributes {translation_info = #info} {
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
  vector.scatter %out[%c0] [%i1], %m1, %v1 : memref<960xf32>, vector<16xindex>, vector<16xi1>, vector<16xf32>
  return
}
