// RUN: bankwise-opt %s --bankwise-remarks --verify-diagnostics --pass-pipeline='builtin.module(func.func(bankwise-join-lds-accesses,canonicalize,cse))' --mlir-print-local-scope | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>

// The stores of a row become one, where the last of them stood.

// CHECK-LABEL: func.func @stores
//       CHECK:   memref.load
//  CHECK-NEXT:   memref.store %{{.+}} : memref<4xf32>
//       CHECK:   %[[V:.+]] = vector.from_elements %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : vector<4xf16>
//       CHECK:   vector.store %[[V]], %{{.+}}[%{{.+}}, %c4] : {{.*}}, vector<4xf16>
//   CHECK-NOT:   store
func.func @stores(%a: vector<1xf16>, %b: f16, %c: vector<2xf16>, %g: memref<4xf32>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  // expected-remark @+1 {{of memref<64x8xf16> 3 stores become 1 wider}}
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  memref.store %b, %tile[%x, %c5] : memref<64x8xf16, #lds>
  vector.store %a, %tile[%x, %c4] : memref<64x8xf16, #lds>, vector<1xf16>
  %e = memref.load %g[%c0] : memref<4xf32>
  memref.store %e, %g[%c0] : memref<4xf32>
  vector.store %c, %tile[%x, %c6] : memref<64x8xf16, #lds>, vector<2xf16>
  return
}

// Loads become one where the first of them stood. A load of 16 bytes is as wide as they come.

// CHECK-LABEL: func.func @loads
//       CHECK:   %[[LOW:.+]] = vector.load %{{.+}}[%{{.+}}] : {{.*}}, vector<4xf32>
//       CHECK:   %[[HIGH:.+]] = vector.load %{{.+}}[%{{.+}}] : {{.*}}, vector<2xf32>
//   CHECK-NOT:   load
func.func @loads() -> (vector<2xf32>, f32, f32, vector<2xf32>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %0 = affine.apply affine_map<(x) -> (x * 8)>(%x)
  %2 = affine.apply affine_map<(x) -> (x * 8 + 2)>(%x)
  %3 = affine.apply affine_map<(x) -> (x * 8 + 3)>(%x)
  %4 = affine.apply affine_map<(x) -> (x * 8 + 4)>(%x)
  // expected-remark @+1 {{of memref<512xf32> 3 loads become 1 wider}}
  %tile = memref.alloc() : memref<512xf32, #lds>
  %a = vector.load %tile[%0] : memref<512xf32, #lds>, vector<2xf32>
  %b = memref.load %tile[%2] : memref<512xf32, #lds>
  %c = memref.load %tile[%3] : memref<512xf32, #lds>
  %d = vector.load %tile[%4] : memref<512xf32, #lds>, vector<2xf32>
  return %a, %b, %c, %d : vector<2xf32>, f32, f32, vector<2xf32>
}

// Transfers stay transfers: pipelines that prefetch tell stages by them.

// CHECK-LABEL: func.func @transfers
//       CHECK:   vector.transfer_write %{{.+}}, %{{.+}}[%{{.+}}, %c0] {in_bounds = [true]} : vector<2xf16>
//   CHECK-NOT:   vector.transfer_write
func.func @transfers(%a: vector<1xf16>, %b: vector<1xf16>) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{of memref<64x8xf16> 2 stores become 1 wider}}
  %tile = memref.alloc() : memref<64x8xf16, #lds>
  vector.transfer_write %a, %tile[%x, %c0] {in_bounds = [true]} : vector<1xf16>, memref<64x8xf16, #lds>
  vector.transfer_write %b, %tile[%x, %c1] {in_bounds = [true]} : vector<1xf16>, memref<64x8xf16, #lds>
  return
}

// Neighbours of different iterations meet once their loop is unrolled.

// CHECK-LABEL: func.func @iterations
//   CHECK-NOT:   scf.for
//       CHECK:   vector.load {{.*}}, vector<4xf32>
//   CHECK-NOT:   load
func.func @iterations() -> f32 attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  // expected-remark @+1 {{of memref<256xf32> 4 loads become 1 wider}}
  %tile = memref.alloc() : memref<256xf32, #lds>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> f32 {
    %o = affine.apply affine_map<(x, i) -> (x * 4 + i)>(%x, %i)
    %v = memref.load %tile[%o] : memref<256xf32, #lds>
    %n = arith.addf %s, %v : f32
    scf.yield %n : f32
  }
  return %sum : f32
}

// Iterations that reach rows far from each other stay in their loop.

// CHECK-LABEL: func.func @rows
//       CHECK:   scf.for
func.func @rows() -> f32 attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %tile = memref.alloc() : memref<4x64xf32, #lds>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> f32 {
    %v = memref.load %tile[%i, %x] : memref<4x64xf32, #lds>
    %n = arith.addf %s, %v : f32
    scf.yield %n : f32
  }
  return %sum : f32
}
