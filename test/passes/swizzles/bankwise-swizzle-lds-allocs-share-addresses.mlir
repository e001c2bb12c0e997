// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs{share-addresses=true},bankwise-resolve-swizzle-hints,cse))' --iree-gpu-test-target=gfx942 --bankwise-remarks --verify-diagnostics | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// A hint that moves nothing lets two rows that a lane reads have one address and a constant, so that
// LLVM can pair the reads.

// CHECK-LABEL: func.func @plain
// CHECK:         %[[READ:.+]] = affine.linearize_index disjoint [%{{.+}}, %c0, %{{.+}}] by (16, 4, 64)
// CHECK:         vector.load %[[FLAT:.+]][%[[READ]]]
// CHECK:         %[[NEXT:.+]] = arith.addi %[[READ]], %c64
// CHECK:         vector.load %[[FLAT]][%[[NEXT]]]
func.func @plain(%v: vector<2xf32>) -> (vector<2xf32>, vector<2xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu.thread_id x
  // expected-remark @+2 {{not swizzled: its plain layout has no bank conflict; a hint that moves nothing lets its accesses share an address}}
  // expected-remark @+1 {{3 accesses swizzled, 0 of them split}}
  %a = memref.alloc() : memref<4096xf32, #gpu.address_space<workgroup>>
  %l:2 = affine.delinearize_index %x into (2, 32) : index, index
  %column = affine.apply affine_map<(d0) -> (d0 * 2)>(%l#1)
  %row = affine.linearize_index disjoint [%l#0, %c0, %column] by (16, 4, 64) : index
  %next = affine.linearize_index disjoint [%l#0, %c1, %column] by (16, 4, 64) : index
  vector.store %v, %a[%row] : memref<4096xf32, #gpu.address_space<workgroup>>, vector<2xf32>
  gpu.barrier
  %r = vector.load %a[%row] : memref<4096xf32, #gpu.address_space<workgroup>>, vector<2xf32>
  %s = vector.load %a[%next] : memref<4096xf32, #gpu.address_space<workgroup>>, vector<2xf32>
  return %r, %s : vector<2xf32>, vector<2xf32>
}
