// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs))' --iree-gpu-test-target=gfx942 | FileCheck %s --check-prefixes=CHECK,ALONE
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs{defer-to-padding=true},bankwise-pad-unhinted-allocs))' --iree-gpu-test-target=gfx942 | FileCheck %s --check-prefixes=CHECK,DEFER

// The best swizzle of these rows leaves a conflict cycle, the best padding leaves none.
#one_wave = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>
func.func @better_padded(%v: vector<1xf16>) -> f16 attributes {translation_info = #one_wave} {
  %x = gpu.thread_id x upper_bound 64
  %a = memref.alloc() : memref<24x16xf16, #lds>
  %r = affine.apply affine_map<()[s0] -> (s0 floordiv 16)>()[%x]
  %c = affine.apply affine_map<()[s0] -> (s0 mod 16)>()[%x]
  vector.store %v, %a[%r, %c] : memref<24x16xf16, #lds>, vector<1xf16>
  gpu.barrier
  %q = affine.apply affine_map<()[s0] -> (s0 mod 24)>()[%x]
  %p = affine.apply affine_map<()[s0] -> (s0 floordiv 24)>()[%x]
  %z = memref.load %a[%q, %p] : memref<24x16xf16, #lds>
  return %z : f16
}

// CHECK-LABEL: func.func @better_padded
//       ALONE:   iree_codegen.swizzle_hint
//   DEFER-NOT:   iree_codegen.swizzle_hint
//       DEFER:   memref.alloc() : memref<24x19xf16, #gpu.address_space<workgroup>>

// The same, but a collapsed view can take no padded rows: nothing is left to the padding.
func.func @cannot_be_padded(%v: vector<1xf16>) -> f16 attributes {translation_info = #one_wave} {
  %x = gpu.thread_id x upper_bound 64
  %a = memref.alloc() : memref<24x16xf16, #lds>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<24x16xf16, #lds> into memref<384xf16, #lds>
  %r = affine.apply affine_map<()[s0] -> (s0 floordiv 16)>()[%x]
  %c = affine.apply affine_map<()[s0] -> (s0 mod 16)>()[%x]
  vector.store %v, %a[%r, %c] : memref<24x16xf16, #lds>, vector<1xf16>
  gpu.barrier
  %o = affine.apply affine_map<()[s0] -> (s0 mod 24 * 16 + s0 floordiv 24)>()[%x]
  %z = memref.load %flat[%o] : memref<384xf16, #lds>
  return %z : f16
}

// CHECK-LABEL: func.func @cannot_be_padded
//       CHECK:   iree_codegen.swizzle_hint
