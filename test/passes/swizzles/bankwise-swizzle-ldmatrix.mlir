// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs,bankwise-flatten-swizzle-hints,iree-codegen-fold-memref-alias-ops,canonicalize,cse,bankwise-resolve-swizzle-hints,canonicalize,cse))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>

// 8 lanes give the addresses of 8 rows 128 bytes apart. The row of 16 bytes moves as a whole, and
// the compiler's folding leaves the view of 16 x 64 to us.

// CHECK-LABEL: func.func @fragments
//       CHECK:   %[[A:.+]] = memref.alloc() alignment = 16 : memref<1024xf16, #gpu.address_space<workgroup>>
//       CHECK:   %[[X:.+]] = arith.xori
//       CHECK:   vector.store %{{.+}}, %[[A]][%[[X]]]
//       CHECK:   %[[Y:.+]] = arith.xori
//       CHECK:   nvgpu.ldmatrix %[[A]][%[[Y]]] numTiles = 4 transpose = false : memref<1024xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
func.func @fragments(%v: vector<8xf16>) -> vector<4x2xf16> attributes {translation_info = #info} {
  %t = gpu.thread_id x upper_bound 32
  // expected-remark @+2 {{allocation of memref<16x64xf16> swizzled with xor_shuffle<64, 8, 64, 1>: 28 conflict cycles -> 0}}
  // expected-remark @+1 {{resolved}}
  %a = memref.alloc() : memref<16x64xf16, #gpu.address_space<workgroup>>
  %row = affine.apply affine_map<(t) -> (t floordiv 8)>(%t)
  %column = affine.apply affine_map<(t) -> (t mod 8 * 8)>(%t)
  vector.store %v, %a[%row, %column] : memref<16x64xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  %m = affine.apply affine_map<(t) -> (t mod 16)>(%t)
  %k = affine.apply affine_map<(t) -> (t floordiv 16 * 8)>(%t)
  %f = nvgpu.ldmatrix %a[%m, %k] numTiles = 4 transpose = false : memref<16x64xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  return %f : vector<4x2xf16>
}

// One matrix: the addresses of lanes 8 to 31, all on the same bank, are not used.

// CHECK-LABEL: func.func @one_matrix
//   CHECK-NOT:   xori
func.func @one_matrix() -> vector<1x2xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %t = gpu.thread_id x upper_bound 32
  // expected-remark @+1 {{allocation of memref<32x8xf16> not swizzled: its plain layout has no bank conflict}}
  %a = memref.alloc() : memref<32x8xf16, #gpu.address_space<workgroup>>
  %row = affine.apply affine_map<(t) -> (t mod 8 + t floordiv 8 * 8)>(%t)
  %f = nvgpu.ldmatrix %a[%row, %c0] numTiles = 1 transpose = false : memref<32x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
  return %f : vector<1x2xf16>
}
