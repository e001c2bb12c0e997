// RUN: not bankwise-report %s --target=gfx942 --fail-on-conflicts -o %t 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=OUT < %t
// RUN: bankwise-report %s --target=gfx942 -o %t
// RUN: sed '/^func.func @conflicting/,$d' %s | bankwise-report - --target=gfx942 --fail-on-conflicts
// RUN: not bankwise-report %s --fail-on-conflicts -o %t 2>&1 | FileCheck %s --check-prefix=NAMELESS
// RUN: FileCheck %s --check-prefix=NOTE < %t
// RUN: echo 'func.func @plain(%%x: index) { return }' | not bankwise-report - --fail-on-conflicts 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: echo 'func.func @exp(%%x: tensor<8xf32>) -> tensor<8xf32> { %%y = math.exp %%x : tensor<8xf32> return %%y : tensor<8xf32> }' > %t.mlir
// RUN: bankwise-report %s %t.mlir --target=gfx942 | FileCheck %s --check-prefix=TENSORS
// RUN: not bankwise-report %s %t.mlir --target=gfx942 --fail-on-conflicts -o %t 2>&1 | FileCheck %s --check-prefix=UNCOMPILED

// The report is written all the same; a proposal does not make the IR free of conflicts.

// CHECK: bankwise-report: error: --fail-on-conflicts: 62 conflict cycles in the code as it stands
// OUT: proposed: swizzled with
// NAMELESS: bankwise-report: error: --fail-on-conflicts: 2 functions with LDS but no GPU; name one with --target= (gfx90a, gfx942, gfx950)
// NOTE: @hinted: not counted, because it names no GPU; name one with --target= (gfx90a, gfx942, gfx950)
// NOTHING: @plain: no workgroup allocations
// NOTHING: bankwise-report: error: --fail-on-conflicts: nothing was compiled and the input holds no kernel; to compile it, name the device, such as --iree-hal-target-device=hip --iree-rocm-target=gfx942
// TENSORS: @exp: not compiled, so that its LDS is not known; to compile it, name the device, such as --iree-hal-target-device=hip
// UNCOMPILED: error: --fail-on-conflicts: 62 conflict cycles in the code as it stands; 1 function not compiled; to compile it, name the device

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
