// RUN: bankwise-opt %s --verify-diagnostics --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-align-lds-accesses))'

// What the program itself has laid out so that it faults is said in every compile.

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>

// Rows of 136 bytes: the second one begins at byte 136, which `ldmatrix` cannot read.
func.func @ldmatrix_of_padded_rows() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x upper_bound 32
  %r = affine.apply affine_map<(t) -> (t mod 16)>(%x)
  %a = memref.alloc() : memref<16x68xf16, #gpu.address_space<workgroup>>
  // expected-warning @+1 {{ldmatrix of memref<16x68xf16> needs addresses that are multiples of 16 bytes; element 68 is at byte 136 of the allocation. Use rows, padding and offsets that keep that alignment}}
  %f = nvgpu.ldmatrix %a[%r, %c0] numTiles = 4 transpose = false : memref<16x68xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  return
}

func.func @ldmatrix_of_aligned_rows() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x upper_bound 32
  %r = affine.apply affine_map<(t) -> (t mod 16)>(%x)
  %a = memref.alloc() : memref<16x72xf16, #gpu.address_space<workgroup>>
  %f = nvgpu.ldmatrix %a[%r, %c0] numTiles = 4 transpose = false : memref<16x72xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  return
}
