// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-join-lds-accesses{keep-copies}))' --iree-gpu-test-target=sm_80 | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-join-lds-accesses))' --iree-gpu-test-target=sm_80 | FileCheck %s --check-prefix=JOINED
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-join-lds-accesses{keep-copies}))' --iree-gpu-test-target=gfx942 | FileCheck %s --check-prefix=JOINED

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#lds = #gpu.address_space<workgroup>

// Copies of 4 bytes in loops stay copies, whether what lies beyond an end is zero or not, where there is `cp.async`.

//  CHECK-LABEL: func.func @words
// CHECK-COUNT-2:  vector.store {{.*}} : memref<128xf16, #gpu.address_space<workgroup>>, vector<2xf16>
// JOINED-LABEL: func.func @words
//       JOINED:   vector.store {{.*}} : memref<128xf16, #gpu.address_space<workgroup>>, vector<4xf16>
func.func @words(%g: memref<128xf16>, %there: i1) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<2xf16>
  %t = memref.alloc() : memref<128xf16, #lds>
  %x = gpu.thread_id x upper_bound 32
  %i = arith.muli %x, %c4 : index
  %j = arith.addi %i, %c2 : index
  scf.for %n = %c0 to %c64 step %c1 {
  %a = vector.load %g[%i] : memref<128xf16>, vector<2xf16>
  %b = vector.load %g[%j] : memref<128xf16>, vector<2xf16>
  %c = arith.select %there, %b, %zero : vector<2xf16>
  vector.store %a, %t[%i] : memref<128xf16, #lds>, vector<2xf16>
  vector.store %c, %t[%j] : memref<128xf16, #lds>, vector<2xf16>
  }
  return
}

// Nothing overlaps copies outside of loops.

//  CHECK-LABEL: func.func @once
//        CHECK:   vector.store {{.*}} : memref<128xf16, #gpu.address_space<workgroup>>, vector<4xf16>
func.func @once(%g: memref<128xf16>, %there: i1) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<2xf16>
  %t = memref.alloc() : memref<128xf16, #lds>
  %x = gpu.thread_id x upper_bound 32
  %i = arith.muli %x, %c4 : index
  %j = arith.addi %i, %c2 : index
  %a = vector.load %g[%i] : memref<128xf16>, vector<2xf16>
  %b = vector.load %g[%j] : memref<128xf16>, vector<2xf16>
  %c = arith.select %there, %b, %zero : vector<2xf16>
  vector.store %a, %t[%i] : memref<128xf16, #lds>, vector<2xf16>
  vector.store %c, %t[%j] : memref<128xf16, #lds>, vector<2xf16>
  return
}

// cp.async moves no 2 bytes, and nothing that was computed.

//  CHECK-LABEL: func.func @halves_and_sums
//        CHECK:   vector.store {{.*}} vector<2xf16>
//        CHECK:   vector.store {{.*}} vector<4xf16>
func.func @halves_and_sums(%g: memref<128xf16>) attributes {translation_info = #info} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %t = memref.alloc() : memref<128xf16, #lds>
  %s = memref.alloc() : memref<128xf16, #lds>
  %x = gpu.thread_id x upper_bound 32
  %i = arith.muli %x, %c2 : index
  %j = arith.addi %i, %c1 : index
  %a = vector.load %g[%i] : memref<128xf16>, vector<1xf16>
  %b = vector.load %g[%j] : memref<128xf16>, vector<1xf16>
  vector.store %a, %t[%i] : memref<128xf16, #lds>, vector<1xf16>
  vector.store %b, %t[%j] : memref<128xf16, #lds>, vector<1xf16>
  %k = arith.muli %x, %c4 : index
  %l = arith.addi %k, %c2 : index
  %c = vector.load %g[%k] : memref<128xf16>, vector<2xf16>
  %d = vector.load %g[%l] : memref<128xf16>, vector<2xf16>
  %e = arith.addf %c, %d : vector<2xf16>
  %f = arith.subf %c, %d : vector<2xf16>
  vector.store %e, %s[%k] : memref<128xf16, #lds>, vector<2xf16>
  vector.store %f, %s[%l] : memref<128xf16, #lds>, vector<2xf16>
  return
}
