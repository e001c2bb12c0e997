// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-hold-workgroups))' --iree-gpu-test-target=sm_90a --mlir-print-local-scope --split-input-file --verify-diagnostics --bankwise-remarks | FileCheck %s

// The LDS of a multiprocessor holds two workgroups with 96 KiB, and its registers hold them as well.

// CHECK-LABEL: func.func @both
//  CHECK-SAME:   nvvm.minctasm = 2 : i32
// expected-remark @+1 {{a multiprocessor is to hold 2 workgroups, as its LDS does}}
func.func @both(%v: vector<8xf32>, %n: index) -> vector<8xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = memref.alloc() : memref<49152xf16, #gpu.address_space<workgroup>>
  %p = memref.extract_aligned_pointer_as_index %m : memref<49152xf16, #gpu.address_space<workgroup>> -> index {bankwise.described}
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %v) -> vector<8xf32> {
    %e = math.exp2 %a : vector<8xf32>
    scf.yield %e : vector<8xf32>
  }
  return %r : vector<8xf32>
}

// -----

// With two workgroups of 256 threads a lane has 128 registers. ptxas may do without a few of those
// that the loop carries, but not without so many.

// CHECK-LABEL: func.func @too_many_registers
//   CHECK-NOT:   nvvm.minctasm
func.func @too_many_registers(%v: vector<137xf32>, %n: index) -> vector<137xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = memref.alloc() : memref<49152xf16, #gpu.address_space<workgroup>>
  %p = memref.extract_aligned_pointer_as_index %m : memref<49152xf16, #gpu.address_space<workgroup>> -> index {bankwise.described}
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %v) -> vector<137xf32> {
    %e = math.exp2 %a : vector<137xf32>
    scf.yield %e : vector<137xf32>
  }
  return %r : vector<137xf32>
}

// -----

// The registers of loops without exponentials are not counted.

// CHECK-LABEL: func.func @no_exponential
//   CHECK-NOT:   nvvm.minctasm
func.func @no_exponential(%v: vector<8xf32>, %n: index) -> vector<8xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = memref.alloc() : memref<49152xf16, #gpu.address_space<workgroup>>
  %p = memref.extract_aligned_pointer_as_index %m : memref<49152xf16, #gpu.address_space<workgroup>> -> index {bankwise.described}
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %v) -> vector<8xf32> {
    %e = math.absf %a : vector<8xf32>
    scf.yield %e : vector<8xf32>
  }
  return %r : vector<8xf32>
}
