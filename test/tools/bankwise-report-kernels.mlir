// RUN: not bankwise-report %s --target=gfx942 --block=64 --fail-on-conflicts 2>&1 | FileCheck %s
// RUN: not bankwise-report %s --target=gfx942 --fail-on-conflicts -o %t 2>&1 | FileCheck %s --check-prefix=NO-BLOCK
// RUN: not bankwise-report %s --target=gfx942 --block=64,x 2>&1 | FileCheck %s --check-prefix=USAGE
// RUN: not bankwise-opt %s --iree-gpu-test-target=gfx942 --bankwise-verify-lds-conflicts 2>&1 | FileCheck %s --check-prefix=VERIFY

// All forms in which people write a kernel count, and its own block size goes before the flag's.

// NO-BLOCK: error: --fail-on-conflicts: 124 conflict cycles in the code as it stands; 1 allocation with uses that are not known, the first at {{.*}} no known block size, which --block=X,Y,Z gives
// USAGE: error: --block=64,x: expects X, X,Y or X,Y,Z
// VERIFY: error: read of 1 element a lane of memref<64x64xf32> has 62 conflict cycles

#lds = #gpu.address_space<workgroup>

// CHECK: @launches: gfx942, 64 lanes in 1 wave of 64
// CHECK-NEXT: 62 before
// CHECK: plain: it is a workgroup attribution of gpu.launch, and passes change memref.alloc alone
func.func @launches(%out: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
      threads(%t, %ty, %tz) in (%nx = %c64, %ny = %c1, %nz = %c1) workgroup(%tile : memref<64x64xf32, #lds>) {
    %c0 = arith.constant 0 : index
    %x = memref.load %tile[%t, %c0] : memref<64x64xf32, #lds>
    memref.store %x, %out[%t] : memref<64xf32>
    gpu.terminator
  }
  return
}

// CHECK: @attribution: gfx942, 64 lanes in 1 wave of 64
// CHECK-NEXT: 62 before
// CHECK: proposed: swizzled with
gpu.module @m {
  gpu.func @attribution(%out: memref<64xf32>) workgroup(%tile : memref<64x64xf32, 3>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %x = memref.load %tile[%t, %c0] : memref<64x64xf32, 3>
    memref.store %x, %out[%t] : memref<64xf32>
    gpu.return
  }
}

// CHECK: @views: gfx942, 64 lanes in 1 wave of 64
// CHECK-NEXT: 62 before
// CHECK: plain: it is memref.view of bytes
// CHECK: error: --fail-on-conflicts: 186 conflict cycles in the code as it stands
func.func @views(%out: memref<64xf32>) {
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %bytes = gpu.dynamic_shared_memory : memref<?xi8, #lds>
  %tile = memref.view %bytes[%c64][] : memref<?xi8, #lds> to memref<64x64xf32, #lds>
  %x = memref.load %tile[%t, %c0] : memref<64x64xf32, #lds>
  memref.store %x, %out[%t] : memref<64xf32>
  return
}
