// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-overlap-copies{slots=2},canonicalize,cse))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// Every lane copies 16 bytes of a row of 256 elements to the tile. The first copy goes before the loop.
// Iteration t waits for its own copies, issues those of iteration t + 1, and reads the slot t mod 2. Of the two
// barriers one is left.

// CHECK-LABEL: func.func @one_tile
//   CHECK-DAG:   %[[C0:.+]] = arith.constant 0 : index
//   CHECK-DAG:   %[[C1:.+]] = arith.constant 1 : index
//   CHECK-DAG:   %[[C2:.+]] = arith.constant 2 : index
//   CHECK-DAG:   %[[C256:.+]] = arith.constant 256 : index
//   CHECK-DAG:   %[[C1024:.+]] = arith.constant 1024 : index
//       CHECK:   %[[SLOTS:.+]] = memref.alloc() alignment = 16 : memref<512xf16, #gpu.address_space<workgroup>>
//       CHECK:   %[[AT:.+]] = affine.apply
//       CHECK:   memref.subview %[[SLOTS]][0] [256] [1]
//       CHECK:   nvgpu.device_async_copy %{{.+}}[%[[C0]], %[[AT]]], %{{.+}}[%[[AT]]], 8 bypassL1
//       CHECK:   %[[GROUP:.+]] = nvgpu.device_async_create_group
//       CHECK:   scf.for %[[I:.+]] = %[[C0]] to
//  CHECK-NEXT:     nvgpu.device_async_wait %[[GROUP]] numGroups = 0
//  CHECK-NEXT:     gpu.barrier memfence [#gpu.address_space<workgroup>]
//       CHECK:     %[[ITERATION:.+]] = arith.divui %[[I]], %[[C256]]
//       CHECK:     %[[HERE:.+]] = arith.remui %[[ITERATION]], %[[C2]]
//       CHECK:     %[[READ:.+]] = arith.muli %[[HERE]], %[[C256]]
//       CHECK:     %[[FROM:.+]] = memref.subview %[[SLOTS]][%[[READ]]] [256] [1]
//       CHECK:     %[[LATER:.+]] = arith.addi %[[ITERATION]], %[[C1]]
//       CHECK:     %[[OTHER:.+]] = arith.remui %[[LATER]], %[[C2]]
//       CHECK:     %[[WRITTEN:.+]] = arith.muli %[[OTHER]], %[[C256]]
//       CHECK:     %[[TO:.+]] = memref.subview %[[SLOTS]][%[[WRITTEN]]] [256] [1]
//       CHECK:     %[[NEXT:.+]] = arith.addi %[[I]], %[[C256]]
//       CHECK:     %[[THERE:.+]] = arith.cmpi slt, %[[NEXT]], %[[C1024]]
//       CHECK:     scf.if %[[THERE]] {
//       CHECK:       nvgpu.device_async_copy %{{.+}}[%[[NEXT]], %[[AT]]], %[[TO]][%[[AT]]], 8 bypassL1
//       CHECK:     }
//       CHECK:     nvgpu.device_async_create_group
//   CHECK-NOT:     gpu.barrier
//       CHECK:     nvgpu.ldmatrix %[[FROM]][
//   CHECK-NOT:     gpu.barrier
//       CHECK:     scf.yield
//       CHECK:   memref.dealloc %[[SLOTS]]
func.func @one_tile(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  // expected-remark @+1 {{memref<256xf16> gets 2 slots (512 -> 1024 bytes): the copies of the next iteration run while an iteration computes}}
  %m = memref.alloc() : memref<256xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<256xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<256xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  memref.dealloc %m : memref<256xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// The loop runs again for every %o: lanes may still read what it staged at last when the next copies are
// issued before it. The store stands under a condition of the lane, the tile has rows of 24 bytes, and the
// loop begins at 8.

// CHECK-LABEL: func.func @repeated
//       CHECK:   memref.alloc() alignment = 8 : memref<64x12xf16, #gpu.address_space<workgroup>>
//       CHECK:   scf.for
//       CHECK:     gpu.barrier
//       CHECK:     scf.if %[[FIRST:.+]] {
//  CHECK-NEXT:       nvgpu.device_async_copy %{{.+}}[%c8, %{{.+}}], %{{.+}}, 4 : memref
//       CHECK:     nvgpu.device_async_create_group
//       CHECK:     scf.for %[[I:.+]] = %c8
//       CHECK:       gpu.barrier
//       CHECK:       arith.subi %[[I]], %c8
//       CHECK:       %[[FROM:.+]] = memref.subview %{{.+}} [17, 12] [1, 1]
//       CHECK:       %[[TO:.+]] = memref.subview %{{.+}} [17, 12] [1, 1]
//       CHECK:       %[[THERE:.+]] = arith.cmpi slt
//  CHECK-NEXT:       %[[BOTH:.+]] = arith.andi %[[THERE]], %[[FIRST]]
//  CHECK-NEXT:       scf.if %[[BOTH]] {
//  CHECK-NEXT:         nvgpu.device_async_copy {{.+}}, %[[TO]][%c0, %{{.+}}], 4 :
//       CHECK:       vector.load %[[FROM]][%c0, %c0]
func.func @repeated(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c20 = arith.constant 20 : index
  %t = gpu.thread_id x upper_bound 32
  // expected-remark @+1 {{memref<17x12xf16> gets 2 slots (408 -> 1536 bytes)}}
  %m = memref.alloc() : memref<17x12xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %column = affine.apply affine_map<(t) -> (t * 4)>(%t)
  %first = arith.cmpi slt, %t, %c3 : index
  %r = scf.for %o = %c0 to %c8 step %c1 iter_args(%z = %c) -> vector<2x2xf32> {
    %s = scf.for %i = %c8 to %c20 step %c3 iter_args(%x = %z) -> vector<2x2xf32> {
      gpu.barrier memfence [#gpu.address_space<workgroup>]
      %v = vector.load %a[%i, %column] : memref<1024x256xf16>, vector<4xf16>
      scf.if %first {
        vector.store %v, %m[%c0, %column] : memref<17x12xf16, #gpu.address_space<workgroup>>, vector<4xf16>
      }
      gpu.barrier memfence [#gpu.address_space<workgroup>]
      %f = vector.load %m[%c0, %c0] : memref<17x12xf16, #gpu.address_space<workgroup>>, vector<8xf16>
      %e = vector.shape_cast %f : vector<8xf16> to vector<4x2xf16>
      %y = nvgpu.mma.sync(%e, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      scf.yield %y : vector<2x2xf32>
    }
    scf.yield %s : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// A barrier that orders accesses to global memory alone lets lanes read tiles before they are there: the copies are
// waited for at a barrier like those that order the LDS.

// CHECK-LABEL: func.func @barrier_of_global_memory
//       CHECK:   scf.for
//  CHECK-NEXT:     nvgpu.device_async_wait %{{.+}} numGroups = 0
//  CHECK-NEXT:     gpu.barrier memfence [#gpu.address_space<workgroup>]
//       CHECK:     gpu.barrier memfence [#gpu.address_space<global>]
//       CHECK:     nvgpu.ldmatrix
func.func @barrier_of_global_memory(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  // expected-remark @+1 {{memref<256xf16> gets 2 slots (512 -> 1024 bytes): the copies of the next iteration run while an iteration computes}}
  %m = memref.alloc() : memref<256xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<global>]
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<256xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<256xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  memref.dealloc %m : memref<256xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// A loop that counts by integers stays as it is.

// CHECK-LABEL: func.func @counted_by_integers
//       CHECK:   scf.for
//       CHECK:     vector.load
//       CHECK:     vector.store
//   CHECK-NOT:   nvgpu.device_async_copy
func.func @counted_by_integers(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : i32
  %step = arith.constant 256 : i32
  %end = arith.constant 1024 : i32
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<256xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  %r = scf.for %n = %first to %end step %step iter_args(%x = %c) -> vector<2x2xf32> : i32 {
    %i = arith.index_cast %n : i32 to index
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<256xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<256xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  memref.dealloc %m : memref<256xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}
