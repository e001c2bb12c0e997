// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-unroll-private-loops))' --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-unroll-private-loops,iree-codegen-unroll-annotated-loops))' | FileCheck %s --check-prefix=UNROLLED

// CHECK-LABEL: func.func @rounded
// CHECK:         } {unroll_loop}
// UNROLLED-LABEL: func.func @rounded
// UNROLLED-NOT:     scf.for
// UNROLLED-COUNT-2: arith.truncf
func.func @rounded(%a: vector<2x4xf32>) -> vector<2x4xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : f16
  %m = memref.alloca() : memref<2x4xf32, #gpu.address_space<private>>
  %n = memref.alloca() : memref<2x4xf16, #gpu.address_space<private>>
  vector.transfer_write %a, %m[%c0, %c0] {in_bounds = [true, true]} : vector<2x4xf32>, memref<2x4xf32, #gpu.address_space<private>>
  // expected-remark @+1 {{the loop is unrolled, so that registers hold what it computes}}
  scf.for %i = %c0 to %c2 step %c1 {
    %x = vector.transfer_read %m[%i, %c0], %z {in_bounds = [true, true]} : memref<2x4xf32, #gpu.address_space<private>>, vector<1x4xf32>
    %y = arith.truncf %x : vector<1x4xf32> to vector<1x4xf16>
    vector.transfer_write %y, %n[%i, %c0] {in_bounds = [true, true]} : vector<1x4xf16>, memref<2x4xf16, #gpu.address_space<private>>
  }
  %r = vector.transfer_read %n[%c0, %c0], %h {in_bounds = [true, true]} : memref<2x4xf16, #gpu.address_space<private>>, vector<2x4xf16>
  return %r : vector<2x4xf16>
}

// -----

// The length is not known, the loop carries a sum, is long, or accesses other memory: it stays.

// CHECK-LABEL: func.func @others
// CHECK-NOT:     unroll_loop
func.func @others(%n: index, %m: memref<100xf32, #gpu.address_space<private>>, %g: memref<100xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c100 = arith.constant 100 : index
  %z = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    memref.store %z, %m[%i] : memref<100xf32, #gpu.address_space<private>>
  }
  scf.for %i = %c0 to %c100 step %c1 {
    memref.store %z, %m[%i] : memref<100xf32, #gpu.address_space<private>>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %z, %g[%i] : memref<100xf32>
  }
  %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %z) -> f32 {
    %x = memref.load %m[%i] : memref<100xf32, #gpu.address_space<private>>
    %u = arith.addf %t, %x : f32
    scf.yield %u : f32
  }
  return %s : f32
}
