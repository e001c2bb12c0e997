// RUN: bankwise-opt %s --verify-diagnostics --bankwise-remarks --iree-gpu-test-target=gfx950 --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs))' --mlir-print-local-scope | FileCheck %s

// Gathers whose lanes cannot fetch for each other; nothing is hinted, nothing computed again.
// CHECK-NOT: swizzle_hint
// CHECK-NOT: arith.remui

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Half of the wave does not run it, so that nobody fetches for the other half.
func.func @half_a_wave(%from: memref<256xf32>) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: some lanes of a wave take no part in it}}
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  %place = affine.apply affine_map<(t) -> (t * 4)>(%x)
  %on = arith.cmpi ult, %x, %c32 : index
  scf.if %on {
    amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
  }

  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

// Whether lanes run it together is not known.
func.func @unknown_condition(%from: memref<256xf32>, %flags: memref<64xi1>) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: the lanes of a wave may differ in whether an scf.if runs it}}
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  %place = affine.apply affine_map<(t) -> (t * 4)>(%x)
  %on = memref.load %flags[%x] : memref<64xi1>
  scf.if %on {
    amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
  }

  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

// Where a lane fetches comes from memory.
func.func @loaded_index(%from: memref<256xf32>, %table: memref<64xindex>) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: its source depends on the result of memref.load}}
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  %place = memref.load %table[%x] : memref<64xindex>
  amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>

  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

// Where a lane fetches is carried around a loop.
func.func @carried_index(%from: memref<256xf32>) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: its source depends on a value carried around an scf.for}}
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  %place = affine.apply affine_map<(t) -> (t * 4)>(%x)
  scf.for %i = %c0 to %c4 step %c1 iter_args(%at = %place) -> (index) {
    amdgpu.gather_to_lds %from[%at], %a[%c0, %c0] : vector<4xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
    %next = arith.addi %at, %c4 : index
    scf.yield %next : index
  }

  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

// 3 elements are no power of two, and no swizzle moves them together.
func.func @three_elements(%from: memref<256xf32>) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: its lanes store 3 elements, which are no power of two}}
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  %place = affine.apply affine_map<(t) -> (t * 3)>(%x)
  amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<3xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>

  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

// Who calls the function may give each lane a number of its own.
func.func @argument(%from: memref<256xf32>, %base: index) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: its source depends on an argument of the function}}
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  %lane = affine.apply affine_map<(t) -> (t * 4)>(%x)
  %place = arith.addi %base, %lane : index
  amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

// Which lanes come to a block is not known.
func.func @other_block(%from: memref<256xf32>, %on: i1) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: it is in unstructured control flow}}
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  %lane = affine.apply affine_map<(t) -> (t * 4)>(%x)
  %place = arith.addi %lane, %c0 : index
  cf.cond_br %on, ^there, ^on
^there:
  amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
  cf.br ^on
^on:
  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

// Half of the lanes run the loop once more than the others.
func.func @other_iterations(%from: memref<256xf32>) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %x = gpu.thread_id x
  // expected-remark @+1 {{allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: some lanes of a wave take no part in it}}
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  scf.for %i = %x to %c96 step %c64 {
    %place = affine.apply affine_map<(t) -> (t mod 64 * 4)>(%i)
    amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<256xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
  }
  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}

// Each lane goes on by steps of its own, so that the lanes differ in how far ahead they are.
func.func @other_steps(%from: memref<65536xf32>) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu.thread_id x
  %step = arith.addi %x, %c1 : index
  %end = affine.apply affine_map<(t) -> (t + (t + 1) * 3)>(%x)
  // expected-remark @+1 {{allocation of memref<8x32xf32> not swizzled: amdgpu.gather_to_lds stores to it: its source depends on a loop whose bounds differ between lanes}}
  %a = memref.alloc() : memref<8x32xf32, #gpu.address_space<workgroup>>
  scf.for %i = %x to %end step %step {
    %place = affine.apply affine_map<(t) -> (t * 4)>(%i)
    amdgpu.gather_to_lds %from[%place], %a[%c0, %c0] : vector<4xf32>, memref<65536xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>
  }
  %row = affine.apply affine_map<(t) -> (t mod 8)>(%x)
  %column = affine.apply affine_map<(t) -> (t floordiv 8 * 4)>(%x)
  %r = vector.load %a[%row, %column] : memref<8x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %r : vector<4xf32>
}
