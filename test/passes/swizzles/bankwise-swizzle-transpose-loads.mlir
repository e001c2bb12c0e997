// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs,bankwise-flatten-swizzle-hints,iree-codegen-fold-memref-alias-ops,canonicalize,cse,bankwise-resolve-swizzle-hints,canonicalize,cse))' --iree-gpu-test-target=gfx950 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>
#slot = strided<[64, 1], offset: ?>

// Lanes read 16 columns of 64 rows, 8 bytes each, from the second or first slot of a double buffer.
// The compiler's folding leaves both views of the flat allocation to us.

// CHECK-LABEL: func.func @columns_of_a_slot
//       CHECK:   %[[A:.+]] = memref.alloc(){{.*}} : memref<8192xf16, #gpu.address_space<workgroup>>
//   CHECK-NOT:   memref.subview
//       CHECK:   vector.store %{{.+}}, %[[A]][%{{[^,]+}}] alignment = 16
//       CHECK:   arith.xori
//       CHECK:   amdgpu.transpose_load %[[A]][%{{[^,]+}}] : memref<8192xf16, #gpu.address_space<workgroup>> -> vector<4xf16>
func.func @columns_of_a_slot(%v: vector<8xf16>) -> vector<4xf16> attributes {translation_info = #info} {
  %zero = arith.constant dense<0.0> : vector<4xf16>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = gpu.thread_id x upper_bound 64
  %row = affine.apply affine_map<(t) -> (t floordiv 8)>(%t)
  %column = affine.apply affine_map<(t) -> (t mod 8 * 8)>(%t)
  // expected-remark @+2 {{conflict cycles -> 0}}
  // expected-remark @+1 {{resolved}}
  %a = memref.alloc() : memref<2x64x64xf16, #lds>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%last = %zero) -> vector<4xf16> {
    %b = affine.apply affine_map<(i) -> (i mod 2)>(%i)
    %s = memref.subview %a[%b, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #lds> to memref<64x64xf16, #slot, #lds>
    vector.store %v, %s[%row, %column] : memref<64x64xf16, #slot, #lds>, vector<8xf16>
    %f = amdgpu.transpose_load %s[%t, %c0] : memref<64x64xf16, #slot, #lds> -> vector<4xf16>
    %next = arith.addf %last, %f : vector<4xf16>
    scf.yield %next : vector<4xf16>
  }
  return %sum : vector<4xf16>
}
