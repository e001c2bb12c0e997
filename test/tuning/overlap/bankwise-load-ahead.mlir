// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-load-ahead))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// Two elements of 16 bits that are no word of memory are loaded one by one, and put together in the iteration
// that stores them. The last of the iterations 0, 256 and 512 loads what it has loaded again.

// CHECK-LABEL: func.func @elements
// CHECK:         %[[A:.+]] = vector.load %{{.+}}[%[[LOWER:[a-z0-9_]+]], %{{.+}}] : memref<1024x257xf16>, vector<1xf16>
// CHECK:         %[[B:.+]] = vector.load %{{.+}}[%[[LOWER]], %{{.+}}] : memref<1024x257xf16>, vector<1xf16>
// CHECK:         scf.for %[[I:.+]] = %c0 to %c700 step %c256 iter_args(%{{[a-z0-9]+}} = %{{[a-z0-9]+}}, %[[U:[a-z0-9]+]] = %[[A]], %[[V:[a-z0-9]+]] = %[[B]]) -> (vector<2x2xf32>, vector<1xf16>, vector<1xf16>)
// CHECK-NEXT:      gpu.barrier
// CHECK-NOT:       vector.load
// CHECK:           %[[HALF:.+]] = vector.insert_strided_slice %[[U]], %{{.+}} offsets = [0]
// CHECK:           %[[BOTH:.+]] = vector.insert_strided_slice %[[V]], %[[HALF]] offsets = [1]
// CHECK:           vector.store %[[BOTH]], %{{.+}} : memref<512xf16, #gpu.address_space<workgroup>>
// CHECK:           %[[GROWN:.+]] = arith.addi %[[I]], %{{.+}}
// CHECK:           %[[LAST:.+]] = arith.constant 512 : index
// CHECK:           %[[NEXT:.+]] = arith.minui %[[GROWN]], %[[LAST]]
// CHECK:           %[[C:.+]] = vector.load %{{.+}}[%[[NEXT]],
// CHECK:           %[[D:.+]] = vector.load %{{.+}}[%[[NEXT]],
// CHECK:           gpu.barrier
// CHECK:           %[[SUM:.+]] = nvgpu.mma.sync
// CHECK:           scf.yield %[[SUM]], %[[C]], %[[D]]
func.func @elements(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %c700 = arith.constant 700 : index
  %none = arith.constant dense<0.0> : vector<2xf16>
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x257xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %next = arith.addi %at, %c1 : index
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies are loaded one iteration ahead, into 2 registers}}
  %r = scf.for %i = %c0 to %c700 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %u = vector.load %g[%i, %at] : memref<1024x257xf16>, vector<1xf16>
    %v = vector.load %g[%i, %next] : memref<1024x257xf16>, vector<1xf16>
    %0 = vector.insert_strided_slice %u, %none offsets = [0], strides = [1] : vector<1xf16> into vector<2xf16>
    %1 = vector.insert_strided_slice %v, %0 offsets = [1], strides = [1] : vector<1xf16> into vector<2xf16>
    vector.store %1, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// Some of the lanes store what all of them load.

// CHECK-LABEL: func.func @some_lanes
// CHECK:         %[[FIRST:.+]] = vector.load %{{.+}} : memref<1024x257xf16>, vector<1xf16>
// CHECK:         scf.for {{.*}} iter_args(%{{[a-z0-9]+}} = %{{[a-z0-9]+}}, %[[U:[a-z0-9]+]] = %[[FIRST]])
// CHECK:           scf.if
// CHECK-NEXT:        vector.store %[[U]], %{{.+}} : memref<512xf16, #gpu.address_space<workgroup>>
// CHECK-NEXT:      }
// CHECK:           %[[NEXT:.+]] = vector.load %{{.+}} : memref<1024x257xf16>, vector<1xf16>
// CHECK-NEXT:      gpu.barrier
// CHECK:           scf.yield %{{.+}}, %[[NEXT]]
func.func @some_lanes(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c256 = arith.constant 256 : index
  %c700 = arith.constant 700 : index
  %t = gpu.thread_id x upper_bound 32
  %some = arith.cmpi ult, %t, %c16 : index
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x257xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies are loaded one iteration ahead, into 1 registers}}
  %r = scf.for %i = %c0 to %c700 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %u = vector.load %g[%i, %at] : memref<1024x257xf16>, vector<1xf16>
    scf.if %some {
      vector.store %u, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    }
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// The kernel may write what it copies.

// CHECK-LABEL: func.func @written
// CHECK:         iter_args(%{{.+}} = %{{.+}}) -> (vector<2x2xf32>)
func.func @written(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c700 = arith.constant 700 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0)  : memref<1024x257xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies are not loaded one iteration ahead: a copy reads a binding that the kernel may write}}
  %r = scf.for %i = %c0 to %c700 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %u = vector.load %g[%i, %at] : memref<1024x257xf16>, vector<1xf16>
    vector.store %u, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// There is no next iteration.

// CHECK-LABEL: func.func @once
// CHECK:         iter_args(%{{.+}} = %{{.+}}) -> (vector<2x2xf32>)
func.func @once(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c700 = arith.constant 700 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x257xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies are not loaded one iteration ahead: the loop has one iteration}}
  %r = scf.for %i = %c0 to %c256 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %u = vector.load %g[%i, %at] : memref<1024x257xf16>, vector<1xf16>
    vector.store %u, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// The last iteration is not known.

// CHECK-LABEL: func.func @unknown
// CHECK:         iter_args(%{{.+}} = %{{.+}}) -> (vector<2x2xf32>)
func.func @unknown(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %n: index) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c700 = arith.constant 700 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x257xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies are not loaded one iteration ahead: it is not known how often the loop runs}}
  %r = scf.for %i = %c0 to %n step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %u = vector.load %g[%i, %at] : memref<1024x257xf16>, vector<1xf16>
    vector.store %u, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// What is stored comes from the LDS, too, which is read in its iteration. Of twelve iterations, loads come three
// early: those of the first three stand before the loop, and what was loaded moves on by a place in each.

// CHECK-LABEL: func.func @exchanged
// CHECK:         %[[A:.+]] = vector.load %{{.+}}[%c0_0, %{{.+}}] : memref<1024x257xf16>, vector<1xf16>
// CHECK:         %[[B:.+]] = vector.load %{{.+}}[%c64{{.*}}, %{{.+}}] : memref<1024x257xf16>, vector<1xf16>
// CHECK:         %[[C:.+]] = vector.load %{{.+}}[%c128{{.*}}, %{{.+}}] : memref<1024x257xf16>, vector<1xf16>
// CHECK:         scf.for {{.+}} iter_args(%{{.+}} = %{{.+}}, %[[U:[a-z0-9]+]] = %[[A]], %[[V:[a-z0-9]+]] = %[[B]], %[[W:[a-z0-9]+]] = %[[C]])
// CHECK:           %[[P:.+]] = vector.load %{{.+}} : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
// CHECK:           arith.addf %[[U]], %[[P]]
// CHECK:           %[[D:.+]] = vector.load %{{.+}} : memref<1024x257xf16>, vector<1xf16>
// CHECK:           gpu.barrier
// CHECK:           scf.yield %{{.+}}, %[[V]], %[[W]], %[[D]]
func.func @exchanged(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c700 = arith.constant 700 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x257xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies are loaded 3 iterations ahead, into 3 registers}}
  %r = scf.for %i = %c0 to %c700 step %c64 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %u = vector.load %g[%i, %at] : memref<1024x257xf16>, vector<1xf16>
    %p = vector.load %m[%row] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    %s = arith.addf %u, %p : vector<1xf16>
    vector.store %s, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// A loop that counts by integers stays as it is.

// CHECK-LABEL: func.func @counted_by_integers
// CHECK-NOT:     vector.load
// CHECK:         scf.for
// CHECK:           vector.load
// CHECK:           vector.store
func.func @counted_by_integers(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %end = arith.constant 700 : i32
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x257xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  %r = scf.for %n = %first to %end step %step iter_args(%x = %c) -> vector<2x2xf32> : i32 {
    %i = arith.index_cast %n : i32 to index
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %u = vector.load %g[%i, %at] : memref<1024x257xf16>, vector<1xf16>
    vector.store %u, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}
