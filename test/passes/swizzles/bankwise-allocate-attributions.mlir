// RUN: bankwise-opt %s --bankwise-allocate-attributions | FileCheck %s
// RUN: bankwise-opt %s --bankwise-allocate-attributions --bankwise-attribute-allocations | FileCheck %s --check-prefix=BACK

gpu.module @m {
  // CHECK: gpu.func @two(%{{.*}}: f32) kernel
  // CHECK-DAG: memref.alloc() {bankwise.attribution} : memref<4x4xf32, 3>
  // CHECK-DAG: memref.alloc() {bankwise.attribution} : memref<8xf16, 3>
  // BACK: gpu.func @two(%{{.*}}: f32) workgroup(%{{.*}} : memref<4x4xf32, 3>, %{{.*}} : memref<8xf16, 3>) kernel
  gpu.func @two(%v: f32) workgroup(%a : memref<4x4xf32, 3>, %b : memref<8xf16, 3>) kernel {
    %t = gpu.thread_id x
    memref.store %v, %a[%t, %t] : memref<4x4xf32, 3>
    %x = memref.load %b[%t] : memref<8xf16, 3>
    gpu.return
  }

  // What would be lost, or would come in another order, stays.
  // CHECK: gpu.func @attributes(%{{.*}}: f32) workgroup(
  gpu.func @attributes(%v: f32) workgroup(%a : memref<8xf32, 3> {llvm.align = 16 : i64}) kernel {
    gpu.return
  }

  // CHECK: gpu.func @private() workgroup(
  gpu.func @private() workgroup(%a : memref<8xf32, 3>) private(%b : memref<8xf32, 5>) kernel {
    gpu.return
  }
}
