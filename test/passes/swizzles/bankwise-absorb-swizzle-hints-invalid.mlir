// RUN: bankwise-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-absorb-swizzle-hints))' --verify-diagnostics

func.func @argument(%arg0: memref<2048xf16, #gpu.address_space<workgroup>>) {
  // expected-error @+1 {{expected swizzle_hint operand to be defined by a memref.alloc}}
  %0 = iree_codegen.swizzle_hint %arg0[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @loop_carried(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %a) -> memref<2048xf16, #gpu.address_space<workgroup>> {
    // expected-error @+1 {{expected swizzle_hint operand to be defined by a memref.alloc}}
    %0 = iree_codegen.swizzle_hint %x[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
    "test.use"(%0) : (memref<2048xf16, #gpu.address_space<workgroup>>) -> ()
    scf.yield %x : memref<2048xf16, #gpu.address_space<workgroup>>
  }
  return
}

// -----

func.func @part(%i: index) {
  %alloc = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
  %sub = memref.subview %alloc[1024] [1024] [1] : memref<2048xf16, #gpu.address_space<workgroup>> to memref<1024xf16, strided<[1], offset: 1024>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{swizzle_hint is not on a whole allocation: memref.subview is between them}}
  %0 = iree_codegen.swizzle_hint %sub[#iree_codegen.rotate_rows<64, 4>] : memref<1024xf16, strided<[1], offset: 1024>, #gpu.address_space<workgroup>>
  "test.use"(%0) : (memref<1024xf16, strided<[1], offset: 1024>, #gpu.address_space<workgroup>>) -> ()
  return
}

// -----

func.func @different(%i: index) -> (f16, f16) {
  %alloc = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{accesses to one allocation go through different swizzle hints: [rotate_rows<64, 4>] and [rotate_rows<64, 8>]}}
  %1 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 8>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %a = memref.load %0[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  %b = memref.load %1[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  return %a, %b : f16, f16
}

// -----

// The same hints in another order are another layout.
func.func @different_order(%i: index) -> (f16, f16) {
  %alloc = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %1 = iree_codegen.swizzle_hint %0[#iree_codegen.rotate_rows<64, 8>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %2 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 8>] : memref<2048xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{go through different swizzle hints}}
  %3 = iree_codegen.swizzle_hint %2[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %a = memref.load %1[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  %b = memref.load %3[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  return %a, %b : f16, f16
}

// -----

// One access through the whole chain, one through the first hint only.
func.func @inside_chain(%i: index) -> (f16, f16) {
  %alloc = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{accesses to one allocation go through different swizzle hints: [rotate_rows<64, 4>] and [rotate_rows<64, 4>, rotate_rows<64, 8>]}}
  %1 = iree_codegen.swizzle_hint %0[#iree_codegen.rotate_rows<64, 8>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %a = memref.load %0[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  %b = memref.load %1[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  return %a, %b : f16, f16
}

// -----

func.func @beside(%i: index) -> (f16, f16) {
  %alloc = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{swizzle_hint does not hold for all accesses: memref.load uses the allocation beside it}}
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %sub = memref.subview %alloc[1024] [1024] [1] : memref<2048xf16, #gpu.address_space<workgroup>> to memref<1024xf16, strided<[1], offset: 1024>, #gpu.address_space<workgroup>>
  %a = memref.load %0[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  %b = memref.load %sub[%i] : memref<1024xf16, strided<[1], offset: 1024>, #gpu.address_space<workgroup>>
  return %a, %b : f16, f16
}

// -----

func.func @stowed_already(%i: index) -> f16 {
  %alloc = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<2048xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{the allocation of swizzle_hint already has the attribute iree_codegen.swizzle}}
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<2048xf16, #gpu.address_space<workgroup>>
  %a = memref.load %0[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
  return %a : f16
}
