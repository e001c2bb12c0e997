// RUN: not bankwise-opt %s --iree-gpu-test-target=gfx942 --bankwise-verify-lds-conflicts 2>&1 | FileCheck %s

// LDS on a lower level is not read, and what is not read fails.

// CHECK: error: LDS accesses to !llvm.ptr<3> cannot be verified: the function has no translation_info
llvm.mlir.global external @lds() {addr_space = 3 : i32} : !llvm.array<64 x f32>
llvm.func @k() {
  %p = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %v = llvm.load %p : !llvm.ptr<3> -> f32
  llvm.return
}
