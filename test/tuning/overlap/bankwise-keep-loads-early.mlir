// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-keep-loads-early))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope | FileCheck %s

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// What the next iteration stores is loaded as if it might be written: 2 bytes, and 16 at a multiple of 16, the
// address of which follows from what is known of the indices. What this iteration uses stays a load.

// CHECK-LABEL: func.func @next
// CHECK:         scf.for
// CHECK:           %[[NOW:.+]] = vector.load %{{.+}} : memref<1024x256xf16>, vector<1xf16>
// CHECK:           vector.store %[[NOW]], %{{.+}} : memref<512xf16, #gpu.address_space<workgroup>>
// CHECK:           %[[ROW:.+]] = affine.linearize_index [%{{.+}}, %{{.+}}] by (1024, 256)
// CHECK:           %[[BYTES:.+]] = arith.muli %[[ROW]], %c2
// CHECK:           %[[AT:.+]] = arith.addi %{{.+}}, %[[BYTES]]
// CHECK:           %[[ADDRESS:.+]] = arith.index_cast %[[AT]] : index to i64
// CHECK:           llvm.inline_asm has_side_effects {{.*}}"ld.global.b16 {$0}, [$1];", "=h,l,~{memory}" %[[ADDRESS]]
// CHECK:           %[[PLACE:.+]] = llvm.getelementptr %{{.+}}[%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
// CHECK:           "ld.global.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}" %[[PLACE]]
// CHECK:           gpu.barrier
// CHECK:           nvgpu.mma.sync
// CHECK:           scf.yield
func.func @next(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>, %v: vector<1xf16>, %w: vector<8xf16>) -> vector<2x2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %s = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %g = memref.assume_alignment %s, 64 : memref<1024x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %r:3 = scf.for %i = %c0 to %c64 step %c1 iter_args(%x = %c, %p = %v, %q = %w) -> (vector<2x2xf32>, vector<1xf16>, vector<8xf16>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %now = vector.load %g[%i, %at] : memref<1024x256xf16>, vector<1xf16>
    vector.store %now, %m[%c0] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    vector.store %p, %m[%t] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    vector.store %q, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    %n = arith.addi %i, %c1 : index
    %one = vector.load %g[%n, %t] : memref<1024x256xf16>, vector<1xf16>
    %many = vector.load %g[%n, %at] : memref<1024x256xf16>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%a, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y, %one, %many : vector<2x2xf32>, vector<1xf16>, vector<8xf16>
  }
  return %r#0 : vector<2x2xf32>
}

// -----

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>

// Behind the barrier, or where no barrier parts them from products, loads stay.

// CHECK-LABEL: func.func @stays
// CHECK-NOT:     llvm.inline_asm
func.func @stays(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>, %v: vector<1xf16>) -> vector<2x2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<1024x256xf16>
  %r:2 = scf.for %i = %c0 to %c64 step %c1 iter_args(%x = %c, %p = %v) -> (vector<2x2xf32>, vector<1xf16>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    vector.store %p, %m[%t] : memref<512xf16, #gpu.address_space<workgroup>>, vector<1xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %n = arith.addi %i, %c1 : index
    %one = vector.load %g[%n, %t] : memref<1024x256xf16>, vector<1xf16>
    %y = nvgpu.mma.sync(%a, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y, %one : vector<2x2xf32>, vector<1xf16>
  }
  return %r#0 : vector<2x2xf32>
}
