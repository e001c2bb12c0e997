// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-reload-operands{most-registers=33}))' --verify-diagnostics --bankwise-remarks | FileCheck %s

// Two operands of 4 registers, one of 2 and an accumulator of 4 live through the loops, and 20 are
// added for the rest. That is more than 33, but what is read cannot be read in the loop.

// A store in the loop may change what is read.

// CHECK-LABEL: func.func @stored_in_loop
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @stored_in_loop(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: it may be written after its first read}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// Neither may one before the loop.

// CHECK-LABEL: func.func @stored_between
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @stored_between(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  vector.store %v, %tile[%j] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: it may be written after its first read}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// Warps leave the loop at different times.

// CHECK-LABEL: func.func @stored_behind
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @stored_behind(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: it may be written after its first read}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// A use outside of the loop needs the registers.

// CHECK-LABEL: func.func @used_behind
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @used_behind(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: what is read is used by arith.addf outside of the loop}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  %w = arith.addf %q0, %q1 : vector<4x2xf16>
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// CHECK-LABEL: func.func @used_otherwise
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @used_otherwise(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: what is read is used by arith.addf in the loop}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %w = arith.addf %q0, %q1 : vector<4x2xf16>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// All reads are multiplied, or none.

// CHECK-LABEL: func.func @read_behind
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @read_behind(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: it is read elsewhere than before the loop, too}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  %w = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// All that is read is multiplied alike where it is stored.

// CHECK-LABEL: func.func @two_constants
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @two_constants(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %s1 = arith.constant dense<2.500000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s1 : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: what is read is multiplied in different ways}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// CHECK-LABEL: func.func @multiplied_in_part
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @multiplied_in_part(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: only a part of what is read is multiplied}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%m1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// CHECK-LABEL: func.func @multiplied_twice
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @multiplied_twice(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %once = arith.mulf %m1, %s : vector<4x2xf16>
  %q1 = arith.mulf %once, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: what is read is used by arith.mulf outside of the loop}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// CHECK-LABEL: func.func @many_numbers
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @many_numbers(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %s1 = arith.constant dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s1 : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: what is read is used by arith.mulf outside of the loop}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// Beside other operations such a multiplication may become another one.

// CHECK-LABEL: func.func @fast_math
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @fast_math(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s fastmath<reassoc> : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s fastmath<reassoc> : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: what is read is multiplied with fast-math flags}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// Only what is stored as a whole is multiplied.

// CHECK-LABEL: func.func @masked_store
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @masked_store(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index, %mask: vector<8xi1>) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.maskedstore %tile[%i], %mask, %v : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xi1>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: what vector.maskedstore writes cannot be multiplied}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// The backend would move reads out of the loop again.

// CHECK-LABEL: func.func @no_barrier
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @no_barrier(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: the loop has no barrier that keeps the reads in it}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// Nothing is known of what it writes, and when.

// CHECK-LABEL: func.func @used_by_atomic
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @used_by_atomic(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  %h = arith.constant 1.0 : f16
  %old = memref.atomic_rmw addf %h, %tile[%i] : (f16, memref<512xf16, #gpu.address_space<workgroup>>) -> f16
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: it is used by memref.atomic_rmw}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// What lies in the other memory is not known.

// CHECK-LABEL: func.func @may_be_another
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @may_be_another(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index, %yes: i1) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  %two = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %some = arith.select %yes, %tile, %two : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %some[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: a value may be this memory or another}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}

// The memory must live as long as the loop.

// CHECK-LABEL: func.func @freed
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @freed(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: it is freed before the loop ends}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

// The next iteration of the outer loop would write while other warps still read.

// CHECK-LABEL: func.func @in_a_loop
// CHECK-COUNT-2: nvgpu.ldmatrix
// CHECK:         scf.for
// CHECK-NOT:     nvgpu.ldmatrix
// CHECK:         scf.yield
func.func @in_a_loop(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %o = scf.for %u = %c0 to %c4 step %c1 iter_args(%outer = %acc) -> (vector<2x2xf32>) {
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> stay in registers: the loop is inside scf.for}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  scf.yield %r : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %o : vector<2x2xf32>
}
