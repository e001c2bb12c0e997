// RUN: bankwise-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints))' --bankwise-remarks --verify-diagnostics -o /dev/null
// RUN: bankwise-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(bankwise-resolve-swizzle-hints))' --mlir-print-local-scope 2>/dev/null | FileCheck %s

// No hint survives, and every layout is the plain one.

// CHECK-NOT: swizzle_hint
// CHECK-NOT: arith.xori

// Stock IREE 3.13 rewrites this access, and reads elements of the wrong group.
func.func @misaligned_constant() -> vector<4xf32> {
  // expected-warning @+1 {{may begin inside a group of 4 contiguous elements: its offset is 70}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c70 = arith.constant 70 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%c70] : memref<4096xf32>, vector<4xf32>
  return %1 : vector<4xf32>
}

func.func @narrow_across_groups(%o: index) -> vector<2xf32> {
  // expected-warning @+1 {{access of 2 elements may cross a group of 4 contiguous elements: its offset is not known}}
  %alloc = memref.alloc() : memref<4096xf32>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%o] : memref<4096xf32>, vector<2xf32>
  return %1 : vector<2xf32>
}

func.func @rank_0_vector() -> vector<f32> {
  // expected-warning @+1 {{vector.load of vector<f32>, a vector of rank 0}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%c0] : memref<4096xf32>, vector<f32>
  return %1 : vector<f32>
}

func.func @scalable_vector(%v: vector<[4]xf32>) {
  // expected-warning @+1 {{vector.store: scalable vector vector<[4]xf32>}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  vector.store %v, %0[%c0] : memref<4096xf32>, vector<[4]xf32>
  return
}

func.func @memref_of_vectors(%v: vector<4xf32>) {
  // expected-warning @+1 {{vector.store from a memref of vectors}}
  %alloc = memref.alloc() : memref<4096xvector<4xf32>>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xvector<4xf32>>
  vector.store %v, %0[%c0] : memref<4096xvector<4xf32>>, vector<4xf32>
  return
}

func.func @rank_2() -> vector<4xf32> {
  // expected-warning @+1 {{memref of rank 2 is not flat}}
  %alloc = memref.alloc() : memref<64x64xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<64x64xf32>
  %1 = vector.load %0[%c0, %c0] : memref<64x64xf32>, vector<4xf32>
  return %1 : vector<4xf32>
}

func.func @rank_0_memref() -> f32 {
  // expected-warning @+1 {{memref of rank 0 is not flat}}
  %alloc = memref.alloc() : memref<f32>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<f32>
  %1 = memref.load %0[] : memref<f32>
  return %1 : f32
}

func.func @strided() -> f32 {
  // expected-warning @+1 {{layout strided<[2]> is not contiguous}}
  %alloc = memref.alloc() : memref<4096xf32, strided<[2]>>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32, strided<[2]>>
  %1 = memref.load %0[%c0] : memref<4096xf32, strided<[2]>>
  return %1 : f32
}

// expected-warning @+1 {{layout affine_map<(d0) -> (d0 mod 7)> is not strided}}
func.func @layout_map(%a: memref<4096xf32, affine_map<(d0) -> (d0 mod 7)>>) -> f32 {
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32, affine_map<(d0) -> (d0 mod 7)>>
  %1 = memref.load %0[%c0] : memref<4096xf32, affine_map<(d0) -> (d0 mod 7)>>
  return %1 : f32
}

func.func @not_a_power_of_two() -> f32 {
  // expected-warning @+1 {{xor_shuffle<48, 4, 48, 1> is not a bijection: its rows have 12 groups, not a power of two}}
  %alloc = memref.alloc() : memref<4800xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<48, 4>] : memref<4800xf32>
  %1 = memref.load %0[%c0] : memref<4800xf32>
  return %1 : f32
}

func.func @size_not_whole_rows() -> f32 {
  // expected-warning @+1 {{rotate_rows<64, 4> is not a bijection of 4000 elements}}
  %alloc = memref.alloc() : memref<4000xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.rotate_rows<64, 4>] : memref<4000xf32>
  %1 = memref.load %0[%c0] : memref<4000xf32>
  return %1 : f32
}

// CHECK-LABEL: func.func @returned
//       CHECK:   %[[A:.+]] = memref.alloc
//       CHECK:   %[[V:.+]] = vector.load %[[A]][%c68]
//       CHECK:   return %[[A]], %[[V]]
func.func @returned() -> (memref<4096xf32>, vector<4xf32>) {
  // expected-warning @+1 {{unsupported user func.return}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.load %0[%c68] : memref<4096xf32>, vector<4xf32>
  return %0, %1 : memref<4096xf32>, vector<4xf32>
}

func.func @passed_to_unknown() {
  // expected-warning @+1 {{unsupported user test.use}}
  %alloc = memref.alloc() : memref<4096xf32>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  "test.use"(%0) : (memref<4096xf32>) -> ()
  return
}

func.func @view_of_the_hint() -> vector<4xf32> {
  // expected-warning @+1 {{memref.expand_shape is behind a swizzle hint}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = memref.expand_shape %0 [[0, 1]] output_shape [64, 64] : memref<4096xf32> into memref<64x64xf32>
  %2 = vector.load %1[%c0, %c0] : memref<64x64xf32>, vector<4xf32>
  return %2 : vector<4xf32>
}

// One hint is on a flat view, the other one on an allocation that is not flat: both go.
func.func @hint_of_a_view() -> (f32, f32) {
  // expected-warning @+1 {{memref of rank 2 is not flat}}
  %alloc = memref.alloc() : memref<64x64xf32>
  %c0 = arith.constant 0 : index
  %flat = memref.collapse_shape %alloc [[0, 1]] : memref<64x64xf32> into memref<4096xf32>
  %0 = iree_codegen.swizzle_hint %flat[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = memref.load %0[%c0] : memref<4096xf32>
  %2 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<64x64xf32>
  %3 = memref.load %2[%c0, %c0] : memref<64x64xf32>
  return %1, %3 : f32, f32
}

func.func @masked_and_transfer(%m: vector<4xi1>, %p: vector<4xf32>) -> vector<4xf32> {
  // expected-warning @+1 {{unsupported user vector.maskedload}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.maskedload %0[%c0], %m, %p : memref<4096xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return %1 : vector<4xf32>
}

func.func @transfer_read(%p: f32) -> vector<4xf32> {
  // expected-warning @+1 {{unsupported user vector.transfer_read}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = vector.transfer_read %0[%c0], %p {in_bounds = [true]} : memref<4096xf32>, vector<4xf32>
  return %1 : vector<4xf32>
}

func.func @atomic(%v: f32) {
  // expected-warning @+1 {{unsupported user memref.atomic_rmw}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = memref.atomic_rmw addf %v, %0[%c0] : (f32, memref<4096xf32>) -> f32
  return
}

func.func @copied(%b: memref<4096xf32>) {
  // expected-warning @+1 {{unsupported user memref.copy}}
  %alloc = memref.alloc() : memref<4096xf32>
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  memref.copy %0, %b : memref<4096xf32> to memref<4096xf32>
  return
}

func.func @stored_as_a_value(%b: memref<8xmemref<4096xf32>>) {
  // expected-warning @+1 {{unsupported user memref.store}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  memref.store %0, %b[%c0] : memref<8xmemref<4096xf32>>
  return
}

func.func @grows_in_a_loop(%n: index) -> f32 {
  // expected-warning @+1 {{a value carries the buffer with different swizzles}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %alloc) -> memref<4096xf32> {
    %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
    scf.yield %h : memref<4096xf32>
  }
  %1 = memref.load %0[%c0] : memref<4096xf32>
  return %1 : f32
}

// Only one of two allocations that rotate through the loop is hinted.
func.func @rotates_with_an_unhinted_buffer(%n: index) -> f32 {
  // expected-warning @+1 {{a value carries the buffer with different swizzles}}
  %alloc = memref.alloc() : memref<4096xf32>
  %alloc2 = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %h, %b = %alloc2) -> (memref<4096xf32>, memref<4096xf32>) {
    scf.yield %b, %a : memref<4096xf32>, memref<4096xf32>
  }
  %1 = memref.load %0#0[%c0] : memref<4096xf32>
  return %1 : f32
}

func.func @while_loop(%v: f32) -> f32 {
  // expected-warning @+1 {{unsupported user scf.while}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %h = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %r = scf.while (%a = %h) : (memref<4096xf32>) -> memref<4096xf32> {
    %x = memref.load %a[%c0] : memref<4096xf32>
    %c = arith.cmpf olt, %x, %v : f32
    scf.condition(%c) %a : memref<4096xf32>
  } do {
  ^bb0(%b: memref<4096xf32>):
    scf.yield %b : memref<4096xf32>
  }
  %1 = memref.load %r[%c0] : memref<4096xf32>
  return %1 : f32
}

func.func @branches(%c: i1) -> f32 {
  // expected-warning @+1 {{unsupported user cf.br}}
  %alloc = memref.alloc() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %h = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  cf.br ^next(%h : memref<4096xf32>)
^next(%b: memref<4096xf32>):
  %1 = memref.load %b[%c0] : memref<4096xf32>
  return %1 : f32
}

memref.global "private" @data : memref<4096xf32>
func.func @global() -> f32 {
  // expected-warning @+1 {{buffer comes from memref.get_global, not from an allocation}}
  %g = memref.get_global @data : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %h = iree_codegen.swizzle_hint %g[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = memref.load %h[%c0] : memref<4096xf32>
  return %1 : f32
}

// A tensor that was never bufferized.
// CHECK-LABEL: func.func @tensor
//       CHECK:   tensor.extract %arg0
// expected-warning @+1 {{tensor<4096xf32> is not a memref}}
func.func @tensor(%t: tensor<4096xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %h = iree_codegen.swizzle_hint %t[#iree_codegen.xor_shuffle<64, 4>] : tensor<4096xf32>
  %1 = tensor.extract %h[%c0] : tensor<4096xf32>
  return %1 : f32
}

// Two allocations: only the one with the bad access loses its hint.
// CHECK-LABEL: func.func @one_of_two
//       CHECK:   memref.load %alloc[%c68]
//       CHECK:   memref.load %alloc_0[%c64]
func.func @one_of_two(%o: index) -> (f32, f32, vector<2xf32>) {
  // expected-warning @+1 {{its offset is not known}}
  %alloc = memref.alloc() : memref<4096xf32>
  // expected-remark @+1 {{swizzle hints of memref<2048xf32> resolved (xor_shuffle<64, 4, 64, 1>): 1 accesses swizzled, 0 of them split}}
  %alloc2 = memref.alloc() : memref<2048xf32>
  %c68 = arith.constant 68 : index
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32>
  %1 = iree_codegen.swizzle_hint %alloc2[#iree_codegen.xor_shuffle<64, 4>] : memref<2048xf32>
  %2 = memref.load %0[%c68] : memref<4096xf32>
  %3 = memref.load %1[%c68] : memref<2048xf32>
  %4 = vector.load %0[%o] : memref<4096xf32>, vector<2xf32>
  return %2, %3, %4 : f32, f32, vector<2xf32>
}
