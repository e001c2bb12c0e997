// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-load-operands-ahead))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>

// An iteration sums 32 elements: two matrix instructions, one behind the other. The operand of the first one is
// read before the loop, and in every iteration behind the barrier that the next one would begin with. The last
// product stands behind that. There is no iteration behind the last one, which reads its own operand again.

// CHECK-LABEL: func.func @two_products
// CHECK:         nvgpu.device_async_wait %[[GROUP:.+]] numGroups = 2
// CHECK-NEXT:    gpu.barrier
// CHECK:         %[[BEFORE:.+]] = arith.divui %c0, %c32
// CHECK:         %[[SLOT:.+]] = memref.subview %[[TILES:[a-z0-9]+]][%[[BEFORE]]]
// CHECK:         %[[FIRST:.+]] = nvgpu.ldmatrix %[[SLOT]][%[[ROW:.+]]] numTiles = 4
// CHECK:         scf.for %[[I:.+]] = %c0 to %c128 step %c32 iter_args(%[[SUM:.+]] = %{{.+}}, %[[A:.+]] = %[[FIRST]]) -> (vector<2x2xf32>, vector<4x2xf16>)
// CHECK-NOT:       gpu.barrier
// CHECK:           nvgpu.device_async_create_group
// CHECK:           %[[B:.+]] = nvgpu.ldmatrix
// CHECK:           %[[ONE:.+]] = nvgpu.mma.sync(%[[A]], %{{.+}}, %[[SUM]])
// CHECK-NEXT:      nvgpu.device_async_wait %[[GROUP]] numGroups = 2
// CHECK-NEXT:      gpu.barrier
// CHECK:           %[[GROWN:.+]] = arith.addi %[[I]], %c32
// CHECK-NEXT:      %[[THERE:.+]] = arith.cmpi slt, %[[GROWN]], %c128
// CHECK-NEXT:      %[[NEXT:.+]] = arith.select %[[THERE]], %[[GROWN]], %[[I]]
// CHECK:           %[[LATER:.+]] = arith.divui %[[NEXT]], %c32
// CHECK:           %[[OTHER:.+]] = memref.subview %[[TILES]][%[[LATER]]]
// CHECK:           %[[AHEAD:.+]] = nvgpu.ldmatrix %[[OTHER]][%[[ROW]]] numTiles = 4
// CHECK:           %[[TWO:.+]] = nvgpu.mma.sync(%[[B]], %{{.+}}, %[[ONE]])
// CHECK:           scf.yield %[[TWO]], %[[AHEAD]]
func.func @two_products(%b: vector<2x2xf16>, %c: vector<2x2xf32>, %row: index, %d: index, %g: !nvgpu.device.async.token) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %m = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{1 operands are read one iteration ahead, into 4 registers}}
  %r = scf.for %i = %c0 to %c128 step %c32 iter_args(%x = %c) -> vector<2x2xf32> {
    nvgpu.device_async_wait %g numGroups = 2
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %t = arith.divui %i, %c32 : index
    %s = memref.subview %m[%t] [512] [1] : memref<1024xf16, #gpu.address_space<workgroup>> to memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    %h = nvgpu.device_async_create_group %g
    %e = nvgpu.ldmatrix %s[%row] numTiles = 4 transpose = false : memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %f = nvgpu.ldmatrix %s[%d] numTiles = 4 transpose = false : memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%e, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%f, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>

// Nothing would stand behind the barrier.

// CHECK-LABEL: func.func @one_product
// CHECK:         iter_args(%{{.+}} = %{{.+}}) -> (vector<2x2xf32>)
func.func @one_product(%m: memref<1024xf16, #gpu.address_space<workgroup>>, %b: vector<2x2xf16>, %c: vector<2x2xf32>, %row: index, %g: !nvgpu.device.async.token) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  // expected-remark @+1 {{operands are not read one iteration ahead: an iteration adds one contraction to each element}}
  %r = scf.for %i = %c0 to %c128 step %c32 iter_args(%x = %c) -> vector<2x2xf32> {
    nvgpu.device_async_wait %g numGroups = 0
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %e = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<1024xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%e, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>

// The second contraction multiplies what the first one has made, as in an attention.

// CHECK-LABEL: func.func @two_contractions
// CHECK:         iter_args(%{{.+}} = %{{.+}}) -> (vector<2x2xf32>)
func.func @two_contractions(%m: memref<1024xf16, #gpu.address_space<workgroup>>, %b: vector<2x2xf16>, %c: vector<2x2xf32>, %row: index, %g: !nvgpu.device.async.token) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  // expected-remark @+1 {{operands are not read one iteration ahead: a contraction multiplies what another one has made}}
  %r = scf.for %i = %c0 to %c128 step %c32 iter_args(%x = %c) -> vector<2x2xf32> {
    nvgpu.device_async_wait %g numGroups = 0
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %e = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<1024xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%e, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %h = arith.truncf %y : vector<2x2xf32> to vector<2x2xf16>
    %z = nvgpu.mma.sync(%e, %h, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>

// The last product reads its operand itself: a slot may be written behind the barrier that would come before.

// CHECK-LABEL: func.func @read_late
// CHECK:         iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) -> (vector<2x2xf32>, vector<2x2xf32>)
func.func @read_late(%m: memref<1024xf16, #gpu.address_space<workgroup>>, %b: vector<2x2xf16>, %c: vector<2x2xf32>, %row: index, %g: !nvgpu.device.async.token) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  // expected-remark @+1 {{operands are not read one iteration ahead: nvgpu.ldmatrix stands beside its contractions}}
  %r:2 = scf.for %i = %c0 to %c128 step %c32 iter_args(%x = %c, %w = %c) -> (vector<2x2xf32>, vector<2x2xf32>) {
    nvgpu.device_async_wait %g numGroups = 0
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %e = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<1024xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%e, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%e, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %f = nvgpu.ldmatrix %m[%c256] numTiles = 4 transpose = false : memref<1024xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %u = nvgpu.mma.sync(%f, %b, %w) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z, %u : vector<2x2xf32>, vector<2x2xf32>
  }
  return %r#0 : vector<2x2xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>

// The iteration has a barrier of its own between its products.

// CHECK-LABEL: func.func @two_barriers
// CHECK:         iter_args(%{{.+}} = %{{.+}}) -> (vector<2x2xf32>)
func.func @two_barriers(%m: memref<1024xf16, #gpu.address_space<workgroup>>, %b: vector<2x2xf16>, %c: vector<2x2xf32>, %row: index, %g: !nvgpu.device.async.token) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  // expected-remark @+1 {{operands are not read one iteration ahead: an iteration does not begin with its only barrier}}
  %r = scf.for %i = %c0 to %c128 step %c32 iter_args(%x = %c) -> vector<2x2xf32> {
    nvgpu.device_async_wait %g numGroups = 0
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %e = nvgpu.ldmatrix %m[%row] numTiles = 4 transpose = false : memref<1024xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%e, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = nvgpu.mma.sync(%e, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}
