// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs{defer-to-padding=true unhinted-only=true},bankwise-pad-unhinted-allocs))' --iree-gpu-test-target=gfx942 --bankwise-remarks --verify-diagnostics | FileCheck %s

// What decides are LDS cycles and instructions together.

#launch = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>

// Swizzled, this tile has no conflicts either, but its two reads are no ds_read2_b64 any more, and
// its 16-byte stores are split.
// CHECK-LABEL: func.func @pairs(
// CHECK: memref.alloc() : memref<64x68xf16, #gpu.address_space<workgroup>>
func.func @pairs(%v: vector<8xf16>) -> (vector<4xf16>, vector<4xf16>) attributes {translation_info = #launch} {
  %x = gpu.thread_id x upper_bound 64
  // expected-remark @+2 {{allocation of memref<64x64xf16> not swizzled: padding costs less than the best swizzle, which has 0 of 120 conflict cycles}}
  // expected-remark @+1 {{allocation of memref<64x64xf16> padded by 8 bytes: conflict cycles 120 -> 0}}
  %a = memref.alloc() : memref<64x64xf16, #lds>
  %r = affine.apply affine_map<(d0) -> (d0 floordiv 8)>(%x)
  %c = affine.apply affine_map<(d0) -> (d0 mod 8 * 8)>(%x)
  vector.store %v, %a[%r, %c] : memref<64x64xf16, #lds>, vector<8xf16>
  gpu.barrier
  %m = affine.apply affine_map<(d0) -> (d0 mod 16)>(%x)
  %k = affine.apply affine_map<(d0) -> (d0 floordiv 16 * 4)>(%x)
  %n = affine.apply affine_map<(d0) -> (d0 floordiv 16 * 4 + 16)>(%x)
  %0 = vector.load %a[%m, %k] : memref<64x64xf16, #lds>, vector<4xf16>
  %1 = vector.load %a[%m, %n] : memref<64x64xf16, #lds>, vector<4xf16>
  return %0, %1 : vector<4xf16>, vector<4xf16>
}

// A tile that has a hint is passed over.

// CHECK-LABEL: func.func @hinted(
// CHECK: memref.alloc() : memref<4096xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT: iree_codegen.swizzle_hint
// CHECK-NOT: iree_codegen.swizzle_hint
func.func @hinted() -> f32 attributes {translation_info = #launch} {
  %x = gpu.thread_id x upper_bound 64
  // expected-remark @+1 {{allocation of memref<4096xf32> not padded: it is swizzled}}
  %a = memref.alloc() : memref<4096xf32, #lds>
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 32>] : memref<4096xf32, #lds>
  %o = affine.apply affine_map<(d0) -> (d0 * 64)>(%x)
  %v = memref.load %h[%o] : memref<4096xf32, #lds>
  return %v : f32
}

// What distribution allocates for reductions across subgroups is swizzled like any other.

#eight_waves = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64>
// CHECK-LABEL: func.func @late(
// CHECK: iree_codegen.swizzle_hint
func.func @late(%v: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>) attributes {translation_info = #eight_waves} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x upper_bound 512
  // expected-remark @+2 {{allocation of memref<8x1x32xf32> swizzled with xor_shuffle<32, 8, 32, 1>: 384 conflict cycles -> 0}}
  // expected-remark @+1 {{not padded: it is swizzled}}
  %a = memref.alloc() : memref<8x1x32xf32, #gpu.address_space<workgroup>>
  %wave = affine.apply affine_map<(d0) -> (d0 floordiv 64)>(%x)
  %row = affine.apply affine_map<(d0) -> (d0 mod 8)>(%x)
  %c = affine.apply affine_map<(d0) -> (d0 mod 64 floordiv 16 * 4)>(%x)
  %d = affine.apply affine_map<(d0) -> (d0 mod 64 floordiv 16 * 4 + 16)>(%x)
  %lane = affine.apply affine_map<(d0) -> (d0 mod 16)>(%x)
  %first = arith.cmpi eq, %lane, %c0 : index
  scf.if %first {
    vector.store %v, %a[%wave, %c0, %c] : memref<8x1x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    vector.store %v, %a[%wave, %c0, %d] : memref<8x1x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  }
  gpu.barrier
  %0 = vector.load %a[%row, %c0, %c] : memref<8x1x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  %1 = vector.load %a[%row, %c0, %d] : memref<8x1x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %0, %1 : vector<4xf32>, vector<4xf32>
}
