// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-form-wgmma,canonicalize,cse))' --iree-gpu-test-target=sm_90a --mlir-print-local-scope --split-input-file --verify-diagnostics --bankwise-remarks | FileCheck %s

// Four warps multiply the same 16 columns of a K-major tile in the 128-byte mode. It starts 2,048
// bytes behind the allocation: 128 units of 16 bytes. The high bits of the descriptor are the mode 1,
// the distance of 1,024 bytes between blocks of eight columns, and a leading distance that means nothing.

// CHECK-LABEL: func.func @described
//       CHECK:   memref.alloc() alignment = 1024
//       CHECK:   vector.store
//       CHECK:   fence.proxy.async.shared::cta
//  CHECK-NEXT:   gpu.barrier
//   CHECK-NOT:   nvgpu.ldmatrix
//       CHECK:   wgmma.fence.sync.aligned
//       CHECK:   wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
//       CHECK:   wgmma.commit_group.sync.aligned
//       CHECK:   wgmma.wait_group.sync.aligned 0
//   CHECK-NOT:   nvgpu.mma.sync
func.func @described(%a: vector<4x2xf16>, %c: vector<2x2xf32>, %d: vector<2x2xf32>, %v: vector<8xf16>)
    -> (vector<2x2xf32>, vector<2x2xf32>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %t = gpu.thread_id x
  %first = arith.constant 1024 : index
  // expected-remark @+1 {{operands from memref<4096xf16> are read by 1 wgmma: the addresses of all lanes prove that a descriptor gives these operands}}
  %m = memref.alloc() : memref<4096xf16, #gpu.address_space<workgroup>>
  %w = affine.apply affine_map<(t) -> (t * 8)>(%t)
  vector.store %v, %m[%w] : memref<4096xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier
  %s = memref.subview %m[%first] [1024] [1] : memref<4096xf16, #gpu.address_space<workgroup>> to memref<1024xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t mod 8 + t mod 32 floordiv 16 * 8)>(%t)
  %g = affine.apply affine_map<(t) -> (t mod 32 floordiv 8 mod 2)>(%t)
  %low = affine.apply affine_map<(r) -> (r mod 8)>(%r)
  %moved = arith.xori %g, %low : index
  %o = affine.apply affine_map<(r, m) -> (r * 64 + m * 8)>(%r, %moved)
  %b = nvgpu.ldmatrix %s[%o] numTiles = 4 transpose = false : memref<1024xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %be:8 = vector.to_elements %b : vector<4x2xf16>
  %b0 = vector.from_elements %be#0, %be#1, %be#2, %be#3 : vector<2x2xf16>
  %b1 = vector.from_elements %be#4, %be#5, %be#6, %be#7 : vector<2x2xf16>

  %x = nvgpu.mma.sync(%a, %b0, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = nvgpu.mma.sync(%a, %b1, %d) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x, %y : vector<2x2xf32>, vector<2x2xf32>
}

// -----

// The groups of a row lie in their order, as no mode has them.

// CHECK-LABEL: func.func @plain_layout
//   CHECK-NOT:   inline_asm
//       CHECK:   nvgpu.ldmatrix
//       CHECK:   nvgpu.mma.sync
//       CHECK:   nvgpu.mma.sync
func.func @plain_layout(%a: vector<4x2xf16>, %c: vector<2x2xf32>, %d: vector<2x2xf32>, %v: vector<8xf16>)
    -> (vector<2x2xf32>, vector<2x2xf32>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %t = gpu.thread_id x
  %first = arith.constant 1024 : index
  %m = memref.alloc() : memref<4096xf16, #gpu.address_space<workgroup>>
  %w = affine.apply affine_map<(t) -> (t * 8)>(%t)
  vector.store %v, %m[%w] : memref<4096xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier
  %s = memref.subview %m[%first] [1024] [1] : memref<4096xf16, #gpu.address_space<workgroup>> to memref<1024xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t mod 8 + t mod 32 floordiv 16 * 8)>(%t)
  %g = affine.apply affine_map<(t) -> (t mod 32 floordiv 8 mod 2)>(%t)
  %low = affine.apply affine_map<(r) -> (r mod 8)>(%r)
  %moved = arith.addi %g, %g : index
  %o = affine.apply affine_map<(r, m) -> (r * 64 + m * 8)>(%r, %moved)
  %b = nvgpu.ldmatrix %s[%o] numTiles = 4 transpose = false : memref<1024xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %be:8 = vector.to_elements %b : vector<4x2xf16>
  %b0 = vector.from_elements %be#0, %be#1, %be#2, %be#3 : vector<2x2xf16>
  %b1 = vector.from_elements %be#4, %be#5, %be#6, %be#7 : vector<2x2xf16>

  // expected-remark @+1 {{2 products stay mma.sync: its operands are no rectangle of a tile in a descriptor's layout}}
  %x = nvgpu.mma.sync(%a, %b0, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = nvgpu.mma.sync(%a, %b1, %d) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x, %y : vector<2x2xf32>, vector<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @one_warpgroup_is_missing
//   CHECK-NOT:   inline_asm
//       CHECK:   nvgpu.mma.sync
func.func @one_warpgroup_is_missing(%a: vector<4x2xf16>, %c: vector<2x2xf32>, %d: vector<2x2xf32>, %v: vector<8xf16>)
    -> (vector<2x2xf32>, vector<2x2xf32>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32>} {
  %t = gpu.thread_id x
  %first = arith.constant 1024 : index
  %m = memref.alloc() : memref<4096xf16, #gpu.address_space<workgroup>>
  %w = affine.apply affine_map<(t) -> (t * 8)>(%t)
  vector.store %v, %m[%w] : memref<4096xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier
  %s = memref.subview %m[%first] [1024] [1] : memref<4096xf16, #gpu.address_space<workgroup>> to memref<1024xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t mod 8 + t mod 32 floordiv 16 * 8)>(%t)
  %g = affine.apply affine_map<(t) -> (t mod 32 floordiv 8 mod 2)>(%t)
  %low = affine.apply affine_map<(r) -> (r mod 8)>(%r)
  %moved = arith.xori %g, %low : index
  %o = affine.apply affine_map<(r, m) -> (r * 64 + m * 8)>(%r, %moved)
  %b = nvgpu.ldmatrix %s[%o] numTiles = 4 transpose = false : memref<1024xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %be:8 = vector.to_elements %b : vector<4x2xf16>
  %b0 = vector.from_elements %be#0, %be#1, %be#2, %be#3 : vector<2x2xf16>
  %b1 = vector.from_elements %be#4, %be#5, %be#6, %be#7 : vector<2x2xf16>

  // expected-remark @+1 {{2 products stay mma.sync: its warps are no whole warpgroups of four}}
  %x = nvgpu.mma.sync(%a, %b0, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = nvgpu.mma.sync(%a, %b1, %d) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x, %y : vector<2x2xf32>, vector<2x2xf32>
}
