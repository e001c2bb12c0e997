// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-join-stores))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope | FileCheck %s

// Lanes 2 n and 2 n + 1 have neighbours of a row. An even one gets what both have for the first store, and an odd one
// what both have for the second.

// CHECK-LABEL: func.func @two
// CHECK:         %[[T:.+]] = gpu.thread_id
// CHECK:         %[[ROW:.+]] = affine.linearize_index
// CHECK:         %[[A:.+]] = vector.extract %{{.+}}[0] : i32 from vector<1xi32>
// CHECK:         %[[B:.+]] = vector.extract %{{.+}}[0] : i32 from vector<1xi32>
// CHECK:         %[[ODD:.+]] = arith.cmpi ne
// CHECK:         %[[SENT:.+]] = arith.select %[[ODD]], %[[A]], %[[B]] : i32
// CHECK:         %[[GOT:.+]], %{{.+}} = gpu.shuffle xor %[[SENT]], %{{.+}}, %{{.+}} : i32
// CHECK:         %[[LOW:.+]] = arith.select %[[ODD]], %[[GOT]], %[[A]] : i32
// CHECK:         %[[HIGH:.+]] = arith.select %[[ODD]], %[[B]], %[[GOT]] : i32
// CHECK:         %[[WORDS:.+]] = vector.from_elements %[[LOW]], %[[HIGH]] : vector<2xi32>
// CHECK:         %[[BOTH:.+]] = vector.bitcast %[[WORDS]] : vector<2xi32> to vector<4xf16>
// CHECK:         vector.store %[[BOTH]], %{{.+}}[%[[ROW]], %{{.+}}] alignment = 8 : {{.+}}, vector<4xf16>
// CHECK-NOT:     vector.store
func.func @two(%a: vector<2xf16>, %b: vector<2xf16>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %t = gpu.thread_id x upper_bound 64
  %m = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer>]>) binding(0) alignment(64) offset(%c0) : memref<32x16xf16, #hal.descriptor_type<storage_buffer>>
  %memory = memref.assume_alignment %m, 64 : memref<32x16xf16, #hal.descriptor_type<storage_buffer>>
  scf.forall (%i) in (2) {
    %d:2 = affine.delinearize_index %t into (16, 4) : index, index
    %row = affine.linearize_index [%i, %d#0] by (2, 16) : index
    %col = affine.linearize_index [%d#1, %c0] by (4, 2) : index
    vector.store %a, %memory[%row, %col] : memref<32x16xf16, #hal.descriptor_type<storage_buffer>>, vector<2xf16>
    %more = arith.addi %col, %c8 : index
    vector.store %b, %memory[%row, %more] : memref<32x16xf16, #hal.descriptor_type<storage_buffer>>, vector<2xf16>
  } {mapping = [#iree_codegen.workgroup_mapping<x>]}
  return
}

// Rows end at 29, in the memory, too. Where one is beyond, none of the four lanes stores, but all of them exchange.

// CHECK-LABEL: func.func @up_to_an_end
// CHECK:         gpu.shuffle xor
// CHECK:         scf.if
// CHECK:           %[[AT:.+]] = arith.addi
// CHECK-NEXT:      vector.store %{{.+}}, %{{.+}}[%[[AT]]] alignment = 16 : {{.+}}, vector<4xf32>
// CHECK-NEXT:    }
// CHECK:         scf.if
// CHECK:           %[[AT:.+]] = arith.addi
// CHECK-NEXT:      vector.store %{{.+}}, %{{.+}}[%[[AT]]] alignment = 16 : {{.+}}, vector<4xf32>
// CHECK-NEXT:    }
func.func @up_to_an_end(%a: vector<2xf32>, %b: vector<2xf32>, %c: vector<2xf32>, %d: vector<2xf32>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c28 = arith.constant 28 : index
  %t = gpu.thread_id x upper_bound 32
  %m = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer>]>) binding(0) alignment(64) offset(%c0) : memref<464xf32, #hal.descriptor_type<storage_buffer>>
  %memory = memref.assume_alignment %m, 64 : memref<464xf32, #hal.descriptor_type<storage_buffer>>
  scf.forall (%i) in (2) {
    %l:2 = affine.delinearize_index %t into (8, 4) : index, index
    %col = arith.muli %l#1, %c2 : index
    %first = affine.linearize_index [%i, %l#0] by (2, 16) : index
    %second = arith.addi %first, %c8 : index
    %is_first = arith.cmpi ule, %first, %c28 : index
    %is_second = arith.cmpi ule, %second, %c28 : index
    %row = arith.minui %first, %c28 : index
    %start = arith.muli %row, %c16 : index
    %at = arith.addi %start, %col : index
    %next = arith.addi %at, %c8 : index
    scf.if %is_first {
      vector.store %a, %memory[%at] : memref<464xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
      vector.store %b, %memory[%next] : memref<464xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
    }
    %other_row = arith.minui %second, %c28 : index
    %other_start = arith.muli %other_row, %c16 : index
    %other = arith.addi %other_start, %col : index
    %last = arith.addi %other, %c8 : index
    scf.if %is_second {
      vector.store %c, %memory[%other] : memref<464xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
      vector.store %d, %memory[%last] : memref<464xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
    }
  } {mapping = [#iree_codegen.workgroup_mapping<x>]}
  return
}

// Each iteration of a loop may store to the same place, and lanes see the order of their own stores alone. Private
// memory is another one in each lane.

// CHECK-LABEL: func.func @kept
// CHECK-COUNT-4: vector.store {{.+}} vector<2xf32>
func.func @kept(%a: vector<2xf32>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %t = gpu.thread_id x upper_bound 32
  %m = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer>]>) binding(0) alignment(64) offset(%c0) : memref<8x16xf32, #hal.descriptor_type<storage_buffer>>
  %memory = memref.assume_alignment %m, 64 : memref<8x16xf32, #hal.descriptor_type<storage_buffer>>
  %own = memref.alloca() : memref<8x16xf32, #gpu.address_space<private>>
  %l:2 = affine.delinearize_index %t into (8, 4) : index, index
  %col = affine.linearize_index [%l#1, %c0] by (4, 2) : index
  %more = arith.addi %col, %c8 : index
  scf.for %i = %c0 to %c4 step %c1 {
    vector.store %a, %memory[%l#0, %col] : memref<8x16xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
    vector.store %a, %memory[%l#0, %more] : memref<8x16xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
  }
  vector.store %a, %own[%l#0, %col] : memref<8x16xf32, #gpu.address_space<private>>, vector<2xf32>
  vector.store %a, %own[%l#0, %more] : memref<8x16xf32, #gpu.address_space<private>>, vector<2xf32>
  return
}

// The work of 64 instructions a sum is not in the stores.

// CHECK-LABEL: func.func @sums_of_many
// CHECK-NOT:     gpu.shuffle
func.func @sums_of_many(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %zero: vector<2x2xf32>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %steps = arith.constant 64 : index
  %t = gpu.thread_id x upper_bound 64
  %m = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer>]>) binding(0) alignment(64) offset(%c0) : memref<32x16xf32, #hal.descriptor_type<storage_buffer>>
  %memory = memref.assume_alignment %m, 64 : memref<32x16xf32, #hal.descriptor_type<storage_buffer>>
  scf.forall (%i) in (2) {
    %sums = scf.for %step = %c0 to %steps step %c1 iter_args(%sum = %zero) -> (vector<2x2xf32>) {
      %r = nvgpu.mma.sync(%a, %b, %sum) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      scf.yield %r : vector<2x2xf32>
    }
    %first = vector.extract %sums[0] : vector<2xf32> from vector<2x2xf32>
    %second = vector.extract %sums[1] : vector<2xf32> from vector<2x2xf32>
    %d:2 = affine.delinearize_index %t into (16, 4) : index, index
    %row = affine.linearize_index [%i, %d#0] by (2, 16) : index
    %col = affine.linearize_index [%d#1, %c0] by (4, 2) : index
    vector.store %first, %memory[%row, %col] : memref<32x16xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
    %more = arith.addi %col, %c8 : index
    vector.store %second, %memory[%row, %more] : memref<32x16xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
  } {mapping = [#iree_codegen.workgroup_mapping<x>]}
  return
}

// CHECK-LABEL: func.func @sums_of_few
// CHECK:         gpu.shuffle
func.func @sums_of_few(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %zero: vector<2x2xf32>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %steps = arith.constant 63 : index
  %t = gpu.thread_id x upper_bound 64
  %m = hal.interface.binding.subspan layout(<bindings = [#hal.pipeline.binding<storage_buffer>]>) binding(0) alignment(64) offset(%c0) : memref<32x16xf32, #hal.descriptor_type<storage_buffer>>
  %memory = memref.assume_alignment %m, 64 : memref<32x16xf32, #hal.descriptor_type<storage_buffer>>
  scf.forall (%i) in (2) {
    %sums = scf.for %step = %c0 to %steps step %c1 iter_args(%sum = %zero) -> (vector<2x2xf32>) {
      %r = nvgpu.mma.sync(%a, %b, %sum) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      scf.yield %r : vector<2x2xf32>
    }
    %first = vector.extract %sums[0] : vector<2xf32> from vector<2x2xf32>
    %second = vector.extract %sums[1] : vector<2xf32> from vector<2x2xf32>
    %d:2 = affine.delinearize_index %t into (16, 4) : index, index
    %row = affine.linearize_index [%i, %d#0] by (2, 16) : index
    %col = affine.linearize_index [%d#1, %c0] by (4, 2) : index
    vector.store %first, %memory[%row, %col] : memref<32x16xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
    %more = arith.addi %col, %c8 : index
    vector.store %second, %memory[%row, %more] : memref<32x16xf32, #hal.descriptor_type<storage_buffer>>, vector<2xf32>
  } {mapping = [#iree_codegen.workgroup_mapping<x>]}
  return
}
