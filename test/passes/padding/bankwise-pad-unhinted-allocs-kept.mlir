// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-pad-unhinted-allocs))' --iree-gpu-test-target=gfx942 --bankwise-remarks --verify-diagnostics | FileCheck %s

// CHECK-NOT: memref.subview

// Every reason to keep or to pad an allocation, as a remark at the allocation.

#launch = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>
func.func @conflict_free() -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf16> not padded: the plain layout has no bank conflicts}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%c0, %x] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// Lanes 0 and 32 words apart in one row: no padding moves them.

func.func @conflict_inside_a_row() -> f32 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %i = affine.apply affine_map<(d0) -> (d0 * 32)>(%x)
  // expected-remark @+1 {{allocation of memref<2x2048xf32> not padded: no padding helps against its 62 conflict cycles}}
  %m = memref.alloc() : memref<2x2048xf32, #gpu.address_space<workgroup>>
  %v = memref.load %m[%c0, %i] : memref<2x2048xf32, #gpu.address_space<workgroup>>
  return %v : f32
}

// 32 lanes read the same 16 columns of two rows; 64 bytes would move them apart, stock adds 8.

func.func @over_the_budget() -> f32 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %h:2 = affine.delinearize_index %x into (4, 16) : index, index
  // expected-remark @+1 {{allocation of memref<16x64xf32> not padded: 2 conflict cycles, but padding that helps would use more LDS than the stock padding or the limit}}
  %m = memref.alloc() : memref<16x64xf32, #gpu.address_space<workgroup>>
  %v = memref.load %m[%h#0, %h#1] : memref<16x64xf32, #gpu.address_space<workgroup>>
  return %v : f32
}

func.func @hinted() -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf16> not padded: it is swizzled}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<64, 8>] : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %h[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

func.func @stowed_hint() -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf16> not padded: it is swizzled}}
  %m = memref.alloc() {iree_codegen.swizzle = #iree_codegen.xor_shuffle<64, 8>} : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

func.func @collapsed_rows() -> f16 attributes {translation_info = #launch} {
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf16> not padded: memref.collapse_shape across the padded rows}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %c = memref.collapse_shape %m [[0, 1]] : memref<64x64xf16, #gpu.address_space<workgroup>> into memref<4096xf16, #gpu.address_space<workgroup>>
  %i = affine.apply affine_map<(d0) -> (d0 * 64)>(%x)
  %v = memref.load %c[%i] : memref<4096xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

func.func private @callee(memref<64x64xf16, #gpu.address_space<workgroup>>)
func.func @called() attributes {translation_info = #launch} {
  // expected-remark @+1 {{allocation of memref<64x64xf16> not padded: func.call cannot take padded rows}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  func.call @callee(%m) : (memref<64x64xf16, #gpu.address_space<workgroup>>) -> ()
  return
}

func.func @returned() -> memref<64x64xf16, #gpu.address_space<workgroup>> attributes {translation_info = #launch} {
  // expected-remark @+1 {{allocation of memref<64x64xf16> not padded: func.return cannot take padded rows}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %m : memref<64x64xf16, #gpu.address_space<workgroup>>
}

// One of two allocations that meet in a select cannot change its type.

func.func @selected(%b: i1) -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{not padded: arith.select cannot take padded rows}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not padded: arith.select cannot take padded rows}}
  %n = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %s = arith.select %b, %m, %n : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %s[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// A reinterpret_cast names strides of its own: padding would move its elements away.

func.func @reinterpreted() -> f16 attributes {translation_info = #launch} {
  %x = gpu.thread_id x
  // expected-remark @+1 {{not padded: memref.reinterpret_cast cannot take padded rows}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %r = memref.reinterpret_cast %m to offset: [0], sizes: [64], strides: [64] : memref<64x64xf16, #gpu.address_space<workgroup>> to memref<64xf16, strided<[64]>, #gpu.address_space<workgroup>>
  %v = memref.load %r[%x] : memref<64xf16, strided<[64]>, #gpu.address_space<workgroup>>
  return %v : f16
}

// Lane 63 reads the 8 elements behind its row, which are those of the next one only unpadded.

func.func @over_the_end_of_the_row() -> vector<16xf16> attributes {translation_info = #launch} {
  %c56 = arith.constant 56 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{not padded: an access leaves it: vector.load: index outside the view's bounds}}
  %m = memref.alloc() : memref<65x64xf16, #gpu.address_space<workgroup>>
  %v = vector.load %m[%x, %c56] : memref<65x64xf16, #gpu.address_space<workgroup>>, vector<16xf16>
  return %v : vector<16xf16>
}

func.func @rank_0() -> f16 attributes {translation_info = #launch} {
  // expected-remark @+1 {{allocation of memref<f16> not padded: it has rank 0}}
  %m = memref.alloc() : memref<f16, #gpu.address_space<workgroup>>
  %v = memref.load %m[] : memref<f16, #gpu.address_space<workgroup>>
  return %v : f16
}

func.func @rank_1() -> f16 attributes {translation_info = #launch} {
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64xf16> not padded: it has rank 1, so that its rows are not known}}
  %m = memref.alloc() : memref<64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x] : memref<64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// One dynamic allocation and the LDS of the function is not known: none is padded.

func.func @dynamic(%n: index) -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf16> not padded: an LDS allocation of the function has a dynamic shape}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{allocation of memref<?x64xf16> not padded: an LDS allocation of the function has a dynamic shape}}
  %d = memref.alloc(%n) : memref<?x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

func.func @sub_byte() -> i4 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xi4> not padded: its elements of type i4 do not fill bytes}}
  %m = memref.alloc() : memref<64x64xi4, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xi4, #gpu.address_space<workgroup>>
  return %v : i4
}

// 64 KiB are full.

func.func @full_lds() -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<512x64xf16> not padded: 62 conflict cycles, but padding that helps would use more LDS than the stock padding or the limit}}
  %m = memref.alloc() : memref<512x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<512x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

func.func @full_lds_and_unknown(%i: index) -> f16 attributes {translation_info = #launch} {
  // expected-remark @+1 {{not padded: an access is not known: memref.load: index depends on the block argument of func.func; 64 bits of padding in every row would need 69632 bytes of LDS, the limit is 65536}}
  %m = memref.alloc() : memref<512x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%i, %i] : memref<512x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}
