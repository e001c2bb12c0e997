// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-delay-copies))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
!slot = memref<512xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

// The copies come behind the two products of the scores, with the addresses that they need, and before the
// exponentials. Their group is closed behind them.

// CHECK-LABEL: func.func @attention
// CHECK:         scf.for
// CHECK-NEXT:      nvgpu.device_async_wait
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      %[[THERE:.+]] = arith.cmpi
// CHECK-NEXT:      nvgpu.ldmatrix
// CHECK-NEXT:      nvgpu.mma.sync
// CHECK-NEXT:      nvgpu.mma.sync
// CHECK-NEXT:      scf.if %[[THERE]] {
// CHECK-NEXT:        %[[A:.+]] = arith.addi
// CHECK-NEXT:        nvgpu.device_async_copy %{{.+}}[%[[A]]], %{{.+}}[%c0], 8
// CHECK-NEXT:        scf.if %{{.+}} {
// CHECK-NEXT:          nvgpu.device_async_copy %{{.+}}[%[[A]]], %{{.+}}[%c0], 8
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      nvgpu.device_async_create_group
// CHECK-NEXT:      math.exp2
// CHECK-NOT:       nvgpu.device_async
// CHECK:           scf.yield
func.func @attention(%q: vector<4x2xf16>, %c: vector<2x2xf32>, %k: memref<4096xf16>, %s: !slot, %row: index, %n: index, %few: i1, %g: !nvgpu.device.async.token) -> vector<2x2xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // expected-remark @+1 {{copies are issued behind 2 products of a step}}
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%x = %c) -> vector<2x2xf32> {
    nvgpu.device_async_wait %g numGroups = 1
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %there = arith.cmpi slt, %i, %row : index
    scf.if %there {
      %a = arith.addi %i, %c8 : index
      %e = nvgpu.device_async_copy %k[%a], %s[%c0], 8 bypassL1 : memref<4096xf16> to !slot
      scf.if %few {
        %j = nvgpu.device_async_copy %k[%a], %s[%c0], 8 bypassL1 : memref<4096xf16> to !slot
      }
    }
    %o = nvgpu.device_async_create_group %g
    %m = nvgpu.ldmatrix %s[%row] numTiles = 2 transpose = false : !slot -> vector<2x2xf16>
    %t = nvgpu.mma.sync(%q, %m, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %u = nvgpu.mma.sync(%q, %m, %t) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %p = math.exp2 %u : vector<2x2xf32>
    %v = arith.truncf %p : vector<2x2xf32> to vector<2x2xf16>
    %y = nvgpu.mma.sync(%q, %v, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}
