// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-mix-exponentials))' --iree-gpu-test-target=gfx942 --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-mix-exponentials))' --iree-gpu-test-target=gfx90a | FileCheck %s --check-prefix=OTHER

// OTHER-NOT: rocdl.iglp.opt

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// CHECK: #[[INFO:.+]] = #iree_codegen.translation_info<{{.*}}llvm_func_attrs = {"amdgpu-sched-strategy" = "iterative-ilp"}
// CHECK-LABEL: func.func @exponentials
// CHECK:         scf.for
// CHECK:           rocdl.iglp.opt 3
// CHECK-NEXT:      math.exp2
func.func @exponentials(%a: vector<4xf16>, %c: vector<4xf32>, %n: index) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{LLVM mixes products with exponentials}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    %s = amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %e = math.exp2 %s : vector<4xf32>
    %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %y = amdgpu.mfma 16x16x16 %p * %a + %x : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %y : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// The loop of a matrix product has no exponentials.

// CHECK-LABEL: func.func @products
// CHECK-NOT:     rocdl.iglp.opt
func.func @products(%a: vector<4xf16>, %c: vector<4xf32>, %n: index) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    %y = amdgpu.mfma 16x16x16 %a * %a + %x : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %y : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>

// CHECK-LABEL: func.func @attributes
// CHECK-NOT:     rocdl.iglp.opt
// expected-remark @+1 {{products and exponentials are not mixed: the function has LLVM attributes}}
func.func @attributes(%a: vector<4xf16>, %c: vector<4xf32>, %n: index) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    %s = amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %e = math.exp2 %s : vector<4xf32>
    %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %y = amdgpu.mfma 16x16x16 %p * %a + %x : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %y : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// CHECK-LABEL: func.func @no_launch
// CHECK-NOT:     rocdl.iglp.opt
// expected-remark @+1 {{products and exponentials are not mixed: the function has no translation_info}}
func.func @no_launch(%a: vector<4xf16>, %c: vector<4xf32>, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    %s = amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %e = math.exp2 %s : vector<4xf32>
    %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %y = amdgpu.mfma 16x16x16 %p * %a + %x : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %y : vector<4xf32>
  }
  return %r : vector<4xf32>
}
