// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-arrange-operands))' --iree-gpu-test-target=sm_90a --mlir-print-local-scope --split-input-file --verify-diagnostics --bankwise-remarks | FileCheck %s

// Rows of 256 bytes are cut into blocks of 128 bytes, and all accesses follow their elements.

// CHECK-LABEL: func.func @k_major
//       CHECK:   %[[T:.+]] = memref.alloc() {{.*}} : memref<2x64x64xf16, #gpu.address_space<workgroup>>
//       CHECK:   %[[H:.+]] = iree_codegen.swizzle_hint %[[T]][#iree_codegen.xor_shuffle<64, 8, 64, 1>]
//       CHECK:   %[[C:.+]] = affine.apply affine_map<(d0) -> ((d0 mod 16) * 8)>
//       CHECK:   %[[BLOCK:.+]] = affine.apply affine_map<(d0) -> (d0 floordiv 64)>(%[[C]])
//       CHECK:   %[[IN_BLOCK:.+]] = affine.apply affine_map<(d0) -> (d0 mod 64)>(%[[C]])
//       CHECK:   vector.store %{{.+}}, %[[H]][%[[BLOCK]], %{{.+}}, %[[IN_BLOCK]]]
//       CHECK:   nvgpu.ldmatrix %[[H]][%{{.+}}, %{{.+}}, %{{.+}}]
func.func @k_major(%a: vector<4x2xf16>, %c: vector<2x2xf32>, %d: vector<2x2xf32>, %v: vector<8xf16>)
    -> (vector<2x2xf32>, vector<2x2xf32>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{memref<64x128xf16> is arranged in 2 blocks of 64 columns, xor_shuffle<64, 8, 64, 1>: a descriptor of wgmma has its rows in the 128-byte mode}}
  %m = memref.alloc() : memref<64x128xf16, #gpu.address_space<workgroup>>
  %wr = affine.apply affine_map<(t) -> (t floordiv 16)>(%t)
  %wc = affine.apply affine_map<(t) -> (t mod 16 * 8)>(%t)
  vector.store %v, %m[%wr, %wc] : memref<64x128xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier
  %r0 = affine.apply affine_map<(t) -> (t mod 8 + t mod 32 floordiv 16 * 8)>(%t)
  %r = affine.apply affine_map<(r) -> (r + 32)>(%r0)
  %g = affine.apply affine_map<(t) -> (t mod 32 floordiv 8 mod 2 * 8 + 64)>(%t)
  %b = nvgpu.ldmatrix %m[%r, %g] numTiles = 4 transpose = false : memref<64x128xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %be:8 = vector.to_elements %b : vector<4x2xf16>
  %b0 = vector.from_elements %be#0, %be#1, %be#2, %be#3 : vector<2x2xf16>
  %b1 = vector.from_elements %be#4, %be#5, %be#6, %be#7 : vector<2x2xf16>

  %x = nvgpu.mma.sync(%a, %b0, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = nvgpu.mma.sync(%a, %b1, %d) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x, %y : vector<2x2xf32>, vector<2x2xf32>
}

// -----

// Rows of `ldmatrix` that begin in the middle of 16 bytes are no rows of a descriptor.

// CHECK-LABEL: func.func @unaligned_rows
//       CHECK:   memref.alloc() : memref<64x128xf16
//   CHECK-NOT:   iree_codegen.swizzle_hint
func.func @unaligned_rows(%a: vector<4x2xf16>, %c: vector<2x2xf32>, %d: vector<2x2xf32>, %v: vector<8xf16>)
    -> (vector<2x2xf32>, vector<2x2xf32>) attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %t = gpu.thread_id x
  %m = memref.alloc() : memref<64x128xf16, #gpu.address_space<workgroup>>
  %wr = affine.apply affine_map<(t) -> (t floordiv 16)>(%t)
  %wc = affine.apply affine_map<(t) -> (t mod 16 * 8)>(%t)
  vector.store %v, %m[%wr, %wc] : memref<64x128xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier
  %r0 = affine.apply affine_map<(t) -> (t mod 8 + t mod 32 floordiv 16 * 8)>(%t)
  %r = affine.apply affine_map<(r) -> (r + 32)>(%r0)
  %g = affine.apply affine_map<(t) -> (t mod 32 floordiv 8 mod 2 * 8 + 60)>(%t)
  %b = nvgpu.ldmatrix %m[%r, %g] numTiles = 4 transpose = false : memref<64x128xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %be:8 = vector.to_elements %b : vector<4x2xf16>
  %b0 = vector.from_elements %be#0, %be#1, %be#2, %be#3 : vector<2x2xf16>
  %b1 = vector.from_elements %be#4, %be#5, %be#6, %be#7 : vector<2x2xf16>

  %x = nvgpu.mma.sync(%a, %b0, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = nvgpu.mma.sync(%a, %b1, %d) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x, %y : vector<2x2xf32>, vector<2x2xf32>
}
