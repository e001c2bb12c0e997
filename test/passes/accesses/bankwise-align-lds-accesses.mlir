// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-align-lds-accesses))' --mlir-print-local-scope | FileCheck %s

// A row has 64 bytes; a store needs no more than its own 32, and no instruction more than 16.

func.func @rows_of_16_floats(%row: index, %v: vector<8xf32>) {
  %a = memref.alloc() : memref<2x1x16xf32, #gpu.address_space<workgroup>>
  %zero = arith.constant 0 : index
  %eight = arith.constant 8 : index
  vector.store %v, %a[%row, %zero, %eight] : memref<2x1x16xf32, #gpu.address_space<workgroup>>, vector<8xf32>
  return
}

// CHECK-LABEL: func.func @rows_of_16_floats
//       CHECK:   memref.alloc() alignment = 16
//       CHECK:   vector.store {{.*}} alignment = 16

func.func @what_the_offset_allows(%i: index) -> (vector<4xf16>, vector<4xf16>, vector<4xf16>) {
  %a = memref.alloc() : memref<256xf16, #gpu.address_space<workgroup>>
  %four = affine.apply affine_map<(d0) -> (d0 * 4)>(%i)
  %0 = vector.load %a[%four] : memref<256xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  %two = affine.apply affine_map<(d0) -> (d0 * 4 + 2)>(%i)
  %1 = vector.load %a[%two] : memref<256xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  %2 = vector.load %a[%i] : memref<256xf16, #gpu.address_space<workgroup>>, vector<4xf16>
  return %0, %1, %2 : vector<4xf16>, vector<4xf16>, vector<4xf16>
}

// CHECK-LABEL: func.func @what_the_offset_allows
//       CHECK:   memref.alloc() alignment = 8
//       CHECK:   vector.load {{.*}} alignment = 8
//       CHECK:   vector.load {{.*}} alignment = 4
//       CHECK:   vector.load %{{.+}}[%{{.+}}] : memref

// Rows that are padded by 8 bytes begin at multiples of 8, and a view may begin anywhere.

func.func @padded_rows_and_views(%row: index, %start: index) -> (vector<4xf32>, vector<4xf32>) {
  %p = memref.alloc() : memref<4x18xf32, #gpu.address_space<workgroup>>
  %a = memref.subview %p[0, 0] [4, 16] [1, 1] : memref<4x18xf32, #gpu.address_space<workgroup>> to memref<4x16xf32, strided<[18, 1]>, #gpu.address_space<workgroup>>
  %zero = arith.constant 0 : index
  %0 = vector.load %a[%row, %zero] : memref<4x16xf32, strided<[18, 1]>, #gpu.address_space<workgroup>>, vector<4xf32>
  %b = memref.subview %p[0, %start] [4, 4] [1, 1] : memref<4x18xf32, #gpu.address_space<workgroup>> to memref<4x4xf32, strided<[18, 1], offset: ?>, #gpu.address_space<workgroup>>
  %1 = vector.load %b[%zero, %zero] : memref<4x4xf32, strided<[18, 1], offset: ?>, #gpu.address_space<workgroup>>, vector<4xf32>
  return %0, %1 : vector<4xf32>, vector<4xf32>
}

// CHECK-LABEL: func.func @padded_rows_and_views
//       CHECK:   memref.alloc() alignment = 8
//       CHECK:   vector.load {{.*}} alignment = 8
//       CHECK:   vector.load %{{.+}}[%{{.+}}, %{{.+}}] : memref

// More may have been promised than can be seen; other memory begins nobody knows where.

func.func @kept(%i: index, %arg: memref<64xf32, #gpu.address_space<workgroup>>) -> (vector<4xf32>, vector<4xf32>) {
  %a = memref.alloc() : memref<64xf32, #gpu.address_space<workgroup>>
  %0 = vector.load %a[%i] alignment = 16 : memref<64xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  %zero = arith.constant 0 : index
  %1 = vector.load %arg[%zero] : memref<64xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %0, %1 : vector<4xf32>, vector<4xf32>
}

// CHECK-LABEL: func.func @kept
//       CHECK:   memref.alloc() :
//       CHECK:   vector.load {{.*}} alignment = 16
//       CHECK:   vector.load %{{.+}}[%{{.+}}] : memref
