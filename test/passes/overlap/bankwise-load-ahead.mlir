// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-load-ahead))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// Two elements of 16 bits that are no word of memory are loaded one by one, and put together behind
// the contraction. The last of the iterations 0, 256 and 512 loads what it has loaded again.

// CHECK-LABEL: func.func @elements
// CHECK:         %[[A:.+]] = vector.load %{{.+}}[%[[LOWER:[a-z0-9_]+]], %{{.+}}] : memref<1024x257xf16>, vector<1xf16>
// CHECK:         %[[HALF:.+]] = vector.insert_strided_slice %[[A]], %{{.+}} offsets = [0]
// CHECK:         %[[B:.+]] = vector.load %{{.+}}[%[[LOWER]], %{{.+}}] : memref<1024x257xf16>, vector<1xf16>
// CHECK:         %[[FIRST:.+]] = vector.insert_strided_slice %[[B]], %[[HALF]] offsets = [1]
// CHECK:         scf.for %[[I:.+]] = %c0 to %c700 step %c256 iter_args(%{{[a-z0-9]+}} = %{{[a-z0-9]+}}, %[[V:[a-z0-9]+]] = %[[FIRST]]) -> (vector<2x2xf32>, vector<2xf16>)
// CHECK-NEXT:      gpu.barrier
// CHECK-NOT:       vector.load
// CHECK:           vector.store %[[V]], %{{.+}} : memref<512xf16, #gpu.address_space<workgroup>>
// CHECK:           %[[GROWN:.+]] = arith.addi %[[I]], %{{.+}}
// CHECK:           %[[LAST:.+]] = arith.constant 512 : index
// CHECK:           %[[NEXT:.+]] = arith.minui %[[GROWN]], %[[LAST]]
// CHECK-COUNT-2:   vector.load %{{.+}}[%[[NEXT]],
// CHECK:           gpu.barrier
// CHECK:           %[[SUM:.+]] = nvgpu.mma.sync
// CHECK:           vector.insert_strided_slice
// CHECK:           %[[LATER:.+]] = vector.insert_strided_slice
// CHECK:           scf.yield %[[SUM]], %[[LATER]]
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
  // expected-remark @+1 {{copies are loaded one iteration ahead, into 1 registers}}
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

// What is stored comes from the LDS, too.

// CHECK-LABEL: func.func @exchanged
// CHECK:         iter_args(%{{.+}} = %{{.+}}) -> (vector<2x2xf32>)
func.func @exchanged(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c700 = arith.constant 700 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x257xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  // expected-remark @+1 {{copies are not loaded one iteration ahead: what is stored is computed by vector.load}}
  %r = scf.for %i = %c0 to %c700 step %c256 iter_args(%x = %c) -> vector<2x2xf32> {
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
