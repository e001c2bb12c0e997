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

// -----

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

// -----

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

// -----

func.func @load_does_not_resolve(%global: memref<2048xf32>) {
  // expected-error @+1 {{amdgpu.gather_to_lds uses swizzled memory, so all swizzle hints must resolve: access of 5 elements is not a multiple of the 4}}
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c0], %0[%c0] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  %1 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  %v = vector.load %1[%c0] : memref<2048xf32, #gpu.address_space<workgroup>>, vector<5xf32>
  return
}

// -----

func.func @load_beside_the_hint(%global: memref<2048xf32>) -> f32 {
  // expected-error @+1 {{all swizzle hints must resolve: memref.load uses the allocation beside its swizzle hint}}
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c0], %0[%c0] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  %v = memref.load %alloc[%c0] : memref<2048xf32, #gpu.address_space<workgroup>>
  return %v : f32
}

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

// The gather writes the plain layout: dropping the hint keeps both right.
func.func @gather_beside_the_hint(%global: memref<2048xf32>) -> f32 {
  // expected-warning @+1 {{amdgpu.gather_to_lds uses the allocation beside its swizzle hint}}
  %alloc = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf32, #gpu.address_space<workgroup>>
  amdgpu.gather_to_lds %global[%c0], %alloc[%c0] : vector<4xf32>, memref<2048xf32>, memref<2048xf32, #gpu.address_space<workgroup>>
  %v = memref.load %0[%c68] : memref<2048xf32, #gpu.address_space<workgroup>>
  return %v : f32
}

// CHECK-LABEL: func.func @gather_beside_the_hint
//       CHECK:   %[[C68:.+]] = arith.constant 68 : index
//       CHECK:   memref.load %{{.+}}[%[[C68]]]
