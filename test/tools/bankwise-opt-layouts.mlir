// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --block=32,32 --bankwise-layouts --bankwise-verify-lds-conflicts | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --block=32,32 --pass-pipeline='builtin.module(bankwise-layouts)' | FileCheck %s
// RUN: not bankwise-opt %s --iree-gpu-test-target=sm_80 --block=32,32 --bankwise-verify-lds-conflicts 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: not bankwise-opt %s --iree-gpu-test-target=sm_80 --bankwise-verify-lds-conflicts 2>&1 | FileCheck %s --check-prefix=NO-BLOCK
// RUN: not bankwise-opt %s --block=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not bankwise-opt %s --bankwise-layouts=x 2>&1 | FileCheck %s --check-prefix=OPTIONS
// RUN: not bankwise-opt %s --bankwise-layout 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: bankwise-opt %s --bankwise-layouts 2>&1 | FileCheck %s --check-prefix=WARNS
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --bankwise-layouts 2>&1 | FileCheck %s --check-prefix=NO-LANES
// RUN: bankwise-opt --list-passes | FileCheck %s --check-prefix=LIST

// One flag takes a hand-written kernel, in whatever form, to swizzled addresses.

// WARNS: warning: allocations not swizzled: the function has no GPU target; --iree-gpu-test-target=gfx942 names a GPU, and --block=64 the lanes of a workgroup
// NO-LANES: warning: allocations not swizzled: {{.*}}, which --block=X,Y,Z gives to bankwise-opt and bankwise-report{{$}}
// BEFORE: error: read of 1 element a lane of memref<32x32xf32> has 31 conflict cycles
// NO-BLOCK: error: LDS accesses to memref<32x32xf32> cannot be verified: {{.*}} and no known block size, which --block=X,Y,Z gives to bankwise-opt
// ZERO: bankwise-opt: error: --block=0: expects X, X,Y or X,Y,Z, numbers from 1 to 999999999
// OPTIONS: bankwise-opt: error: bankwise-layouts has no options
// UNKNOWN: did you mean 'bankwise-layouts'?
// LIST: Pass pipelines:
// LIST-NEXT: --bankwise-layouts

// CHECK: func.func @in_a_function
// CHECK-SAME: gpu.known_block_size = array<i32: 32, 32, 1>
// CHECK: memref.alloc() : memref<1024xf32, 3>
// CHECK: arith.xori
func.func @in_a_function(%in: memref<32x32xf32>, %out: memref<32x32xf32>) {
  %x = gpu.thread_id x
  %y = gpu.thread_id y
  %t = memref.alloc() : memref<32x32xf32, 3>
  %v = memref.load %in[%y, %x] : memref<32x32xf32>
  memref.store %v, %t[%y, %x] : memref<32x32xf32, 3>
  gpu.barrier
  %w = memref.load %t[%x, %y] : memref<32x32xf32, 3>
  memref.store %w, %out[%y, %x] : memref<32x32xf32>
  return
}

// CHECK: gpu.func @attribution
// CHECK-SAME: workgroup(%[[T:.*]] : memref<1024xf32, 3>)
// CHECK: arith.xori
// CHECK: memref.store %{{.*}}, %[[T]]
gpu.module @m {
  gpu.func @attribution(%in: memref<32x32xf32>, %out: memref<32x32xf32>) workgroup(%t : memref<32x32xf32, 3>) kernel {
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %v = memref.load %in[%y, %x] : memref<32x32xf32>
    memref.store %v, %t[%y, %x] : memref<32x32xf32, 3>
    gpu.barrier
    %w = memref.load %t[%x, %y] : memref<32x32xf32, 3>
    memref.store %w, %out[%y, %x] : memref<32x32xf32>
    gpu.return
  }
}
