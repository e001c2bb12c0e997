// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-share-lds))' --iree-gpu-test-target=sm_90a --mlir-print-local-scope --split-input-file --verify-diagnostics --bankwise-remarks | FileCheck %s

// The queries are read before the loop writes the keys. Two workgroups with 80 KiB fit on a
// multiprocessor, and three with 64 KiB.

// CHECK-LABEL: func.func @queries
//       CHECK:   %[[K:.+]] = memref.alloc() : memref<32768xf16, #gpu.address_space<workgroup>>
//       CHECK:   %[[Q:.+]] = memref.subview %[[K]][0] [8192] [1]
//   CHECK-NOT:   memref.alloc
//       CHECK:   vector.store %{{.+}}, %[[Q]]
//       CHECK:   vector.load %[[Q]]
//  CHECK-NEXT:   gpu.barrier
//  CHECK-NEXT:   scf.for
//       CHECK:     vector.store %{{.+}}, %[[K]]
func.func @queries(%v: vector<8xf16>) -> vector<8xf16>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %t = gpu.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 4 : index
  // expected-remark @+1 {{memref<8192xf16> lies in memref<32768xf16>: it is read before memref<32768xf16> is written}}
  %q = memref.alloc() : memref<8192xf16, #gpu.address_space<workgroup>>
  %k = memref.alloc() : memref<32768xf16, #gpu.address_space<workgroup>>
  %p = memref.extract_aligned_pointer_as_index %k : memref<32768xf16, #gpu.address_space<workgroup>> -> index {bankwise.described}
  %w = affine.apply affine_map<(t) -> (t * 8)>(%t)
  vector.store %v, %q[%w] : memref<8192xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier
  %r = vector.load %q[%zero] : memref<8192xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  %last = scf.for %i = %zero to %n step %one iter_args(%sum = %r) -> (vector<8xf16>) {
    gpu.barrier
    vector.store %v, %k[%w] : memref<32768xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier
    %x = vector.load %k[%zero] : memref<32768xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    %y = arith.addf %sum, %x : vector<8xf16>
    scf.yield %y : vector<8xf16>
  }
  return %last : vector<8xf16>
}

// -----

// What the loop reads stays where it is.

// CHECK-LABEL: func.func @read_in_the_loop
// CHECK-COUNT-2: memref.alloc
//   CHECK-NOT:   memref.subview
func.func @read_in_the_loop(%v: vector<8xf16>) -> vector<8xf16>
    attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  %t = gpu.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 4 : index
  %q = memref.alloc() : memref<8192xf16, #gpu.address_space<workgroup>>
  %k = memref.alloc() : memref<32768xf16, #gpu.address_space<workgroup>>
  %p = memref.extract_aligned_pointer_as_index %k : memref<32768xf16, #gpu.address_space<workgroup>> -> index {bankwise.described}
  %w = affine.apply affine_map<(t) -> (t * 8)>(%t)
  vector.store %v, %q[%w] : memref<8192xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier
  %r = vector.load %q[%zero] : memref<8192xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  %last = scf.for %i = %zero to %n step %one iter_args(%sum = %r) -> (vector<8xf16>) {
    gpu.barrier
    vector.store %v, %k[%w] : memref<32768xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier
    %x = vector.load %k[%zero] : memref<32768xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    %o = vector.load %q[%zero] : memref<8192xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    %y = arith.addf %o, %x : vector<8xf16>
    scf.yield %y : vector<8xf16>
  }
  return %last : vector<8xf16>
}
