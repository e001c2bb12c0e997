// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-overlap-copies))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Loops whose copies stay as they are, each with the reason.

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// The kernel may write what it copies.

// CHECK-LABEL: func.func @written
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @written(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0)  : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: a copy reads a binding that the kernel may write}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// There is no copy of 2 bytes.

// CHECK-LABEL: func.func @narrow
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @narrow(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: a lane copies 2 bytes at multiples of 2}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<1xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// Odd lanes load from addresses that are no multiples of 16 bytes.

// CHECK-LABEL: func.func @unaligned
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @unaligned(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  %half = affine.apply affine_map<(t) -> (t * 4)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: a lane copies 16 bytes at multiples of 8}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %half] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// A lane may read before others have stored.

// CHECK-LABEL: func.func @unparted
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @unparted(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: no barrier parts the copies to the tile from its reads}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// A lane may store what others still have to read.

// CHECK-LABEL: func.func @iterations_unparted
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @iterations_unparted(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: no barrier parts the reads of the tile from the next iteration's copies}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// Every iteration writes another part of the tile: reads meet what earlier iterations have left.

// CHECK-LABEL: func.func @moving
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @moving(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: what is written of the tile differs from iteration to iteration}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %place = affine.apply affine_map<(t, i) -> (t * 8 + i mod 512)>(%t, %i)
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%place] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// Where the copy reads is itself loaded.

// CHECK-LABEL: func.func @looked_up
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @looked_up(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  %k = memref.alloc() : memref<1024xindex>
  // expected-remark @+1 {{copies to the LDS are not overlapped: an index depends on the result of memref.load}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %l = memref.load %k[%i] : memref<1024xindex>
    %v = vector.load %a[%l, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// The tile is read behind the loop, too.

// CHECK-LABEL: func.func @read_later
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @read_later(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: the tile is used by vector.load otherwise}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  %z = vector.load %m[%c0] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  %g2 = memref.alloc() : memref<8xf16>
  vector.store %z, %g2[%c0] : memref<8xf16>, vector<8xf16>
  return %r : vector<2x2xf32>
}

// What is stored is more than what was loaded.

// CHECK-LABEL: func.func @changed
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @changed(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: what is stored is not loaded in the same iteration}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    %w = arith.addf %v, %v : vector<8xf16>
    vector.store %w, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// The value is used in registers, too.

// CHECK-LABEL: func.func @used_twice
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @used_twice(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: what is copied is used elsewhere too}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %h = memref.alloc() : memref<8xf16>
    vector.store %v, %h[%c0] : memref<8xf16>, vector<8xf16>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// Nothing is multiplied: how long an iteration takes is not known.

// CHECK-LABEL: func.func @no_products
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @no_products(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: the loop multiplies no matrices}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = arith.addf %x, %x : vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// There is no other iteration.

// CHECK-LABEL: func.func @one_iteration
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @one_iteration(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: the loop has one iteration}}
  %r = scf.for %i = %c0 to %c256 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// Every iteration has a tile of its own.

// CHECK-LABEL: func.func @allocated_inside
//   CHECK-NOT:   nvgpu.device_async
//       CHECK:   return
func.func @allocated_inside(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS are not overlapped: the tile is allocated in the loop}}
  %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x256xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}
