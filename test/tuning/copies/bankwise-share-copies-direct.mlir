// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=gfx950 --pass-pipeline='builtin.module(func.func(bankwise-share-copies{direct=true},canonicalize))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Of 8 x 80 elements 64 lanes copy 16 bytes each, and 16 lanes once more, through a descriptor of the flat buffer.

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>
#raw = #amdgpu.address_space<fat_raw_buffer>

// CHECK-LABEL: func.func @descriptor
//       CHECK:   %[[FLAT:.+]] = hal.interface.binding.subspan {{.*}} : memref<5120xf16>
//       CHECK:   %[[RAW:.+]] = amdgpu.fat_raw_buffer_cast %[[FLAT]] resetOffset : memref<5120xf16> to memref<5120xf16, #amdgpu.address_space<fat_raw_buffer>>
//       CHECK:   %[[T:.+]] = gpu.thread_id x
//       CHECK:   affine.apply affine_map<()[s0, s1] -> (s0 + s1 * 8)>()[%{{.+}}, %[[T]]]
//       CHECK:   vector.load %[[RAW]][%{{.+}}] alignment = 16 : memref<5120xf16, #amdgpu.address_space<fat_raw_buffer>>, vector<8xf16>
//       CHECK:   vector.load %[[RAW]]
func.func @descriptor(%first: index) attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %p = ub.poison : f16
  // expected-remark @+1 {{5 copies of a lane to memref<8x80xf16, #gpu.address_space<workgroup>> become 2}}
  %m = memref.alloc() : memref<8x80xf16, #gpu.address_space<workgroup>>
  %s = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<64x80xf16>
  %a = memref.assume_alignment %s, 64 : memref<64x80xf16>
  %g = amdgpu.fat_raw_buffer_cast %a resetOffset : memref<64x80xf16> to memref<64x80xf16, #raw>
  %t = gpu.thread_id x
  %l:2 = affine.delinearize_index %t into (8, 8) : index, index
  %r = affine.linearize_index [%l#0, %first] by (8, 1) : index
  %w = affine.linearize_index disjoint [%l#0, %c0] by (8, 1) : index
  %x0 = affine.linearize_index disjoint [%c0, %l#1, %c0] by (5, 8, 2) : index
  %x1 = affine.linearize_index disjoint [%c1, %l#1, %c0] by (5, 8, 2) : index
  %x2 = affine.linearize_index disjoint [%c2, %l#1, %c0] by (5, 8, 2) : index
  %x3 = affine.linearize_index disjoint [%c3, %l#1, %c0] by (5, 8, 2) : index
  %x4 = affine.linearize_index disjoint [%c4, %l#1, %c0] by (5, 8, 2) : index
  %v0 = vector.transfer_read %g[%r, %x0], %p {in_bounds = [true, true]} : memref<64x80xf16, #raw>, vector<1x2xf16>
  %v1 = vector.transfer_read %g[%r, %x1], %p {in_bounds = [true, true]} : memref<64x80xf16, #raw>, vector<1x2xf16>
  %v2 = vector.transfer_read %g[%r, %x2], %p {in_bounds = [true, true]} : memref<64x80xf16, #raw>, vector<1x2xf16>
  %v3 = vector.transfer_read %g[%r, %x3], %p {in_bounds = [true, true]} : memref<64x80xf16, #raw>, vector<1x2xf16>
  %v4 = vector.transfer_read %g[%r, %x4], %p {in_bounds = [true, true]} : memref<64x80xf16, #raw>, vector<1x2xf16>
  vector.transfer_write %v0, %m[%w, %x0] {in_bounds = [true, true]} : vector<1x2xf16>, memref<8x80xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v1, %m[%w, %x1] {in_bounds = [true, true]} : vector<1x2xf16>, memref<8x80xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v2, %m[%w, %x2] {in_bounds = [true, true]} : vector<1x2xf16>, memref<8x80xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v3, %m[%w, %x3] {in_bounds = [true, true]} : vector<1x2xf16>, memref<8x80xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %v4, %m[%w, %x4] {in_bounds = [true, true]} : vector<1x2xf16>, memref<8x80xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// Nobody has chosen a tile that goes to the LDS without registers.

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>

// CHECK-LABEL: func.func @not_chosen
// CHECK-COUNT-2: vector.transfer_read
//     CHECK-NOT: vector.load
func.func @not_chosen() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %p = ub.poison : f16
  %m = memref.alloc() : memref<64x4xf16, #gpu.address_space<workgroup>>
  %s = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<64x4xf16>
  %g = memref.assume_alignment %s, 64 : memref<64x4xf16>
  %t = gpu.thread_id x
  %v = vector.transfer_read %g[%t, %c0], %p {in_bounds = [true, true]} : memref<64x4xf16>, vector<1x2xf16>
  %w = vector.transfer_read %g[%t, %c2], %p {in_bounds = [true, true]} : memref<64x4xf16>, vector<1x2xf16>
  vector.transfer_write %v, %m[%t, %c0] {in_bounds = [true, true]} : vector<1x2xf16>, memref<64x4xf16, #gpu.address_space<workgroup>>
  vector.transfer_write %w, %m[%t, %c2] {in_bounds = [true, true]} : vector<1x2xf16>, memref<64x4xf16, #gpu.address_space<workgroup>>
  return
}
