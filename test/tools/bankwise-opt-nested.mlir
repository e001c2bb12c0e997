// Our passes reach the functions at a path of anchors, or, as a flag, every func.func.
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(builtin.module(func.func(bankwise-pad-unhinted-allocs{padding-bits=64})))' | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(any(any(bankwise-pad-unhinted-allocs{padding-bits=64})))' | FileCheck %s
// RUN: bankwise-opt %s --bankwise-pad-unhinted-allocs=padding-bits=64 | FileCheck %s --check-prefix=ALL

// CHECK-LABEL: func.func @outer
// CHECK: memref<64x64xf16
// CHECK-LABEL: func.func @inner
// CHECK: memref<64x68xf16
// ALL-LABEL: func.func @outer
// ALL: memref<64x68xf16
// ALL-LABEL: func.func @inner
// ALL: memref<64x68xf16
func.func @outer(%x: index, %v: f16) {
  %tile = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  memref.store %v, %tile[%x, %x] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return
}
module {
  func.func @inner(%x: index, %v: f16) {
    %tile = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
    memref.store %v, %tile[%x, %x] : memref<64x64xf16, #gpu.address_space<workgroup>>
    return
  }
}
