// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-absorb-swizzle-hints{only-own=true}))' | FileCheck %s --check-prefix=ABSORB
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-absorb-swizzle-hints,bankwise-reinsert-swizzle-hints{only-own=true}))' | FileCheck %s --check-prefix=REINSERT
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints{only-own=true}))' | FileCheck %s --check-prefix=RESOLVE

// Where stock has hints of its own, only those that are marked as ours are treated.

// ABSORB-LABEL:   func.func @others
// ABSORB:         iree_codegen.swizzle_hint
// REINSERT-LABEL: func.func @others
// REINSERT:       memref.alloc() {iree_codegen.swizzle
// RESOLVE-LABEL:  func.func @others
// RESOLVE:        iree_codegen.swizzle_hint
func.func @others(%i: index) -> f32 {
  %a = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<32, 1>] : memref<2048xf32, #gpu.address_space<workgroup>>
  %r = memref.load %h[%i] : memref<2048xf32, #gpu.address_space<workgroup>>
  return %r : f32
}

// ABSORB-LABEL:   func.func @ours
// ABSORB:         memref.alloc() {iree_codegen.swizzle
// REINSERT-LABEL: func.func @ours
// REINSERT:       iree_codegen.swizzle_hint
// RESOLVE-LABEL:  func.func @ours
// RESOLVE-NOT:    bankwise.hints
// RESOLVE-NOT:    iree_codegen.swizzle_hint
// RESOLVE:        arith.xori
func.func @ours(%i: index) -> f32 attributes {bankwise.hints} {
  %a = memref.alloc() : memref<2048xf32, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<32, 1>] : memref<2048xf32, #gpu.address_space<workgroup>>
  %r = memref.load %h[%i] : memref<2048xf32, #gpu.address_space<workgroup>>
  return %r : f32
}
