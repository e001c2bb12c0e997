// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints,canonicalize,cse))' --mlir-print-local-scope | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints))' --mlir-print-local-scope | FileCheck %s --check-prefix=NOHINT

// NOHINT-NOT: swizzle_hint

// 68 = row 1, group 1 -> group 0.
func.func @constant_offset(%a: memref<4096xf32>) -> vector<4xf32> {
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%c68] : memref<4096xf32>, vector<4xf32>
  return %1 : vector<4xf32>
}

// CHECK-LABEL: func.func @constant_offset
//  CHECK-SAME:   (%[[A:.+]]: memref<4096xf32>)
//       CHECK:   %[[C64:.+]] = arith.constant 64 : index
//       CHECK:   vector.load %[[A]][%[[C64]]]

// Row stride 128 and two rows a phase: 1056 = row 8 -> phase 4, group 2 -> group 6: 1024 + 96.
func.func @row_stride_and_per_phase(%a: memref<4096xi8>) -> vector<16xi8> {
  %c1056 = arith.constant 1056 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<128, 16, 128, 2>] : memref<4096xi8>
  %1 = vector.load %0[%c1056] : memref<4096xi8>, vector<16xi8>
  return %1 : vector<16xi8>
}

// CHECK-LABEL: func.func @row_stride_and_per_phase
//       CHECK:   arith.constant 1120 : index

// A scalar is always inside one group: the offset inside the group is kept.
func.func @scalars(%a: memref<4096xf32>, %o: index, %v: f32) -> f32 {
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  memref.store %v, %0[%o] : memref<4096xf32>
  %1 = memref.load %0[%o] : memref<4096xf32>
  return %1 : f32
}

// CHECK-LABEL: func.func @scalars
//  CHECK-SAME:   (%[[A:.+]]: memref<4096xf32>, %[[O:.+]]: index, %[[V:.+]]: f32)
//   CHECK-DAG:   %[[C4:.+]] = arith.constant 4 : index
//   CHECK-DAG:   %[[C60:.+]] = arith.constant 60 : index
//       CHECK:   %[[ROW:.+]] = arith.shrui %[[O]], %[[C4]] : index
//  CHECK-NEXT:   %[[BITS:.+]] = arith.andi %[[ROW]], %[[C60]] : index
//  CHECK-NEXT:   %[[S:.+]] = arith.xori %[[O]], %[[BITS]] : index
//  CHECK-NEXT:   memref.store %[[V]], %[[A]][%[[S]]]
//  CHECK-NEXT:   memref.load %[[A]][%[[S]]]

// Two of a group of four, at even offsets: not split.
func.func @narrow(%a: memref<4096xf32>, %i: index) -> vector<2xf32> {
  %o = affine.apply affine_map<()[s0] -> (s0 * 2)>()[%i]
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%o] : memref<4096xf32>, vector<2xf32>
  return %1 : vector<2xf32>
}

// CHECK-LABEL: func.func @narrow
//       CHECK:   arith.xori
//       CHECK:   vector.load {{.*}}, vector<2xf32>
//   CHECK-NOT:   vector.load

// The groups that a wide access is made of move apart; each has its own offset.
func.func @split_load(%a: memref<4096xf32>) -> vector<8xf32> {
  %c72 = arith.constant 72 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%c72] : memref<4096xf32>, vector<8xf32>
  return %1 : vector<8xf32>
}

// CHECK-LABEL: func.func @split_load
//  CHECK-SAME:   (%[[A:.+]]: memref<4096xf32>)
//   CHECK-DAG:   %[[C72:.+]] = arith.constant 72 : index
//   CHECK-DAG:   %[[C76:.+]] = arith.constant 76 : index
//   CHECK-DAG:   %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : vector<8xf32>
//       CHECK:   %[[V0:.+]] = vector.load %[[A]][%[[C76]]] : memref<4096xf32>, vector<4xf32>
//       CHECK:   %[[R0:.+]] = vector.insert_strided_slice %[[V0]], %[[ZERO]] offsets = [0], strides = [1] : vector<4xf32> into vector<8xf32>
//       CHECK:   %[[V1:.+]] = vector.load %[[A]][%[[C72]]] : memref<4096xf32>, vector<4xf32>
//       CHECK:   %[[R1:.+]] = vector.insert_strided_slice %[[V1]], %[[R0]] offsets = [4], strides = [1] : vector<4xf32> into vector<8xf32>
//       CHECK:   return %[[R1]]

func.func @split_store(%a: memref<4096xi8>, %v: vector<8xi8>) {
  %c72 = arith.constant 72 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.rotate_rows<64, 4>] : memref<4096xi8>
  vector.store %v, %0[%c72] : memref<4096xi8>, vector<8xi8>
  return
}

// CHECK-LABEL: func.func @split_store
//  CHECK-SAME:   (%[[A:.+]]: memref<4096xi8>, %[[V:.+]]: vector<8xi8>)
//   CHECK-DAG:   %[[C76:.+]] = arith.constant 76 : index
//   CHECK-DAG:   %[[C80:.+]] = arith.constant 80 : index
//       CHECK:   %[[V0:.+]] = vector.extract_strided_slice %[[V]] offsets = [0], sizes = [4], strides = [1] : vector<8xi8> to vector<4xi8>
//       CHECK:   vector.store %[[V0]], %[[A]][%[[C76]]]
//       CHECK:   %[[V1:.+]] = vector.extract_strided_slice %[[V]] offsets = [4], sizes = [4], strides = [1] : vector<8xi8> to vector<4xi8>
//       CHECK:   vector.store %[[V1]], %[[A]][%[[C80]]]

// In rows 2 and 3 all vectors have their halves swapped, wherever they are: they stay whole, and
// only their elements are reordered.
#one_wave = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
func.func @reordered(%a: memref<4096xf16>) attributes {translation_info = #one_wave} {
  %x = gpu.thread_id x upper_bound 64
  %o = affine.apply affine_map<()[s0] -> (s0 * 4 + 512)>()[%x]
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<4, 2, 512, 1>] : memref<4096xf16>
  %1 = vector.load %0[%o] : memref<4096xf16>, vector<4xf16>
  vector.store %1, %0[%o] : memref<4096xf16>, vector<4xf16>
  return
}

// CHECK-LABEL: func.func @reordered
//  CHECK-SAME:   (%[[A:.+]]: memref<4096xf16>)
//   CHECK-NOT:   vector.extract_strided_slice
//       CHECK:   %[[V:.+]] = vector.load %[[A]][%[[O:.+]]] : memref<4096xf16>, vector<4xf16>
//  CHECK-NEXT:   %[[LOGICAL:.+]] = vector.shuffle %[[V]], %{{.+}} [2, 3, 0, 1]
//  CHECK-NEXT:   %[[PHYSICAL:.+]] = vector.shuffle %[[LOGICAL]], %{{.+}} [2, 3, 0, 1]
//  CHECK-NEXT:   vector.store %[[PHYSICAL]], %[[A]][%[[O]]] : memref<4096xf16>, vector<4xf16>

// Addresses move by multiples of a group, 16 bytes here: a promise of 64 becomes one of 16, one of
// 8 stays.
func.func @alignment(%a: memref<4096xf32>) -> (vector<4xf32>, vector<4xf32>) {
  %c64 = arith.constant 64 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%c64] alignment = 64 nontemporal = true : memref<4096xf32>, vector<4xf32>
  %2 = vector.load %0[%c64] alignment = 8 : memref<4096xf32>, vector<4xf32>
  return %1, %2 : vector<4xf32>, vector<4xf32>
}

// CHECK-LABEL: func.func @alignment
//       CHECK:   vector.load {{.*}} alignment = 16 nontemporal = true
//       CHECK:   vector.load {{.*}} alignment = 8 :

// Constants in bits that the swizzled base cannot set stay addends; the others share one XOR each.
func.func @shared_base(%a: memref<4096xf16>) -> (vector<8xf16>, vector<8xf16>, vector<8xf16>, vector<8xf16>) {
  %c8 = arith.constant 8 : index
  %c1024 = arith.constant 1024 : index
  %c1032 = arith.constant 1032 : index
  %x = gpu.thread_id x upper_bound 16
  %b = affine.apply affine_map<()[s0] -> (s0 * 64)>()[%x]
  %o1 = arith.addi %b, %c8 overflow<nsw> : index
  %o2 = arith.addi %b, %c1024 overflow<nsw> : index
  %o3 = arith.addi %b, %c1032 overflow<nsw> : index
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 8>] : memref<4096xf16>
  %0 = vector.load %h[%b] : memref<4096xf16>, vector<8xf16>
  %1 = vector.load %h[%o1] : memref<4096xf16>, vector<8xf16>
  %2 = vector.load %h[%o2] : memref<4096xf16>, vector<8xf16>
  %3 = vector.load %h[%o3] : memref<4096xf16>, vector<8xf16>
  return %0, %1, %2, %3 : vector<8xf16>, vector<8xf16>, vector<8xf16>, vector<8xf16>
}

// CHECK-LABEL: func.func @shared_base
//   CHECK-DAG:   %[[C3:.+]] = arith.constant 3 : index
//   CHECK-DAG:   %[[C8:.+]] = arith.constant 8 : index
//   CHECK-DAG:   %[[C1024:.+]] = arith.constant 1024 : index
//       CHECK:   %[[B:.+]] = affine.apply
//  CHECK-NEXT:   %[[ROW:.+]] = arith.shrui %[[B]], %[[C3]] : index
//  CHECK-NEXT:   %[[BITS:.+]] = arith.andi %[[ROW]], %{{.+}} : index
//  CHECK-NEXT:   %[[S:.+]] = arith.xori %[[B]], %[[BITS]] : index
//  CHECK-NEXT:   %[[S8:.+]] = arith.xori %[[S]], %[[C8]] : index
//  CHECK-NEXT:   vector.load %{{.+}}[%[[S]]]
//  CHECK-NEXT:   vector.load %{{.+}}[%[[S8]]]
//  CHECK-NEXT:   %[[O2:.+]] = arith.addi %[[S]], %[[C1024]] overflow<nsw, nuw> : index
//  CHECK-NEXT:   vector.load %{{.+}}[%[[O2]]]
//  CHECK-NEXT:   %[[O3:.+]] = arith.addi %[[S8]], %[[C1024]] overflow<nsw, nuw> : index
//  CHECK-NEXT:   vector.load %{{.+}}[%[[O3]]]

// Constant digits leave a linearize_index; the swizzle repeats every 512 elements, so 2 * 512 is
// an addend although nothing is known of %i.
func.func @constant_digits(%a: memref<4096xf16>, %i: index) -> vector<8xf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %o = affine.linearize_index [%c2, %i, %c0] by (8, 64, 8) : index
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 8>] : memref<4096xf16>
  %0 = vector.load %h[%o] : memref<4096xf16>, vector<8xf16>
  return %0 : vector<8xf16>
}

// CHECK-LABEL: func.func @constant_digits
//   CHECK-DAG:   %[[C1024:.+]] = arith.constant 1024 : index
//       CHECK:   %[[B:.+]] = affine.linearize_index
//       CHECK:   %[[S:.+]] = arith.xori %[[B]], %{{.+}} : index
//       CHECK:   %[[O:.+]] = arith.addi %[[S]], %[[C1024]] overflow<nsw> : index
//       CHECK:   vector.load %{{.+}}[%[[O]]]

// S(base) stays where its base is, outside of the loop.
func.func @hoisted(%a: memref<4096xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu.thread_id x upper_bound 64
  %b = affine.apply affine_map<()[s0] -> (s0 * 64)>()[%x]
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 8>] : memref<4096xf16>
  scf.for %i = %c0 to %n step %c1 {
    %0 = vector.load %h[%b] : memref<4096xf16>, vector<8xf16>
    vector.store %0, %h[%b] : memref<4096xf16>, vector<8xf16>
  }
  return
}

// CHECK-LABEL: func.func @hoisted
//       CHECK:   %[[S:.+]] = arith.xori
//       CHECK:   scf.for
//  CHECK-NEXT:     %[[V:.+]] = vector.load %{{.+}}[%[[S]]]
//  CHECK-NEXT:     vector.store %[[V]], %{{.+}}[%[[S]]]

// %h1 at o is element S0(S1(o)): S1 = xor_shuffle<32, 16> moves 48 to 32, S0 = xor_shuffle<16, 8>
// moves 32 (row 2, group 0) to 32, and 48 + 8 by way of 40 to 40. Runs of 8 stay together.
func.func @chain(%a: memref<4096xf16>) -> vector<16xf16> {
  %c48 = arith.constant 48 : index
  %h0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<16, 8>] : memref<4096xf16>
  %h1 = iree_codegen.swizzle_hint %h0[#iree_codegen.xor_shuffle<32, 16>] : memref<4096xf16>
  %0 = vector.load %h1[%c48] : memref<4096xf16>, vector<16xf16>
  return %0 : vector<16xf16>
}

// CHECK-LABEL: func.func @chain
//   CHECK-DAG:   %[[C32:.+]] = arith.constant 32 : index
//   CHECK-DAG:   %[[C40:.+]] = arith.constant 40 : index
//       CHECK:   vector.load %{{.+}}[%[[C32]]] : memref<4096xf16>, vector<8xf16>
//       CHECK:   vector.load %{{.+}}[%[[C40]]] : memref<4096xf16>, vector<8xf16>

// A chain whose links feed each other is applied in two terms, not in three.
func.func @chain_of_terms(%a: memref<4096xf16>, %o: index) -> f16 {
  %h0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<16, 4>] : memref<4096xf16>
  %h1 = iree_codegen.swizzle_hint %h0[#iree_codegen.xor_shuffle<64, 16, 256, 1>] : memref<4096xf16>
  %0 = memref.load %h1[%o] : memref<4096xf16>
  return %0 : f16
}

// CHECK-LABEL: func.func @chain_of_terms
//  CHECK-SAME:   (%[[A:.+]]: memref<4096xf16>, %[[O:.+]]: index)
//       CHECK:   %[[R1:.+]] = arith.shrui %[[O]], %{{.+}}
//       CHECK:   %[[M1:.+]] = arith.andi %[[R1]], %{{.+}}
//       CHECK:   %[[S1:.+]] = arith.xori %[[O]], %[[M1]]
//       CHECK:   %[[R0:.+]] = arith.shrui %[[S1]], %{{.+}}
//       CHECK:   %[[M0:.+]] = arith.andi %[[R0]], %{{.+}}
//       CHECK:   %[[S0:.+]] = arith.xori %[[S1]], %[[M0]]
//  CHECK-NEXT:   memref.load %{{.+}}[%[[S0]]]

// rotate_rows: one sum per base; a constant adds to it inside the group field only.
func.func @rotate(%a: memref<4096xf32>) -> (vector<4xf32>, vector<4xf32>) {
  %c4 = arith.constant 4 : index
  %c1028 = arith.constant 1028 : index
  %x = gpu.thread_id x upper_bound 16
  %b = affine.apply affine_map<()[s0] -> (s0 * 64)>()[%x]
  %o = arith.addi %b, %c1028 : index
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.rotate_rows<64, 4>] : memref<4096xf32>
  %0 = vector.load %h[%b] : memref<4096xf32>, vector<4xf32>
  %1 = vector.load %h[%o] : memref<4096xf32>, vector<4xf32>
  return %0, %1 : vector<4xf32>, vector<4xf32>
}

// CHECK-LABEL: func.func @rotate
//   CHECK-NOT:   arith.div
//   CHECK-NOT:   arith.rem
//       CHECK:   %[[O:.+]] = arith.addi %{{.+}}, %c1024 overflow<nsw, nuw> : index
//       CHECK:   vector.load %{{.+}}[%[[O]]]

// 3 groups a row and no power of two: (row 1 + group 1) mod 3 = 2, so 16 -> 20.
func.func @rotate_three_groups(%a: memref<1200xf32>, %o: index) -> (vector<4xf32>, f32) {
  %c16 = arith.constant 16 : index
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.rotate_rows<12, 4>] : memref<1200xf32>
  %0 = vector.load %h[%c16] : memref<1200xf32>, vector<4xf32>
  %1 = memref.load %h[%o] : memref<1200xf32>
  return %0, %1 : vector<4xf32>, f32
}

// CHECK-LABEL: func.func @rotate_three_groups
//  CHECK-SAME:   (%[[A:.+]]: memref<1200xf32>, %[[O:.+]]: index)
//   CHECK-DAG:   %[[C20:.+]] = arith.constant 20 : index
//   CHECK-DAG:   arith.remui %[[O]], %c12 : index
//   CHECK-DAG:   arith.divui %[[O]], %c12 : index
//       CHECK:   vector.load %[[A]][%[[C20]]]

// Buffers that rotate through a loop are one group; hints may sit before or inside the loop.
func.func @double_buffer(%n: index, %v: vector<4xf32>) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c68 = arith.constant 68 : index
  %a = memref.alloc() : memref<4096xf32>
  %b = memref.alloc() : memref<4096xf32>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b, %w = %v) -> (memref<4096xf32>, memref<4096xf32>, vector<4xf32>) {
    %hx = iree_codegen.swizzle_hint %x[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
    %l = vector.load %hx[%c68] : memref<4096xf32>, vector<4xf32>
    %hy = iree_codegen.swizzle_hint %y[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
    vector.store %w, %hy[%c68] : memref<4096xf32>, vector<4xf32>
    scf.yield %y, %x, %l : memref<4096xf32>, memref<4096xf32>, vector<4xf32>
  }
  %h = iree_codegen.swizzle_hint %r#0[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %l = vector.load %h[%c68] : memref<4096xf32>, vector<4xf32>
  memref.dealloc %a : memref<4096xf32>
  memref.dealloc %b : memref<4096xf32>
  return %l : vector<4xf32>
}

// CHECK-LABEL: func.func @double_buffer
//       CHECK:   %[[C64:.+]] = arith.constant 64 : index
//       CHECK:   scf.for {{.*}} iter_args(%[[X:[^ ]+]] = %{{[^ ]+}}, %[[Y:[^ ]+]] = %{{[^ ]+}}, %[[W:[^ ]+]] = 
//       CHECK:     vector.load %[[X]][%[[C64]]]
//       CHECK:     vector.store %[[W]], %[[Y]][%[[C64]]]
//       CHECK:     scf.yield %[[Y]], %[[X]]
//       CHECK:   vector.load %{{.+}}[%[[C64]]]

// The hint flows into the loop, and into a choice.
func.func @hint_before_the_loop(%n: index, %c: i1) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c68 = arith.constant 68 : index
  %a = memref.alloc() : memref<4096xf32>
  %b = memref.alloc() : memref<4096xf32>
  %ha = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %hb = iree_codegen.swizzle_hint %b[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %s = arith.select %c, %ha, %hb : memref<4096xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %ha, %y = %hb) -> (memref<4096xf32>, memref<4096xf32>) {
    scf.yield %y, %x : memref<4096xf32>, memref<4096xf32>
  }
  %0 = memref.load %s[%c68] : memref<4096xf32>
  %1 = memref.load %r#1[%c68] : memref<4096xf32>
  return %0, %1 : f32, f32
}

// CHECK-LABEL: func.func @hint_before_the_loop
//       CHECK:   %[[C64:.+]] = arith.constant 64 : index
//       CHECK:   %[[S:.+]] = arith.select
//       CHECK:   memref.load %[[S]][%[[C64]]]
//       CHECK:   memref.load %{{.+}}[%[[C64]]]

// Vectors of 6 are neither whole groups of 4 nor part of one: split where a group may begin.
// Where all begin is known: after 4 elements.
func.func @six_elements(%a: memref<4096xf32>, %v: vector<6xf32>) {
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  vector.store %v, %0[%c68] : memref<4096xf32>, vector<6xf32>
  return
}

// CHECK-LABEL: func.func @six_elements(
//   CHECK-DAG:   %[[C64:.+]] = arith.constant 64 : index
//   CHECK-DAG:   %[[C76:.+]] = arith.constant 76 : index
//       CHECK:   %[[FIRST:.+]] = vector.extract_strided_slice %{{.+}} offsets = [0], sizes = [4], strides = [1]
//       CHECK:   vector.store %[[FIRST]], %{{.+}}[%[[C64]]] : memref<4096xf32>, vector<4xf32>
//       CHECK:   %[[REST:.+]] = vector.extract_strided_slice %{{.+}} offsets = [4], sizes = [2], strides = [1]
//       CHECK:   vector.store %[[REST]], %{{.+}}[%[[C76]]] : memref<4096xf32>, vector<2xf32>

// Every other lane begins in the middle of a group: after 2 elements too.
func.func @six_elements_of_each_lane(%a: memref<4096xf32>) -> vector<6xf32> {
  %x = gpu.thread_id x upper_bound 64
  %o = affine.apply affine_map<()[s0] -> (s0 * 6)>()[%x]
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%o] : memref<4096xf32>, vector<6xf32>
  return %1 : vector<6xf32>
}

// CHECK-LABEL: func.func @six_elements_of_each_lane(
// CHECK-COUNT-3: vector.load %{{.+}} : memref<4096xf32>, vector<2xf32>
//   CHECK-NOT:   vector.load

// The second part begins after a run of 6 elements: at a multiple of 8 bytes, not of 16.
func.func @alignment_of_parts() -> vector<10xf32> {
  %a = memref.alloc() : memref<48xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.rotate_rows<12, 6>] : memref<48xf32, #gpu.address_space<workgroup>>
  %1 = vector.load %0[%c0] : memref<48xf32, #gpu.address_space<workgroup>>, vector<10xf32>
  return %1 : vector<10xf32>
}

// CHECK-LABEL: func.func @alignment_of_parts(
//       CHECK:   vector.load %{{.+}} alignment = 8 : {{.+}}, vector<6xf32>
//       CHECK:   vector.load %{{.+}} alignment = 8 : {{.+}}, vector<4xf32>

// Nothing to do: a hint that nobody uses, and a function without hints.
func.func @unused(%a: memref<4096xf32>) {
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  return
}

// CHECK-LABEL: func.func @unused
//  CHECK-NEXT:   return

// The flat memref is a view of rows, into which the compiler takes offsets apart again. So rows are
// counted in a digit of their own: 256 elements are two rows of 128.
func.func @rows_behind(%m: memref<32x128xf32, strided<[128, 1], offset: ?>>) -> (vector<4xf32>, vector<4xf32>) {
  %a = memref.collapse_shape %m [[0, 1]] : memref<32x128xf32, strided<[128, 1], offset: ?>> into memref<4096xf32, strided<[1], offset: ?>>
  %x = gpu.thread_id x upper_bound 64
  %o = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%x]
  %c256 = arith.constant 256 : index
  %p = arith.addi %o, %c256 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32, strided<[1], offset: ?>>
  %1 = vector.load %0[%o] : memref<4096xf32, strided<[1], offset: ?>>, vector<4xf32>
  %2 = vector.load %0[%p] : memref<4096xf32, strided<[1], offset: ?>>, vector<4xf32>
  return %1, %2 : vector<4xf32>, vector<4xf32>
}

// CHECK-LABEL: func.func @rows_behind
//       CHECK:   %[[OFFSET:.+]] = arith.xori %{{.+}}, %c16
//       CHECK:   %[[ROW:.+]] = arith.shrui %[[OFFSET]], %c7
//       CHECK:   %[[PLACE:.+]] = arith.andi %[[OFFSET]], %c127
//       CHECK:   %[[BEHIND:.+]] = arith.addi %[[ROW]], %c2 overflow<nsw, nuw>
//       CHECK:   %[[SUM:.+]] = affine.linearize_index [%[[BEHIND]], %[[PLACE]]] by (128)
//       CHECK:   vector.load %{{.+}}[%[[SUM]]]

// The bits of the offset do not say that it is no negative number, but its values in all lanes do. A
// mask says it to the compiler.
func.func @shown_bounded(%a: memref<4096xf32>) -> vector<4xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %l = gpu.lane_id
  %zero = arith.subi %x, %l : index
  %o = affine.linearize_index disjoint [%l, %zero, %c0] by (64, 16, 4) : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%o] : memref<4096xf32>, vector<4xf32>
  return %1 : vector<4xf32>
}

// CHECK-LABEL: func.func @shown_bounded
//       CHECK:   %[[OFFSET:.+]] = affine.linearize_index
//       CHECK:   %[[SMALL:.+]] = arith.andi %[[OFFSET]], %c4095
//       CHECK:   %[[SWIZZLED:.+]] = arith.xori %[[SMALL]]
//       CHECK:   vector.load %{{.+}}[%[[SWIZZLED]]]

// Rows of 392 are no power of two, so that no bits tell a lane's row. But in all lanes 8 and 12 lie
// 8 elements behind 0 and 4: only these are swizzled.
func.func @rows_of_no_power_of_two(%a: memref<6272xf32>) -> (f32, f32, f32, f32) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  %x = gpu.thread_id x
  %row, %column = affine.delinearize_index %x into (16, 4) : index, index
  %o = affine.linearize_index disjoint [%row, %column] by (16, 392) : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %o4 = arith.addi %o, %c4 overflow<nsw, nuw> : index
  %o8 = arith.addi %o, %c8 overflow<nsw, nuw> : index
  %o12 = arith.addi %o, %c12 overflow<nsw, nuw> : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<8, 2, 392, 4>] : memref<6272xf32>
  %1 = memref.load %0[%o] : memref<6272xf32>
  %2 = memref.load %0[%o4] : memref<6272xf32>
  %3 = memref.load %0[%o8] : memref<6272xf32>
  %4 = memref.load %0[%o12] : memref<6272xf32>
  return %1, %2, %3, %4 : f32, f32, f32, f32
}

// CHECK-LABEL: func.func @rows_of_no_power_of_two
//       CHECK:   memref.load %{{.+}}[%[[AT_0:.+]]] :
//       CHECK:   memref.load %{{.+}}[%[[AT_4:.+]]] :
//       CHECK:   %[[AT_8:.+]] = arith.addi %[[AT_0]], %c8 overflow<nsw, nuw>
//       CHECK:   memref.load %{{.+}}[%[[AT_8]]] :
//       CHECK:   %[[AT_12:.+]] = arith.addi %[[AT_4]], %c8 overflow<nsw, nuw>
//       CHECK:   memref.load %{{.+}}[%[[AT_12]]] :
