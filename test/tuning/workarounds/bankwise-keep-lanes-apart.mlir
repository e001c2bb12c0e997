// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-keep-lanes-apart))' --verify-diagnostics --bankwise-remarks | FileCheck %s

// A copy that each lane adds to in two loops.

// CHECK-LABEL: func.func @sums
// CHECK:         %[[OWN:.*]] = memref.alloca(%{{.*}}) : memref<1x?xf32, #gpu.address_space<private>>
// CHECK:         memref.copy %{{.*}}, %[[OWN]]
// CHECK:         scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[OWN]]) -> (memref<1x?xf32, #gpu.address_space<private>>)
// CHECK:           scf.for {{.*}} iter_args(%{{.*}} = %[[SUM]]) -> (memref<1x?xf32, #gpu.address_space<private>>)
// CHECK-NOT:     workgroup
func.func @sums(%y: memref<1x?xf32, #amdgpu.address_space<fat_raw_buffer>>, %n: index, %v: vector<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%lane) in (64) {
    // expected-remark @+1 {{all lanes would have one buffer in the LDS}}
    %c = memref.alloc(%n) {bankwise.of_each_lane} : memref<1x?xf32, #gpu.address_space<workgroup>>
    memref.copy %y, %c : memref<1x?xf32, #amdgpu.address_space<fat_raw_buffer>> to memref<1x?xf32, #gpu.address_space<workgroup>>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %c) -> (memref<1x?xf32, #gpu.address_space<workgroup>>) {
      %s = scf.for %j = %c0 to %n step %c1 iter_args(%d = %b) -> (memref<1x?xf32, #gpu.address_space<workgroup>>) {
        vector.store %v, %d[%c0, %j] : memref<1x?xf32, #gpu.address_space<workgroup>>, vector<1xf32>
        scf.yield %d : memref<1x?xf32, #gpu.address_space<workgroup>>
      }
      scf.yield %s : memref<1x?xf32, #gpu.address_space<workgroup>>
    }
    memref.copy %r, %y : memref<1x?xf32, #gpu.address_space<workgroup>> to memref<1x?xf32, #amdgpu.address_space<fat_raw_buffer>>
  } {mapping = [#gpu.thread<linear_dim_0>]}
  return
}

// -----

// A buffer that the lanes share, and one that may be it, stay.

// CHECK-LABEL: func.func @shared
// CHECK-COUNT-2: memref.alloc() : memref<8xf32, #gpu.address_space<workgroup>>
// CHECK-NOT:     private
func.func @shared(%p: i1, %v: vector<1xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%lane) in (64) {
    %s = memref.alloc() : memref<8xf32, #gpu.address_space<workgroup>>
    // expected-remark @+1 {{lanes share a buffer: a loop or a choice joins a buffer with one that stays where it is}}
    %c = memref.alloc() {bankwise.of_each_lane} : memref<8xf32, #gpu.address_space<workgroup>>
    %r = arith.select %p, %c, %s : memref<8xf32, #gpu.address_space<workgroup>>
    vector.store %v, %r[%c0] : memref<8xf32, #gpu.address_space<workgroup>>, vector<1xf32>
  } {mapping = [#gpu.thread<linear_dim_0>]}
  return
}
