// RUN: bankwise-opt %s --verify-diagnostics --bankwise-remarks --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs))' --mlir-print-local-scope | FileCheck %s

// Allocations that keep their layout, each with the reason. No hint is emitted in this file.

// CHECK-NOT: swizzle_hint

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Rows are read as they lie.
func.func @no_conflict() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: its plain layout has no bank conflict}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%c0, %x] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

// An index that comes from memory.
func.func @dynamic_index(%n: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: an access is not known: memref.load: index depends on the block argument of func.func}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %s = memref.load %a[%n, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

func.func @dynamic_shape(%n: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<?x64xf32> not swizzled: its shape is dynamic}}
  %a = memref.alloc(%n) : memref<?x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<?x64xf32, #gpu.address_space<workgroup>>
  return
}

// A view at an offset that is not known may alias any row.
func.func @dynamic_subview(%n: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: an access is not known: memref.load: offset depends on the block argument of func.func}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %v = memref.subview %a[%n, 0] [1, 64] [1, 1] : memref<64x64xf32, #gpu.address_space<workgroup>> to memref<1x64xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %s = memref.load %v[%c0, %x] : memref<1x64xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  return
}

// The memory escapes.
func.func @call() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: used by func.call}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  func.call @other(%a) : (memref<64x64xf32, #gpu.address_space<workgroup>>) -> ()
  return
}
func.func private @other(memref<64x64xf32, #gpu.address_space<workgroup>>)

func.func @atomic() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: used by memref.atomic_rmw}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %s = memref.atomic_rmw addf %r, %a[%x, %c0] : (f32, memref<64x64xf32, #gpu.address_space<workgroup>>) -> f32
  return
}

func.func @copied(%to: memref<64x64xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: used by memref.copy}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  memref.copy %a, %to : memref<64x64xf32, #gpu.address_space<workgroup>> to memref<64x64xf32>
  return
}

// The rows are looked at in another way, which no swizzle follows.
func.func @recast() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: memref.reinterpret_cast addresses its memory in another order}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %v = memref.reinterpret_cast %a to offset: [0], sizes: [64, 64], strides: [1, 64] : memref<64x64xf32, #gpu.address_space<workgroup>> to memref<64x64xf32, strided<[1, 64]>, #gpu.address_space<workgroup>>
  %s = memref.load %v[%x, %c0] : memref<64x64xf32, strided<[1, 64]>, #gpu.address_space<workgroup>>
  return
}

// Memory that is cast to another element type.
func.func @bytes() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<16384xi8> not swizzled: memref.view addresses its memory in another order}}
  %a = memref.alloc() : memref<16384xi8, #gpu.address_space<workgroup>>
  %v = memref.view %a[%c0][] : memref<16384xi8, #gpu.address_space<workgroup>> to memref<64x64xf32, #gpu.address_space<workgroup>>
  %s = memref.load %v[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

func.func @masked(%m: vector<4xi1>, %p: vector<4xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: used by vector.maskedload}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %s = vector.maskedload %a[%x, %c0], %m, %p : memref<64x64xf32, #gpu.address_space<workgroup>>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return
}

func.func @out_of_bounds() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: a vector.transfer_read may be out of bounds}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %s = vector.transfer_read %a[%x, %c0], %r : memref<64x64xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return
}

// One value may be this memory or any other.
func.func @meets_an_argument(%c: i1, %other: memref<64x64xf32, #gpu.address_space<workgroup>>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: it meets memory that is no LDS allocation}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %s = arith.select %c, %a, %other : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %s[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

// A loop carries views, whose rows begin elsewhere.
func.func @carried_view() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf32> not swizzled: a view of it meets other memory}}
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %u = memref.subview %a[0, 0] [32, 64] [1, 1] : memref<64x64xf32, #gpu.address_space<workgroup>> to memref<32x64xf32, strided<[64, 1]>, #gpu.address_space<workgroup>>
  %f = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %u) -> (memref<32x64xf32, strided<[64, 1]>, #gpu.address_space<workgroup>>) {
    %r = memref.load %p[%i, %c0] : memref<32x64xf32, strided<[64, 1]>, #gpu.address_space<workgroup>>
    scf.yield %p : memref<32x64xf32, strided<[64, 1]>, #gpu.address_space<workgroup>>
  }
  return
}

// A matrix that is read with one leading dimension cannot lie in swizzled rows.
func.func @subgroup_mma() -> !gpu.mma_matrix<16x16xf16, "AOp"> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  // expected-remark @+1 {{allocation of memref<64x64xf16> not swizzled: gpu.subgroup_mma_load_matrix wants rows that are one stride apart}}
  %a = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %m = "gpu.subgroup_mma_load_matrix"(%a, %c0, %c0) <{leadDimension = 64 : index}> : (memref<64x64xf16, #gpu.address_space<workgroup>>, index, index) -> !gpu.mma_matrix<16x16xf16, "AOp">
  return %m : !gpu.mma_matrix<16x16xf16, "AOp">
}

// The backend unrolls the loops and joins neighbouring iterations: five b128 accesses a lane without a
// conflict. Counted one by one, b64 accesses have 16 conflict cycles, and a swizzle that parts the
// pairs has none.
#one_wave = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
func.func @neighbouring_iterations(%v: i64) -> i64 attributes {translation_info = #one_wave} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %zero = arith.constant 0 : i64
  %x = gpu.thread_id x upper_bound 64
  // expected-remark @+1 {{allocation of memref<640xi64> not swizzled: the best swizzle would make its accesses cost more, once the backend has unrolled and joined them}}
  %a = memref.alloc() : memref<640xi64, #gpu.address_space<workgroup>>
  scf.for %i = %c0 to %c10 step %c1 {
    %o = affine.apply affine_map<(d0)[s0] -> (s0 * 10 + d0)>(%i)[%x]
    memref.store %v, %a[%o] : memref<640xi64, #gpu.address_space<workgroup>>
  }
  gpu.barrier
  %sum = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %zero) -> (i64) {
    %o = affine.apply affine_map<(d0)[s0] -> (s0 * 10 + d0)>(%i)[%x]
    %z = memref.load %a[%o] : memref<640xi64, #gpu.address_space<workgroup>>
    %n = arith.addi %s, %z : i64
    scf.yield %n : i64
  }
  return %sum : i64
}

// CHECK-LABEL: func.func @neighbouring_iterations
//   CHECK-NOT:   swizzle_hint
//       CHECK:   return
