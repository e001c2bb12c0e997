// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-raise-priority))' --iree-gpu-test-target=gfx942 --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-raise-priority))' --iree-gpu-test-target=gfx950 | FileCheck %s --check-prefix=CDNA4
// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-raise-priority))' --iree-gpu-test-target=gfx90a | FileCheck %s --check-prefix=OTHER

// OTHER-NOT: rocdl.s.setprio 2

// The priority changes behind the barrier, behind the branch, and at the end of the step.

// CDNA4-LABEL: func.func @attention
// CDNA4:         rocdl.s.setprio 2

// CHECK-LABEL: func.func @attention
// CHECK:         scf.for
// CHECK:           memref.store
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      rocdl.s.setprio 2
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      amdgpu.mfma
// CHECK:           } else {
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      rocdl.s.setprio 1
// CHECK-NEXT:      math.exp2
// CHECK:           amdgpu.mfma
// CHECK-NEXT:      rocdl.s.setprio 0
// CHECK-NEXT:      scf.yield
// CHECK-NOT:       rocdl.s.setprio
func.func @attention(%tile: memref<64xvector<4xf16>, #gpu.address_space<workgroup>>, %a: vector<4xf16>, %c: vector<4xf32>, %p: i1, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{waves at the first products of a step issue before others}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier
    memref.store %a, %tile[%i] : memref<64xvector<4xf16>, #gpu.address_space<workgroup>>
    gpu.barrier
    %k = memref.load %tile[%c0] : memref<64xvector<4xf16>, #gpu.address_space<workgroup>>
    %s = amdgpu.mfma 16x16x16 %k * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %y = scf.if %p -> vector<4xf32> {
      %t = arith.negf %x : vector<4xf32>
      scf.yield %t : vector<4xf32>
    } else {
      scf.yield %x : vector<4xf32>
    }
    %e = math.exp2 %s : vector<4xf32>
    %h = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %z = amdgpu.mfma 16x16x16 %h * %a + %y : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %z : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// Behind the products a barrier ends the part that computes.

// CHECK-LABEL: func.func @copies_behind
// CHECK:         gpu.barrier
// CHECK-NEXT:    rocdl.s.setprio 2
// CHECK:         rocdl.s.setprio 1
// CHECK-NEXT:    math.exp2
// CHECK:         amdgpu.mfma
// CHECK-NEXT:    rocdl.s.setprio 0
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    memref.store
func.func @copies_behind(%tile: memref<64xvector<4xf16>, #gpu.address_space<workgroup>>, %a: vector<4xf16>, %c: vector<4xf32>, %p: i1, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{waves at the first products of a step issue before others}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier
    %s = amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.if %p {
      memref.store %a, %tile[%c1] : memref<64xvector<4xf16>, #gpu.address_space<workgroup>>
    }
    %e = math.exp2 %s : vector<4xf32>
    %h = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %z = amdgpu.mfma 16x16x16 %h * %a + %x : vector<4xf16>, vector<4xf16>, vector<4xf32>
    gpu.barrier
    memref.store %a, %tile[%i] : memref<64xvector<4xf16>, #gpu.address_space<workgroup>>
    scf.yield %z : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// Without a branch the priority changes behind the first products, where a lane has 8 exponentials.

// CDNA4-LABEL: func.func @one_block
// CDNA4-NOT:     rocdl.s.setprio
// CDNA4:         return

// CHECK-LABEL: func.func @one_block
// CHECK:         rocdl.s.setprio 2
// CHECK-COUNT-2: amdgpu.mfma
// CHECK-NEXT:    rocdl.s.setprio 1
// CHECK-COUNT-2: math.exp2
// CHECK:         rocdl.s.setprio 0
// CHECK-NEXT:    scf.yield
func.func @one_block(%a: vector<4xf16>, %c: vector<4xf32>, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{waves at the first products of a step issue before others}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier
    %s = amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %t = amdgpu.mfma 16x16x16 %a * %a + %s : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %e = math.exp2 %s : vector<4xf32>
    %f = math.exp2 %t : vector<4xf32>
    %g = arith.addf %e, %f : vector<4xf32>
    %h = arith.truncf %g : vector<4xf32> to vector<4xf16>
    %z = amdgpu.mfma 16x16x16 %h * %a + %x : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %z : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// A lane has 4 exponentials, beside which LLVM is to read what is multiplied next.

// CHECK-LABEL: func.func @short_step
// CHECK-NOT:     rocdl.s.setprio
func.func @short_step(%a: vector<4xf16>, %c: vector<4xf32>, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier
    %s = amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %e = math.exp2 %s : vector<4xf32>
    %h = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %z = amdgpu.mfma 16x16x16 %h * %a + %x : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %z : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// Products of f32 take longer than the exponentials.

// CHECK-LABEL: func.func @f32
// CHECK-NOT:     rocdl.s.setprio
func.func @f32(%a: f32, %c: vector<4xf32>, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier
    %s = amdgpu.mfma 16x16x4 %a * %a + %c : f32, f32, vector<4xf32>
    %e = math.exp2 %s : vector<4xf32>
    %d = math.exp2 %e : vector<4xf32>
    %g = math.exp2 %d : vector<4xf32>
    %f = math.exp2 %g : vector<4xf32>
    %p = vector.extract %f[0] : f32 from vector<4xf32>
    %z = amdgpu.mfma 16x16x4 %p * %a + %x : f32, f32, vector<4xf32>
    scf.yield %z : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// Exponentials behind all products are no part of an attention's step.

// CHECK-LABEL: func.func @only_before
// CHECK-NOT:     rocdl.s.setprio
func.func @only_before(%a: vector<4xf16>, %c: vector<4xf32>, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier
    %s = amdgpu.mfma 16x16x16 %a * %a + %x : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %e = math.exp2 %s : vector<4xf32>
    %d = math.exp2 %e : vector<4xf32>
    %g = math.exp2 %d : vector<4xf32>
    %f = math.exp2 %g : vector<4xf32>
    scf.yield %f : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// Nobody waits in a loop without a barrier.

// CHECK-LABEL: func.func @no_barrier
// CHECK-NOT:     rocdl.s.setprio
func.func @no_barrier(%a: vector<4xf16>, %c: vector<4xf32>, %p: i1, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    %s = amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %y = scf.if %p -> vector<4xf32> {
      scf.yield %c : vector<4xf32>
    } else {
      scf.yield %x : vector<4xf32>
    }
    %e = math.exp2 %s : vector<4xf32>
    %h = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %z = amdgpu.mfma 16x16x16 %h * %a + %y : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %z : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// Somebody has chosen priorities already.

// CHECK-LABEL: func.func @chosen
// CHECK:         rocdl.s.setprio 3
// CHECK-NOT:     rocdl.s.setprio
func.func @chosen(%a: vector<4xf16>, %c: vector<4xf32>, %p: i1, %n: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  rocdl.s.setprio 3
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier
    %s = amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %y = scf.if %p -> vector<4xf32> {
      scf.yield %c : vector<4xf32>
    } else {
      scf.yield %x : vector<4xf32>
    }
    %e = math.exp2 %s : vector<4xf32>
    %h = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %z = amdgpu.mfma 16x16x16 %h * %a + %y : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %z : vector<4xf32>
  }
  return %r : vector<4xf32>
}
