// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-pad-unhinted-allocs))' --iree-gpu-test-target=gfx942 --bankwise-remarks --verify-diagnostics

#launch = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>
func.func @padded() -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<64x64xf16> padded by 4 bytes: conflict cycles 62 -> 0; no bank conflicts are left, so that no layout has fewer}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// What is taken for granted is said.

func.func @assumed(%b: i1) attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{padded by 4 bytes: conflict cycles 62 -> 0, if a condition that is not known holds in all lanes (block argument of func.func); no bank conflicts are left, so that no layout has fewer}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  scf.if %b {
    %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  }
  return
}

func.func @unknown_user(%i: index, %f: f16) attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  // expected-remark @+1 {{padded by 8 bytes: stock's amount, because an access is not known: used by memref.atomic_rmw}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.atomic_rmw addf %f, %m[%c0, %c0] : (f16, memref<64x64xf16, #gpu.address_space<workgroup>>) -> f16
  return
}

func.func @no_launch() -> f16 {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{padded by 8 bytes: stock's amount, because the function has no translation_info with workgroup and subgroup size}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

#half_waves = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32>
func.func @half_waves() -> f16 attributes {translation_info = #half_waves} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{padded by 8 bytes: stock's amount, because waves of 32 lanes: the LDS of gfx942 is only known for 64}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// The rows' readers want padding; the 16-byte writers only keep whole, and free of conflicts, with
// more of it than stock's 8 bytes.

func.func @some_left(%w: vector<8xf16>) -> vector<4xf16> attributes {translation_info = #launch} {
  %x = gpu.thread_id x
  %h:2 = affine.delinearize_index %x into (4, 16) : index, index
  %i = affine.apply affine_map<(d0) -> (d0 * 8)>(%h#1)
  %j = affine.apply affine_map<(d0) -> (d0 * 4)>(%h#0)
  // expected-remark @+1 {{padded by 8 bytes: conflict cycles 60 -> 8; no layout with fewer was found among those allowed (4 with 16 bytes, which would use more LDS than the stock padding or the limit); 1 access is split to avoid conflicts}}
  %m = memref.alloc() : memref<64x128xf16, #gpu.address_space<workgroup>>
  vector.store %w, %m[%h#0, %i] : memref<64x128xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  %v = vector.load %m[%h#1, %j] : memref<64x128xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  return %v : vector<4xf16>
}

// Stock's 8 bytes leave no conflict, but take the alignment of 16 bytes away.

func.func @split() -> vector<8xf16> attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{padded by 8 bytes: conflict cycles 56 -> 0; no bank conflicts are left, so that no layout has fewer; 1 access is split to avoid conflicts}}
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = vector.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  return %v : vector<8xf16>
}
