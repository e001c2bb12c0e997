// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-pad-unhinted-allocs))' --iree-gpu-test-target=gfx942 --bankwise-remarks --verify-diagnostics

#launch = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>
func.func @padded() -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf16> padded by 4 bytes: conflict cycles 62 -> 0}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

// What is taken for granted is said.

#launch = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>
func.func @assumed(%b: i1) attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{padded by 4 bytes: conflict cycles 62 -> 0, if a condition that is not known holds in all lanes (block argument of func.func)}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  scf.if %b {
    %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  }
  return
}

// -----

#launch = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>
func.func @unknown_user(%i: index, %f: f16) attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  // expected-remark @+1 {{padded by 8 bytes: stock's amount, because an access is not known: used by memref.atomic_rmw}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.atomic_rmw addf %f, %m[%c0, %c0] : (f16, memref<64x64xf16, #gpu.address_space<workgroup>>) -> f16
  return
}

// -----

func.func @no_launch() -> f16 {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{padded by 8 bytes: stock's amount, because the workgroup and subgroup size are not static}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// -----

#launch = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32>
func.func @half_waves() -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{padded by 8 bytes: stock's amount, because the bank model of gfx942 has waves of 64 lanes, not 32}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}
