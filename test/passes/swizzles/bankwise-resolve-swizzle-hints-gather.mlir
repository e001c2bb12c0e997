// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints,canonicalize,cse))' --mlir-print-local-scope --verify-diagnostics | FileCheck %s

// gather_to_lds is left as it is, up to the buffer; loads of what it wrote are swizzled.
func.func @destination(%global: memref<2048xf32>) -> vector<4xf32> {
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c68], %0[%c0] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  %1 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  %v = vector.load %1[%c68] : memref<2048xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %v : vector<4xf32>
}

// CHECK-LABEL: func.func @destination
//  CHECK-SAME:   (%[[GLOBAL:.+]]: memref<2048xf32>)
//   CHECK-DAG:   %[[C0:.+]] = arith.constant 0 : index
//   CHECK-DAG:   %[[C68:.+]] = arith.constant 68 : index
//   CHECK-DAG:   %[[C72:.+]] = arith.constant 72 : index
//       CHECK:   %[[ALLOC:.+]] = memref.alloc()
//       CHECK:   amdgpu.gather_to_lds %[[GLOBAL]][%[[C68]]], %[[ALLOC]][%[[C0]]]
//       CHECK:   vector.load %[[ALLOC]][%[[C72]]]

// A hint on the source says how the source offsets were permuted; it needs no layout at all.
func.func @source(%global: memref<?xf32>, %o: index) {
  %alloc = memref.alloc() : memref<256xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %global[#iree_codegen.rotate_rows<64, 4>] : memref<?xf32>
  amdgpu.gather_to_lds %0[%o], %alloc[%c0] : vector<4xf32>, memref<?xf32>, memref<256xf32, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @source
//  CHECK-SAME:   (%[[GLOBAL:.+]]: memref<?xf32>, %[[O:.+]]: index)
//       CHECK:   amdgpu.gather_to_lds %[[GLOBAL]][%[[O]]]

// Written only: nothing to rewrite, and nothing that could be wrong.
func.func @destination_only(%global: memref<2048xf32>) {
  %alloc = memref.alloc() : memref<2000xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2000xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c0], %0[%c0] : vector<4xf32>, memref<2048xf32>, memref<2000xf32, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @destination_only
//       CHECK:   amdgpu.gather_to_lds

// There is no plain layout to fall back to: a load of parts of groups reads element by element.
func.func @load_in_elements(%global: memref<2048xf32>) -> vector<2xf32> {
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c67 = arith.constant 67 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c0], %0[%c0] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  %v = vector.load %0[%c67] : memref<2048xf32, #gpu.address_space<workgroup>>, vector<2xf32>
  return %v : vector<2xf32>
}

// CHECK-LABEL: func.func @load_in_elements
//   CHECK-DAG:   %[[C71:.+]] = arith.constant 71 : index
//   CHECK-DAG:   %[[C72:.+]] = arith.constant 72 : index
//       CHECK:   %[[ALLOC:.+]] = memref.alloc()
//       CHECK:   vector.load %[[ALLOC]][%[[C71]]]{{.*}} vector<1xf32>
//       CHECK:   vector.load %[[ALLOC]][%[[C72]]]{{.*}} vector<1xf32>

// A load beside the hint reads what lies where it reads.
func.func @load_beside_the_hint(%global: memref<2048xf32>) -> f32 {
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c68], %0[%c68] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  // expected-warning @+1 {{memref.load reads memref<2048xf32> without a hint, and nothing writes it so}}
  %v = memref.load %alloc[%c68] : memref<2048xf32, #gpu.address_space<workgroup>>
  return %v : f32
}

// CHECK-LABEL: func.func @load_beside_the_hint
//       CHECK:   %[[C68:.+]] = arith.constant 68 : index
//       CHECK:   memref.load %{{.+}}[%[[C68]]]

// As the op's documentation has it, the gather beside the hint is not swizzled and the load is.
func.func @gather_beside_the_hint(%global: memref<2048xf32>) -> f32 {
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c0], %alloc[%c0] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  // expected-warning @+1 {{memref.load reads memref<2048xf32> through rotate_rows<64, 4>, and nothing writes it so}}
  %v = memref.load %0[%c68] : memref<2048xf32, #gpu.address_space<workgroup>>
  return %v : f32
}

// CHECK-LABEL: func.func @gather_beside_the_hint
//       CHECK:   %[[C72:.+]] = arith.constant 72 : index
//       CHECK:   memref.load %{{.+}}[%[[C72]]]

// Frames of 512 elements, in which the swizzle, which repeats after 2048, begins anew.
func.func @frames(%global: memref<2048xf16>, %i: index) -> vector<8xf16> {
  %alloc = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c136 = arith.constant 136 : index
  %start = affine.apply affine_map<()[s0] -> (s0 * 512)>()[%i]
  %frame = memref.subview %alloc[%start] [512] [1] : memref<1024xf16, #gpu.address_space<workgroup>> to memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %frame[#iree_codegen.xor_shuffle<128, 8>] : memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c0], %0[%c0] : vector<8xf16>, memref<2048xf16>, memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %v = vector.load %0[%c136] : memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, vector<8xf16>
  return %v : vector<8xf16>
}

// CHECK-LABEL: func.func @frames
//       CHECK:   %[[C128:.+]] = arith.constant 128 : index
//       CHECK:   %[[FRAME:.+]] = memref.subview
//       CHECK:   vector.load %[[FRAME]][%[[C128]]] alignment = 16

// What is done to the memory beside the hints need not be understood.
func.func @unknown_user_beside_the_hint(%global: memref<2048xf32>, %m: vector<4xi1>, %x: vector<4xf32>) -> (vector<4xf32>, vector<2xf32>) {
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c67 = arith.constant 67 : index
  %c68 = arith.constant 68 : index
  vector.maskedstore %alloc[%c68], %m, %x : memref<2048xf32, #gpu.address_space<workgroup>>, vector<4xi1>, vector<4xf32>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c68], %0[%c0] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  %1 = memref.assume_alignment %0, 16 : memref<2048xf32, #gpu.address_space<workgroup>>
  %v = vector.load %1[%c68] : memref<2048xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  %w = vector.load %0[%c67] : memref<2048xf32, #gpu.address_space<workgroup>>, vector<2xf32>
  return %v, %w : vector<4xf32>, vector<2xf32>
}

// CHECK-LABEL: func.func @unknown_user_beside_the_hint
//   CHECK-DAG:   %[[C68:.+]] = arith.constant 68 : index
//   CHECK-DAG:   %[[C71:.+]] = arith.constant 71 : index
//   CHECK-DAG:   %[[C72:.+]] = arith.constant 72 : index
//       CHECK:   vector.maskedstore %{{.+}}[%[[C68]]]
//       CHECK:   vector.load %{{.+}}[%[[C72]]]{{.*}} vector<4xf32>
//       CHECK:   vector.load %{{.+}}[%[[C71]]]{{.*}} vector<1xf32>
//       CHECK:   vector.load %{{.+}}[%[[C72]]]{{.*}} vector<1xf32>

// -----

func.func @unknown_user(%global: memref<2048xf32>) -> memref<2048xf32, #gpu.address_space<workgroup>> {
  // expected-error @+1 {{all swizzle hints must resolve: unsupported user func.return}}
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c0], %0[%c0] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  return %0 : memref<2048xf32, #gpu.address_space<workgroup>>
}

// -----

// A hinted value that is chosen among others has accesses whose hints are not known.
func.func @chosen_beside_an_unknown_user(%global: memref<2048xf32>, %p: i1, %m: vector<4xi1>, %x: vector<4xf32>) -> vector<4xf32> {
  // expected-error @+1 {{all swizzle hints must resolve: unsupported user vector.maskedstore}}
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c68 = arith.constant 68 : index
  vector.maskedstore %alloc[%c68], %m, %x : memref<2048xf32, #gpu.address_space<workgroup>>, vector<4xi1>, vector<4xf32>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c68], %0[%c0] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  %s = arith.select %p, %0, %alloc : memref<2048xf32, #gpu.address_space<workgroup>>
  %v = vector.load %s[%c68] : memref<2048xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %v : vector<4xf32>
}
