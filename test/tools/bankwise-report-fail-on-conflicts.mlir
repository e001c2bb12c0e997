// RUN: not bankwise-report %s --target=gfx942 --fail-on-conflicts -o %t 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=OUT < %t
// RUN: bankwise-report %s --target=gfx942 -o %t
// RUN: sed '/conflicting/,$d' %s | bankwise-report - --target=gfx942 --fail-on-conflicts
// RUN: not bankwise-report %s --fail-on-conflicts -o %t 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// The report is written all the same; a proposal does not make the IR free of conflicts.

// CHECK: bankwise-report: error: 62 conflict cycles in the code as it stands (--fail-on-conflicts)
// OUT: proposed: swizzled with
// UNKNOWN: bankwise-report: error: 2 allocations with uses that are not known (--fail-on-conflicts)

func.func @hinted() -> f32 attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : memref<64x32xf32, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<32, 1>] : memref<64x32xf32, #gpu.address_space<workgroup>>
  %v = memref.load %h[%x, %c0] : memref<64x32xf32, #gpu.address_space<workgroup>>
  return %v : f32
}

func.func @conflicting() -> f32 attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : memref<64x32xf32, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x32xf32, #gpu.address_space<workgroup>>
  return %v : f32
}
