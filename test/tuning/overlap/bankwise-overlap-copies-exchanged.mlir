// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-overlap-copies{slots=2},canonicalize,cse))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// Lanes exchange what they compute by a second tile, which is no copy and stays as it is. The barrier between its
// write and its reads stays. Those before its write are one: that of the copies.

// CHECK-LABEL: func.func @exchange
//       CHECK:   nvgpu.device_async_copy
//       CHECK:   scf.for
//  CHECK-NEXT:     nvgpu.device_async_wait
//  CHECK-NEXT:     gpu.barrier
//   CHECK-NOT:     gpu.barrier
//       CHECK:     %[[V:.+]] = vector.load %{{.+}} : memref<128xf32, {{.+}}>, vector<4xf32>
//  CHECK-NEXT:     %[[P:.+]] = math.fma %[[V]]
//  CHECK-NEXT:     vector.store %[[P]], %[[TILE:.+]][
//  CHECK-NEXT:     gpu.barrier
//  CHECK-NEXT:     vector.load %[[TILE]][
//   CHECK-NOT:     gpu.barrier
//       CHECK:     scf.yield

func.func @exchange(%b: vector<4xf32>, %c: vector<4xf32>, %other: index) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  // expected-remark @+1 {{memref<128xf32> gets 2 slots (512 -> 1024 bytes): the copies of the next iteration run while an iteration computes}}
  %m = memref.alloc() : memref<128xf32, #gpu.address_space<workgroup>>
  %e = memref.alloc() : memref<128xf32, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x128xf32>
  %a = memref.assume_alignment %g, 64 : memref<1024x128xf32>
  %at = affine.apply affine_map<(t) -> (t * 4)>(%t)
  %r = scf.for %i = %c0 to %c1024 step %c128 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<1024x128xf32>, vector<4xf32>
    vector.store %v, %m[%at] : memref<128xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = vector.load %m[%other] : memref<128xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    %p = math.fma %f, %b, %c : vector<4xf32>
    vector.store %p, %e[%at] : memref<128xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %q = vector.load %e[%other] : memref<128xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    %y = math.fma %q, %b, %x : vector<4xf32>
    scf.yield %y : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// A write of another tile before the copies needs the barrier behind it.

// CHECK-LABEL: func.func @early_exchange
//       CHECK:   scf.for
//  CHECK-NEXT:     nvgpu.device_async_wait
//  CHECK-NEXT:     gpu.barrier
//       CHECK:     memref.store %{{.+}}, %[[TILE:.+]][
//  CHECK-NEXT:     gpu.barrier
//       CHECK:     vector.load %[[TILE]][
//       CHECK:     scf.yield
func.func @early_exchange(%b: vector<4xf32>, %c: vector<4xf32>, %other: index) -> vector<4xf32> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1024 = arith.constant 1024 : index
  %t = gpu.thread_id x upper_bound 32
  // expected-remark @+1 {{memref<128xf32> gets 2 slots (512 -> 1024 bytes): the copies of the next iteration run while an iteration computes}}
  %m = memref.alloc() : memref<128xf32, #gpu.address_space<workgroup>>
  %e = memref.alloc() : memref<32xf32, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x128xf32>
  %a = memref.assume_alignment %g, 64 : memref<1024x128xf32>
  %at = affine.apply affine_map<(t) -> (t * 4)>(%t)
  %r = scf.for %i = %c0 to %c1024 step %c128 iter_args(%x = %c) -> vector<4xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %s = vector.extract %x[0] : f32 from vector<4xf32>
    memref.store %s, %e[%t] : memref<32xf32, #gpu.address_space<workgroup>>
    %v = vector.load %a[%i, %at] : memref<1024x128xf32>, vector<4xf32>
    vector.store %v, %m[%at] : memref<128xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = vector.load %m[%other] : memref<128xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    %q = vector.load %e[%c0] : memref<32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    %z = math.fma %q, %f, %x : vector<4xf32>
    %y = math.fma %f, %f, %z : vector<4xf32>
    scf.yield %y : vector<4xf32>
  }
  return %r : vector<4xf32>
}
