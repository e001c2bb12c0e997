// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs,bankwise-flatten-swizzle-hints,iree-codegen-fold-memref-alias-ops,canonicalize,cse,bankwise-resolve-swizzle-hints,canonicalize,cse))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [128, 1, 1] subgroup_size = 32>
#lds = #gpu.address_space<workgroup>
#slot = strided<[32, 1], offset: ?>

// A lane copies a row of 16 bytes, which moves as a whole: as with upstream's
// nvgpu-optimize-shared-memory no byte more is needed. Where it reads stays as it is.

// CHECK-LABEL: func.func @rows_of_64_bytes
//  CHECK-SAME:   (%[[G:.+]]: memref<128x128xf16>)
//       CHECK:   %[[A:.+]] = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
//   CHECK-DAG:   %[[R:.+]] = affine.apply affine_map<()[s0] -> (s0 floordiv 4)>
//   CHECK-DAG:   %[[C:.+]] = affine.apply affine_map<()[s0] -> (s0 * 8 - (s0 floordiv 4) * 32)>
//       CHECK:   %[[X:.+]] = arith.xori
//       CHECK:   nvgpu.device_async_copy %[[G]][%[[R]], %[[C]]], %[[A]][%[[X]]], 8 bypassL1 : memref<128x128xf16> to memref<1024xf16
//       CHECK:   %[[Y:.+]] = arith.xori
//       CHECK:   nvgpu.ldmatrix %[[A]][%[[Y]]]
func.func @rows_of_64_bytes(%g: memref<128x128xf16>) -> vector<4x2xf16> attributes {translation_info = #info} {
  %t = gpu.thread_id x upper_bound 128
  // expected-remark @+2 {{allocation of memref<32x32xf16> swizzled with xor_shuffle<32, 8, 64, 1>: 48 conflict cycles -> 0}}
  // expected-remark @+1 {{resolved (xor_shuffle<32, 8, 64, 1>): 2 accesses swizzled, 0 of them split}}
  %a = memref.alloc() : memref<32x32xf16, #lds>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %c = affine.apply affine_map<(t) -> (t mod 4 * 8)>(%t)
  %0 = nvgpu.device_async_copy %g[%r, %c], %a[%r, %c], 8 bypassL1 : memref<128x128xf16> to memref<32x32xf16, #lds>
  %1 = nvgpu.device_async_create_group %0
  nvgpu.device_async_wait %1
  gpu.barrier
  %m = affine.apply affine_map<(t) -> (t mod 16)>(%t)
  %k = affine.apply affine_map<(t) -> ((t mod 32) floordiv 16 * 8)>(%t)
  %f = nvgpu.ldmatrix %a[%m, %k] numTiles = 4 transpose = false : memref<32x32xf16, #lds> -> vector<4x2xf16>
  return %f : vector<4x2xf16>
}

// The slots of a double buffer are views; copies of 8 bytes, of which lanes may read less, stay
// inside a row of 16 bytes.

// CHECK-LABEL: func.func @slots
//  CHECK-SAME:   (%[[G:.+]]: memref<128x128xf16>, %{{.+}}: index, %[[N:.+]]: index)
//       CHECK:   %[[A:.+]] = memref.alloc() : memref<2048xf16, #gpu.address_space<workgroup>>
//   CHECK-NOT:   memref.subview
//       CHECK:   nvgpu.device_async_copy %[[G]][%{{.+}}, %{{.+}}], %[[A]][%{{[^,]+}}], 4, %[[N]] : memref<128x128xf16> to memref<2048xf16
//       CHECK:   nvgpu.ldmatrix %[[A]][%{{[^,]+}}] numTiles = 4 transpose = true
func.func @slots(%g: memref<128x128xf16>, %i: index, %n: index) -> vector<4x2xf16> attributes {translation_info = #info} {
  %zero = arith.constant dense<0.0> : vector<4x2xf16>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = gpu.thread_id x upper_bound 128
  // expected-remark @+2 {{allocation of memref<2x32x32xf16> swizzled with}}
  // expected-remark @+1 {{resolved}}
  %a = memref.alloc() : memref<2x32x32xf16, #lds>
  %r = affine.apply affine_map<(t) -> (t floordiv 8)>(%t)
  %c = affine.apply affine_map<(t) -> (t mod 8 * 4)>(%t)
  %m = affine.apply affine_map<(t) -> (t mod 16)>(%t)
  %k = affine.apply affine_map<(t) -> ((t mod 32) floordiv 16 * 8)>(%t)
  %sum = scf.for %step = %c0 to %c4 step %c1 iter_args(%last = %zero) -> vector<4x2xf16> {
    %b = affine.apply affine_map<(i) -> (i mod 2)>(%step)
    %s = memref.subview %a[%b, 0, 0] [1, 32, 32] [1, 1, 1] : memref<2x32x32xf16, #lds> to memref<32x32xf16, #slot, #lds>
    %0 = nvgpu.device_async_copy %g[%r, %c], %s[%r, %c], 4, %n : memref<128x128xf16> to memref<32x32xf16, #slot, #lds>
    %f = nvgpu.ldmatrix %s[%m, %k] numTiles = 4 transpose = true : memref<32x32xf16, #slot, #lds> -> vector<4x2xf16>
    %next = arith.addf %last, %f : vector<4x2xf16>
    scf.yield %next : vector<4x2xf16>
  }
  return %sum : vector<4x2xf16>
}
