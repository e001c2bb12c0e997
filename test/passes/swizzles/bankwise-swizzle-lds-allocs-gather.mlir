// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs,cse))' --iree-gpu-test-target=gfx950 --mlir-print-local-scope | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Lane l stores 4 elements at 4 l, the hardware says so; it fetches what the swizzle wants there.
// The swizzle repeats within what the wave stores, so that its start is of no account.

// CHECK-LABEL: func.func @permuted
//  CHECK-SAME:   (%[[FROM:.+]]: memref<256xf32>)
//       CHECK:   %[[T:.+]] = gpu.thread_id x
//       CHECK:   %[[A:.+]] = memref.alloc()
//       CHECK:   %[[H:.+]] = iree_codegen.swizzle_hint %[[A]][#iree_codegen.xor_shuffle<32, 16, 64, 1>]
//       CHECK:   %[[LANE:.+]] = arith.remui %[[T]], %{{.+}}
//       CHECK:   %[[PLACE:.+]] = arith.muli %[[LANE]]
//       CHECK:   %[[SHIFTED:.+]] = arith.shrui %[[PLACE]]
//       CHECK:   %[[MASKED:.+]] = arith.andi %[[SHIFTED]]
//       CHECK:   %[[ELEMENT:.+]] = arith.xori %[[PLACE]], %[[MASKED]]
//       CHECK:   %[[OTHER:.+]] = arith.divui %[[ELEMENT]]
//       CHECK:   %[[WAVE:.+]] = arith.subi %[[T]], %[[LANE]]
//       CHECK:   %[[THREAD:.+]] = arith.addi %[[WAVE]], %[[OTHER]]
//       CHECK:   %[[X:.+]] = arith.remui %[[THREAD]]
//       CHECK:   %[[SOURCE:.+]] = affine.apply affine_map<(d0) -> (d0 * 4)>(%[[X]])
//       CHECK:   amdgpu.gather_to_lds %[[FROM]][%[[SOURCE]]], %[[H]]
//       CHECK:   vector.load %[[H]]
func.func @permuted(%from: memref<256xf32>) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  %place = affine.apply affine_map<(t) -> (t * 4)>(%x)
  amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

#four_waves = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [256, 1, 1] subgroup_size = 64>

// Four waves store 2 rows each, and the swizzle takes the row into account: so does the lane.

// CHECK-LABEL: func.func @rows_of_waves
//       CHECK:   %[[ROW:.+]] = affine.apply affine_map<(d0) -> ((d0 floordiv 64) * 2)>
//       CHECK:   %[[FIRST:.+]] = arith.muli %[[ROW]]
//       CHECK:   %[[START:.+]] = arith.addi %[[FIRST]]
//       CHECK:   arith.addi %{{.+}}, %[[START]]
//       CHECK:   arith.xori
//       CHECK:   arith.subi %{{.+}}, %[[START]]
//       CHECK:   amdgpu.gather_to_lds
func.func @rows_of_waves(%from: memref<8x64xf16>) -> vector<8xf16> attributes {translation_info = #four_waves} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x upper_bound 256
  %a = memref.alloc() : memref<8x64xf16, #gpu.address_space<workgroup>>
  %first = affine.apply affine_map<(t) -> (t floordiv 64 * 2)>(%x)
  %row = affine.apply affine_map<(t) -> (t floordiv 32)>(%x)
  %column = affine.apply affine_map<(t) -> (t mod 32 * 2)>(%x)
  amdgpu.gather_to_lds %from[%row, %column], %a[%first, %c0] : vector<2xf16>, memref<8x64xf16>, memref<8x64xf16, #gpu.address_space<workgroup>>
  %to_row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %to_column = affine.apply affine_map<(t) -> (t mod 64 floordiv 8 * 8)>(%x)
  %r = vector.load %a[%to_row, %to_column] : memref<8x64xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  return %r : vector<8xf16>
}

// What is the same in all lanes is not computed again, and a promise on neighbouring lanes is not
// kept: `index_hint` goes.

// CHECK-LABEL: func.func @same_in_all_lanes
//       CHECK:   %[[BLOCK:.+]] = gpu.block_id x
//       CHECK:   %[[BASE:.+]] = arith.muli %[[BLOCK]]
//   CHECK-NOT:   arith.muli %[[BLOCK]]
//       CHECK:   arith.divui
//       CHECK:   %[[PART:.+]] = affine.apply affine_map<(d0) -> (d0 * 4)>
//       CHECK:   %[[SOURCE:.+]] = arith.addi %[[BASE]], %[[PART]]
//       CHECK:   amdgpu.gather_to_lds %{{.+}}[%[[SOURCE]]]
func.func @same_in_all_lanes(%from: memref<1024xf32>) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %block = gpu.block_id x
  %base = arith.muli %block, %c256 : index
  %x = gpu.thread_id x
  %hinted = iree_codegen.index_hint %x(#iree_gpu.lane_increment<64>) : index
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  %part = affine.apply affine_map<(t) -> (t * 4)>(%hinted)
  %place = arith.addi %base, %part : index
  amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<1024xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

#two_waves = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [128, 1, 1] subgroup_size = 64>

// The loop begins at the number of the thread, and the first wave alone runs it, as a whole. The
// other lane counts from its own number: as far ahead of that as this lane is ahead of its own.

// CHECK-LABEL: func.func @loop_from_the_thread
//       CHECK:   %[[T:.+]] = gpu.thread_id x
//       CHECK:   iree_codegen.swizzle_hint
//       CHECK:   scf.for %[[I:.+]] = %[[T]] to
//       CHECK:     %[[LANE:.+]] = arith.remui %[[T]]
//       CHECK:     %[[WAVE:.+]] = arith.subi %[[T]], %[[LANE]]
//       CHECK:     %[[THREAD:.+]] = arith.addi %[[WAVE]]
//       CHECK:     %[[X:.+]] = arith.remui %[[THREAD]]
//       CHECK:     %[[AHEAD:.+]] = arith.subi %[[I]], %[[T]]
//       CHECK:     %[[OTHER:.+]] = arith.addi %[[X]], %[[AHEAD]]
//       CHECK:     %[[SOURCE:.+]] = affine.apply affine_map<(d0) -> (d0 * 4)>(%[[OTHER]])
//       CHECK:     amdgpu.gather_to_lds %{{.+}}[%[[SOURCE]]]
func.func @loop_from_the_thread(%from: memref<256xf32>) -> vector<4xf32> attributes {translation_info = #two_waves} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  scf.for %i = %x to %c64 step %c128 {
    %place = affine.apply affine_map<(t) -> (t * 4)>(%i)
    amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
  }
  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t mod 64 floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}
