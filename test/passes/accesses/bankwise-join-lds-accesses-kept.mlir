// RUN: bankwise-opt %s --bankwise-remarks --verify-diagnostics --pass-pipeline='builtin.module(func.func(bankwise-join-lds-accesses))' --mlir-print-local-scope | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>

// A lane must see what it has stored between.

// CHECK-LABEL: func.func @overwritten
//       CHECK:   vector.store {{.*}}, vector<1xf16>
//       CHECK:   vector.store {{.*}}, vector<2xf16>
//       CHECK:   vector.store {{.*}}, vector<1xf16>
func.func @overwritten(%a: vector<1xf16>, %b: vector<1xf16>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  vector.store %a, %tile[%x, %c0] : memref<64x8xf16, #lds>, vector<1xf16>
  %ab = vector.shuffle %a, %b [0, 1] : vector<1xf16>, vector<1xf16>
  vector.store %ab, %tile[%x, %c0] : memref<64x8xf16, #lds>, vector<2xf16>
  vector.store %b, %tile[%x, %c1] : memref<64x8xf16, #lds>, vector<1xf16>
  return
}

// A row that is not known may be the same one.

// CHECK-LABEL: func.func @other_row
//       CHECK:   vector.store {{.*}}, vector<1xf16>
//       CHECK:   vector.store {{.*}}, vector<1xf16>
func.func @other_row(%a: vector<1xf16>, %b: vector<1xf16>, %row: index) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  vector.store %a, %tile[%x, %c0] : memref<64x8xf16, #lds>, vector<1xf16>
  vector.store %b, %tile[%row, %c0] : memref<64x8xf16, #lds>, vector<1xf16>
  vector.store %b, %tile[%x, %c1] : memref<64x8xf16, #lds>, vector<1xf16>
  return
}

// A load may read what is stored.

// CHECK-LABEL: func.func @read_between
//       CHECK:   vector.store {{.*}}, vector<1xf16>
//       CHECK:   vector.store {{.*}}, vector<1xf16>
func.func @read_between(%a: vector<1xf16>, %b: vector<1xf16>) -> f16 attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  vector.store %a, %tile[%x, %c0] : memref<64x8xf16, #lds>, vector<1xf16>
  %r = memref.load %tile[%x, %c1] : memref<64x8xf16, #lds>
  vector.store %b, %tile[%x, %c1] : memref<64x8xf16, #lds>, vector<1xf16>
  return %r : f16
}

// Nothing moves past a barrier.

// CHECK-LABEL: func.func @barrier
//       CHECK:   vector.store {{.*}}, vector<1xf16>
//       CHECK:   vector.store {{.*}}, vector<1xf16>
func.func @barrier(%a: vector<1xf16>, %b: vector<1xf16>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  vector.store %a, %tile[%x, %c0] : memref<64x8xf16, #lds>, vector<1xf16>
  gpu.barrier
  vector.store %b, %tile[%x, %c1] : memref<64x8xf16, #lds>, vector<1xf16>
  return
}

// Nothing moves past what is not known.

// CHECK-LABEL: func.func @called
//       CHECK:   vector.store {{.*}}, vector<1xf16>
//       CHECK:   vector.store {{.*}}, vector<1xf16>
func.func @called(%a: vector<1xf16>, %b: vector<1xf16>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  vector.store %a, %tile[%x, %c0] : memref<64x8xf16, #lds>, vector<1xf16>
  amdgpu.lds_barrier
  vector.store %b, %tile[%x, %c1] : memref<64x8xf16, #lds>, vector<1xf16>
  return
}

// Two elements from an odd one on have no address that is a multiple of their size.

// CHECK-LABEL: func.func @misaligned
//       CHECK:   vector.store {{.*}}, vector<1xf16>
//       CHECK:   vector.store {{.*}}, vector<1xf16>
func.func @misaligned(%a: vector<1xf16>, %b: vector<1xf16>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  vector.store %a, %tile[%x, %c1] : memref<64x8xf16, #lds>, vector<1xf16>
  vector.store %b, %tile[%x, %c2] : memref<64x8xf16, #lds>, vector<1xf16>
  return
}

// What lies behind the end of a row is in another one.

// CHECK-LABEL: func.func @row_end
//       CHECK:   vector.store {{.*}}, vector<1xf16>
//       CHECK:   vector.store {{.*}}, vector<1xf16>
func.func @row_end(%a: vector<1xf16>, %b: vector<1xf16>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  %c7 = arith.constant 7 : index
  %n = affine.apply affine_map<(x) -> ((x + 1) mod 64)>(%x)
  vector.store %a, %tile[%x, %c7] : memref<64x8xf16, #lds>, vector<1xf16>
  vector.store %b, %tile[%n, %c0] : memref<64x8xf16, #lds>, vector<1xf16>
  return
}

// Where a swizzle puts them is not this pass's affair.

// CHECK-LABEL: func.func @hinted
//       CHECK:   vector.store {{.*}}, vector<1xf16>
//       CHECK:   vector.store {{.*}}, vector<1xf16>
func.func @hinted(%a: vector<1xf16>, %b: vector<1xf16>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  %h = iree_codegen.swizzle_hint %tile[#iree_codegen.xor_shuffle<8, 1>] : memref<64x8xf16, #lds>
  vector.store %a, %h[%x, %c0] : memref<64x8xf16, #lds>, vector<1xf16>
  vector.store %b, %h[%x, %c1] : memref<64x8xf16, #lds>, vector<1xf16>
  return
}

// A transfer that may leave the buffer stores what lies within.

// CHECK-LABEL: func.func @may_leave
//       CHECK:   vector.transfer_write {{.*}} : vector<1xf16>
//       CHECK:   vector.transfer_write {{.*}} : vector<1xf16>
func.func @may_leave(%a: vector<1xf16>, %b: vector<1xf16>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  vector.transfer_write %a, %tile[%x, %c0] : vector<1xf16>, memref<64x8xf16, #lds>
  vector.transfer_write %b, %tile[%x, %c1] : vector<1xf16>, memref<64x8xf16, #lds>
  return
}

// The index of the first element is not known yet where the second is loaded.

// CHECK-LABEL: func.func @later_index
//       CHECK:   memref.load
//       CHECK:   memref.load
func.func @later_index() -> (f16, f16) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  %b = memref.load %tile[%x, %c1] : memref<64x8xf16, #lds>
  %late = arith.subi %c1, %c1 : index
  %a = memref.load %tile[%x, %late] : memref<64x8xf16, #lds>
  return %a, %b : f16, f16
}
