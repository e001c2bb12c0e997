// RUN: bankwise-opt %s --split-input-file --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-reinsert-swizzle-hints))' --verify-diagnostics

func.func @with_and_without(%p: i1, %i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<1024xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{arith.select carries memory with different swizzles: [rotate_rows<64, 4>] and none}}
  %s = arith.select %p, %a, %b : memref<1024xf16, #gpu.address_space<workgroup>>
  %v = memref.load %s[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @different(%n: index, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<1024xf16, #gpu.address_space<workgroup>>
  %b = memref.alloc() {iree_codegen.swizzle = [#iree_codegen.rotate_rows<64, 4>, #iree_codegen.rotate_rows<64, 8>]} : memref<1024xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{scf.for carries memory with different swizzles: [rotate_rows<64, 4>] and [rotate_rows<64, 4>, rotate_rows<64, 8>]}}
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %a) -> (memref<1024xf16, #gpu.address_space<workgroup>>) {
    %v = memref.load %x[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
    scf.yield %b : memref<1024xf16, #gpu.address_space<workgroup>>
  }
  return
}

// -----

func.func @argument(%arg0: memref<1024xf16, #gpu.address_space<workgroup>>, %p: i1, %i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<1024xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{scf.if carries memory with different swizzles}}
  %s = scf.if %p -> memref<1024xf16, #gpu.address_space<workgroup>> {
    scf.yield %a : memref<1024xf16, #gpu.address_space<workgroup>>
  } else {
    scf.yield %arg0 : memref<1024xf16, #gpu.address_space<workgroup>>
  }
  %v = memref.load %s[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @untraceable(%arg0: memref<1024xf16, #gpu.address_space<workgroup>>, %p: i1, %i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<1024xf16, #gpu.address_space<workgroup>>
  %b = "test.view"(%arg0) : (memref<1024xf16, #gpu.address_space<workgroup>>) -> memref<1024xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{arith.select carries an allocation with a swizzle and memory that cannot be traced: test.view is not a known view}}
  %s = arith.select %p, %a, %b : memref<1024xf16, #gpu.address_space<workgroup>>
  %v = memref.load %s[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @empty(%i: index) {
  // expected-error @+1 {{iree_codegen.swizzle is empty}}
  %a = memref.alloc() {iree_codegen.swizzle = []} : memref<1024xf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @no_swizzle(%i: index) {
  // expected-error @+1 {{iree_codegen.swizzle: unknown swizzle attribute 4 : i64}}
  %a = memref.alloc() {iree_codegen.swizzle = [#iree_codegen.rotate_rows<64, 4>, 4]} : memref<1024xf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @dynamic(%n: index) -> f16 {
  // expected-error @+1 {{the swizzle of an allocation cannot be reinserted: its shape is dynamic}}
  %a = memref.alloc(%n) {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<?x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %a[%n, %n] : memref<?x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @rank_0() -> f16 {
  // expected-error @+1 {{the swizzle of an allocation cannot be reinserted: it has rank 0}}
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<f16, #gpu.address_space<workgroup>>
  %v = memref.load %a[] : memref<f16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @strided(%i: index) -> f16 {
  // expected-error @+1 {{cannot be reinserted: its layout strided<[68, 1]> is not the identity}}
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<8x64xf16, strided<[68, 1]>, #gpu.address_space<workgroup>>
  %v = memref.load %a[%i, %i] : memref<8x64xf16, strided<[68, 1]>, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @every_other(%i: index) -> f16 {
  // expected-error @+1 {{cannot be reinserted: its layout strided<[2]> is not the identity}}
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<512xf16, strided<[2]>, #gpu.address_space<workgroup>>
  %v = memref.load %a[%i] : memref<512xf16, strided<[2]>, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @hint_as_well(%i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<1024xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{swizzle_hint of an allocation that has iree_codegen.swizzle as well}}
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.rotate_rows<64, 4>] : memref<1024xf16, #gpu.address_space<workgroup>>
  %v = memref.load %h[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @permuted(%i: index) -> f16 {
  // expected-error @+1 {{amdgpu.gather_to_lds writes data swizzled for 512 elements, but the allocation is now used as 1024 elements and the swizzle does not repeat in it}}
  %alloc = memref.alloc() {bankwise.permuted_elements = 512 : i64, iree_codegen.swizzle = #iree_codegen.xor_shuffle<64, 4>} : memref<2x512xf16, #gpu.address_space<workgroup>>
  %v = memref.load %alloc[%i, %i] : memref<2x512xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @columns(%p: i1, %i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<16x64xf16, #gpu.address_space<workgroup>>
  %s0 = memref.subview %a[0, %i] [16, 32] [1, 1] : memref<16x64xf16, #gpu.address_space<workgroup>> to memref<16x32xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s0 : memref<16x32xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{memref.load uses part of an allocation with a swizzle that cannot be hinted: memref<16x32xf16, strided<[64, 1], offset: ?>> is not contiguous}}
  %v = memref.load %s[%i, %i] : memref<16x32xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

// The frames of a loop may start at any row: rows 0 to 3 of one are rows 1 to 4 of the other.
func.func @overlapping(%p: i1, %i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<16x64xf16, #gpu.address_space<workgroup>>
  %s0 = memref.subview %a[%i, 0] [4, 64] [1, 1] : memref<16x64xf16, #gpu.address_space<workgroup>> to memref<4x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s0 : memref<4x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{it may start elsewhere than at a multiple of its 256 elements}}
  %v = memref.load %s[%i, %i] : memref<4x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @two_sizes(%p: i1, %i: index) -> (f16, f16) {
  %c4 = arith.constant 4 : index
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<16x64xf16, #gpu.address_space<workgroup>>
  %row = arith.muli %i, %c4 : index
  %s0 = memref.subview %a[%row, 0] [4, 64] [1, 1] : memref<16x64xf16, #gpu.address_space<workgroup>> to memref<4x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s0 : memref<4x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %v = memref.load %a[%i, %i] : memref<16x64xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{it has 256 elements, another part that is used has 1024}}
  %w = memref.load %s[%i, %i] : memref<4x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  return %v, %w : f16, f16
}

// -----

func.func @half_rows(%p: i1, %i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<16x32xf16, #gpu.address_space<workgroup>>
  %s0 = memref.subview %a[%i, 0] [1, 32] [1, 1] : memref<16x32xf16, #gpu.address_space<workgroup>> to memref<32xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s0 : memref<32xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{its 32 elements are not whole rows of rotate_rows<64, 4>}}
  %v = memref.load %s[%i] : memref<32xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @dynamic_part(%p: i1, %i: index, %n: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<16x64xf16, #gpu.address_space<workgroup>>
  %s0 = memref.subview %a[0, 0] [%n, 64] [1, 1] : memref<16x64xf16, #gpu.address_space<workgroup>> to memref<?x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s0 : memref<?x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{cannot be hinted: its shape is dynamic}}
  %v = memref.load %s[%i, %i] : memref<?x64xf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @one_element(%p: i1, %i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<16x64xf16, #gpu.address_space<workgroup>>
  %s0 = memref.subview %a[%i, %i] [1, 1] [1, 1] : memref<16x64xf16, #gpu.address_space<workgroup>> to memref<f16, strided<[], offset: ?>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s0 : memref<f16, strided<[], offset: ?>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{cannot be hinted: it has rank 0}}
  %v = memref.load %s[] : memref<f16, strided<[], offset: ?>, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @unranked(%p: i1) {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<16x64xf16, #gpu.address_space<workgroup>>
  %u = memref.cast %a : memref<16x64xf16, #gpu.address_space<workgroup>> to memref<*xf16, #gpu.address_space<workgroup>>
  %s = arith.select %p, %u, %u : memref<*xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{is not a ranked memref}}
  "test.use"(%s) : (memref<*xf16, #gpu.address_space<workgroup>>) -> ()
  return
}

// -----

func.func @other_elements(%p: i1, %i: index) -> f16 {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<2048xi8, #gpu.address_space<workgroup>>
  %f = memref.view %a[%c0][] : memref<2048xi8, #gpu.address_space<workgroup>> to memref<1024xf16, #gpu.address_space<workgroup>>
  %s = arith.select %p, %f, %f : memref<1024xf16, #gpu.address_space<workgroup>>
  // expected-error @+1 {{its elements are f16}}
  %v = memref.load %s[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

func.func @reinterpreted(%p: i1, %i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<1024xf16, #gpu.address_space<workgroup>>
  %f = memref.reinterpret_cast %a to offset: [64], sizes: [64], strides: [1] : memref<1024xf16, #gpu.address_space<workgroup>> to memref<64xf16, strided<[1], offset: 64>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %f, %f : memref<64xf16, strided<[1], offset: 64>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{it may start elsewhere}}
  %v = memref.load %s[%i] : memref<64xf16, strided<[1], offset: 64>, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

// The stride of the dimension of size 1 would change, and the user might not take that.
func.func @unknown_user(%p: i1, %i: index) {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<4x2x64xf16, #gpu.address_space<workgroup>>
  %w0 = memref.subview %a[%i, %i, 0] [1, 1, 64] [1, 1, 1] : memref<4x2x64xf16, #gpu.address_space<workgroup>> to memref<1x1x64xf16, strided<[128, 64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %w0, %w0 : memref<1x1x64xf16, strided<[128, 64, 1], offset: ?>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{test.use uses part of an allocation with a swizzle that cannot be hinted: its type would change}}
  "test.use"(%s) : (memref<1x1x64xf16, strided<[128, 64, 1], offset: ?>, #gpu.address_space<workgroup>>) -> ()
  return
}

// -----

// Rows 2 to 5 are no quarter of 16 rows.
func.func @odd_start(%p: i1, %i: index) -> f16 {
  %a = memref.alloc() {iree_codegen.swizzle = #iree_codegen.rotate_rows<64, 4>} : memref<16x64xf16, #gpu.address_space<workgroup>>
  %s0 = memref.subview %a[2, 0] [4, 64] [1, 1] : memref<16x64xf16, #gpu.address_space<workgroup>> to memref<4x64xf16, strided<[64, 1], offset: 128>, #gpu.address_space<workgroup>>
  %s = arith.select %p, %s0, %s0 : memref<4x64xf16, strided<[64, 1], offset: 128>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{it may start elsewhere than at a multiple of its 256 elements}}
  %v = memref.load %s[%i, %i] : memref<4x64xf16, strided<[64, 1], offset: 128>, #gpu.address_space<workgroup>>
  return %v : f16
}
