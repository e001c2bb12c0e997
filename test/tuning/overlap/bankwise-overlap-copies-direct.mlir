// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-overlap-copies,canonicalize,cse))' --iree-gpu-test-target=gfx950 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// Copies that go straight to the LDS get slots as `cp.async` does. What the copies of one iteration have waited for
// goes, and each iteration waits for its own group. LLVM is not told that a slot begins at 0 or at 512.

// CHECK-LABEL: func.func @one_tile
//  CHECK-SAME:   attributes {translation_info =
//       CHECK:   %[[SLOTS:.+]] = memref.alloc() alignment = 16 : memref<1024xf16, #gpu.address_space<workgroup>>
//       CHECK:   amdgpu.gather_to_lds async
//  CHECK-NEXT:   rocdl.asyncmark
//       CHECK:   scf.for %[[I:[a-z0-9]+]] =
//  CHECK-NEXT:     rocdl.wait.asyncmark 0
//  CHECK-NEXT:     gpu.barrier memfence [#gpu.address_space<workgroup>]
//       CHECK:     llvm.inline_asm "", "=s,0"
//       CHECK:     %[[FROM:.+]] = memref.subview %[[SLOTS]]
//       CHECK:     llvm.inline_asm "", "=s,0"
//       CHECK:     %[[TO:.+]] = memref.subview %[[SLOTS]]
//       CHECK:     scf.if
//       CHECK:       amdgpu.gather_to_lds async %{{.+}}, %[[TO]][
//       CHECK:     }
//       CHECK:     rocdl.asyncmark
//   CHECK-NOT:     gpu.barrier
//   CHECK-NOT:     rocdl.wait.asyncmark
//       CHECK:     vector.load %[[FROM]][
//       CHECK:     scf.yield
func.func @one_tile(%b: vector<8xf16>, %c: vector<4xf32>) -> vector<4xf32> attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = gpu.thread_id x upper_bound 64
  // expected-remark @+1 {{memref<512xf16> gets 2 slots (1024 -> 2048 bytes): the copies of the next iteration run while an iteration computes}}
  %m = memref.alloc() alignment = 16 : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<8x512xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    amdgpu.gather_to_lds async %g[%i, %at], %m[%c0] : vector<8xf16>, memref<8x512xf16>, memref<512xf16, #gpu.address_space<workgroup>>
    rocdl.asyncmark
    rocdl.wait.asyncmark 0
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %a = vector.load %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    %y = amdgpu.mfma 16x16x32 %a * %b + %x : vector<8xf16>, vector<8xf16>, vector<4xf32>
    scf.yield %y : vector<4xf32>
  }
  return %r : vector<4xf32>
}
