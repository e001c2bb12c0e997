// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-form-ldmatrix))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-form-ldmatrix))' --iree-gpu-test-target=gfx942 | FileCheck %s

// Loads that are almost a B operand of two matrices: rows of a column-major tile, lane l at row l / 4,
// column 2 (l mod 4), and 8 columns further right. An AMD GPU has no ldmatrix at all.

// CHECK-NOT: nvgpu.ldmatrix

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>

// Rows of 40 bytes: every other one begins between multiples of 16.

func.func @misaligned(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x20xf16> loads kept: 2 (nvgpu.ldmatrix needs addresses that are multiples of 16 bytes}}
  %m = memref.alloc() : memref<8x20xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x20xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x20xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// The view's rows begin 8 bytes behind those of the allocation.

func.func @starts_at_8_bytes(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x24xf16> loads kept: 2 (nvgpu.ldmatrix needs addresses that are multiples of 16 bytes}}
  %m = memref.alloc() : memref<8x24xf16, #gpu.address_space<workgroup>>
  %v = memref.subview %m[0, 4] [8, 16] [1, 1] : memref<8x24xf16, #gpu.address_space<workgroup>> to memref<8x16xf16, strided<[24, 1], offset: 4>, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %v[%r, %k] : memref<8x16xf16, strided<[24, 1], offset: 4>, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %v[%r, %k8] : memref<8x16xf16, strided<[24, 1], offset: 4>, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// Lanes 16 to 31 do not come here.

func.func @divergent(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x16xf16> loads kept: 2 (not all lanes take part}}
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  %c16 = arith.constant 16 : index
  %on = arith.cmpi ult, %t, %c16 : index
  %s = scf.if %on -> (vector<2x2xf32>) {
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  scf.yield %x : vector<2x2xf32>
  } else {
  scf.yield %c : vector<2x2xf32>
  }
  return %s : vector<2x2xf32>
}

// Nobody knows which lanes come here.

func.func @condition_not_known(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x16xf16> loads kept: 2 (not all lanes may take part: a condition that is not known}}
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  %flag = memref.load %m[%t, %t] : memref<8x16xf16, #gpu.address_space<workgroup>>
  %zero = arith.constant 0.0 : f16
  %on = arith.cmpf oeq, %flag, %zero : f16
  %s = scf.if %on -> (vector<2x2xf32>) {
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  scf.yield %x : vector<2x2xf32>
  } else {
  scf.yield %c : vector<2x2xf32>
  }
  return %s : vector<2x2xf32>
}

#one_and_a_half_warps = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [48, 1, 1] subgroup_size = 32>

// The second warp has 16 lanes.

func.func @not_whole_warps(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #one_and_a_half_warps} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x16xf16> loads kept: 2 (a warp of the workgroup is not full}}
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

#half_rows = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [16, 2, 1] subgroup_size = 32>

// Lane 16 of a warp has thread id 0 along x.

func.func @warps_across_rows(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #half_rows} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x16xf16> loads kept: 2 (the lanes of a warp are not neighbours along x}}
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// The second load may read what the store writes, and must not move before it.

func.func @store_between(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x16xf16> loads kept: 2 (a store, a barrier or a branch may come between them}}
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  vector.store %0, %m[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// Other warps may store before the second load.

func.func @barrier_between(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x16xf16> loads kept: 2 (a store, a barrier or a branch may come between them}}
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  gpu.barrier
  %1 = vector.load %m[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// Lane l reads at column 2 (l / 8): columns and rows do not follow the lanes of a matrix.

func.func @other_lanes(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x16xf16> loads kept: 2 (their lanes do not read the rows or columns of an 8x8 matrix}}
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t mod 8)>(%t)
  %k = affine.apply affine_map<(t) -> (t floordiv 8 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t floordiv 8 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// Lanes of a row are 4 elements apart.

func.func @other_step(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x32xf16> loads kept: 2 (their lanes do not read the rows or columns of an 8x8 matrix}}
  %m = memref.alloc() : memref<8x32xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 4)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 4 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// The second matrix is further away in odd rows.

func.func @uneven(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x32xf16> loads kept: 2 (they are not equally far apart in all lanes}}
  %m = memref.alloc() : memref<8x32xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8 + t floordiv 4 mod 2 * 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// The swizzle moves 8 bytes at a time.

func.func @parted_by_a_swizzle(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<128xf16> loads kept: 2 (a swizzle takes the rows of 16 bytes apart}}
  %m = memref.alloc() : memref<128xf16, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<64, 4>] : memref<128xf16, #gpu.address_space<workgroup>>
  %v = memref.expand_shape %h [[0, 1]] output_shape [8, 16] : memref<128xf16, #gpu.address_space<workgroup>> into memref<8x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %v[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %v[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// A row of 16 bytes would run over the end of the view's row of 12.

func.func @short_rows(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x16xf16> loads kept: 2 (a row of 16 bytes leaves the last dimension of the memref}}
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  %v = memref.subview %m[0, 0] [8, 12] [1, 1] : memref<8x16xf16, #gpu.address_space<workgroup>> to memref<8x12xf16, strided<[16, 1]>, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %v[%r, %k] : memref<8x12xf16, strided<[16, 1]>, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %v[%r, %k8] : memref<8x12xf16, strided<[16, 1]>, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// Both tiles are equal, and a lane does not know which one it reads.

func.func @of_either_tile(%a: vector<4x2xf16>, %c: vector<2x2xf32>, %first: i1) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x16xf16> nothing becomes ldmatrix}}
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{of memref<8x16xf16> nothing becomes ldmatrix}}
  %n = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{of memref<8x16xf16> loads kept: 2 (what they read may be one of several allocations)}}
  %v = arith.select %first, %m, %n : memref<8x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %v[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %v[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// A load of the first operand fills a register of the second one too. Each load becomes part of one
// ldmatrix at most, so that what is left of the second operand stays.

func.func @shares_a_load(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<8x20xf16> loads kept: 2 (nvgpu.ldmatrix needs addresses that are multiples of 16 bytes), 1 (another operand has some of the loads of theirs)}}
  %m = memref.alloc() : memref<8x20xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %k12 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 12)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x20xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x20xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %2 = vector.load %m[%r, %k12] : memref<8x20xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %e2:2 = vector.to_elements %2 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %d = vector.from_elements %e1#0, %e1#1, %e2#0, %e2#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = nvgpu.mma.sync(%a, %d, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %y : vector<2x2xf32>
}

// Nobody knows how many lanes there are.

// expected-remark @+1 {{no operand is read by ldmatrix: }}
func.func @no_launch(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %t = gpu.thread_id x
  %m = memref.alloc() : memref<8x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}
