// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-native-division))' | FileCheck %s

// Nothing else here is of the dialect of vectors, whose operations take elements out.

// CHECK-LABEL: func.func @error_function
// CHECK-NOT:     math.erf
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.div.full"
// CHECK-NOT:     arith.divf
func.func @error_function(%x: vector<4xf32>) -> vector<4xf32> {
  %e = math.erf %x : vector<4xf32>
  return %e : vector<4xf32>
}
