// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-sum-probabilities,canonicalize))' --iree-gpu-test-target=gfx942 | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-sum-probabilities,canonicalize))' --iree-gpu-test-target=gfx950 | FileCheck %s --check-prefix=PAIRS
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-sum-probabilities))' --iree-gpu-test-target=gfx90a | FileCheck %s --check-prefix=OTHER

// OTHER-NOT: llvm.call_intrinsic

// CHECK-LABEL: func.func @probabilities
// CHECK-DAG:     %[[ONES:.+]] = arith.constant dense<1.000000e+00> : vector<2xf16>
// CHECK:         %[[E:.+]] = math.exp2
// CHECK:         %[[P0:.+]] = llvm.call_intrinsic "llvm.amdgcn.cvt.pkrtz"
// CHECK:         %[[P1:.+]] = llvm.call_intrinsic "llvm.amdgcn.cvt.pkrtz"
// CHECK:         %[[S0:.+]] = llvm.call_intrinsic "llvm.amdgcn.fdot2"(%[[P0]], %[[ONES]], %{{.+}}, %{{.+}}) : (vector<2xf16>, vector<2xf16>, f32, i1) -> f32
// CHECK:         %[[S1:.+]] = llvm.call_intrinsic "llvm.amdgcn.fdot2"(%[[P1]], %[[ONES]], %[[S0]], %{{.+}})
// CHECK-NOT:     vector.reduction
// CHECK-NOT:     arith.truncf

// PAIRS-LABEL: func.func @probabilities
// PAIRS:         %[[P:.+]] = arith.truncf %{{.+}} : vector<4xf32> to vector<4xf16>
// PAIRS:         %[[P0:.+]] = vector.extract_strided_slice %[[P]] offsets = [0], sizes = [2]
// PAIRS:         llvm.call_intrinsic "llvm.amdgcn.fdot2"(%[[P0]],
// PAIRS-NOT:     vector.reduction
// PAIRS:         return
func.func @probabilities(%s: vector<4xf32>) -> (f32, vector<4xf16>) {
  %e = math.exp2 %s : vector<4xf32>
  %sum = vector.reduction <add>, %e : vector<4xf32> into f32
  %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
  return %sum, %p : f32, vector<4xf16>
}

// What is rounded to bf16 has no such instruction.

// CHECK-LABEL: func.func @bf16
// CHECK:         vector.reduction
func.func @bf16(%s: vector<4xf32>) -> (f32, vector<4xbf16>) {
  %e = math.exp2 %s : vector<4xf32>
  %sum = vector.reduction <add>, %e : vector<4xf32> into f32
  %p = arith.truncf %e : vector<4xf32> to vector<4xbf16>
  return %sum, %p : f32, vector<4xbf16>
}

// Somebody else uses probabilities that are not rounded.

// CHECK-LABEL: func.func @used
// CHECK:         vector.reduction
func.func @used(%s: vector<4xf32>) -> (f32, vector<4xf16>, vector<4xf32>) {
  %e = math.exp2 %s : vector<4xf32>
  %sum = vector.reduction <add>, %e : vector<4xf32> into f32
  %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
  return %sum, %p, %e : f32, vector<4xf16>, vector<4xf32>
}

// A sum of other terms than those that are rounded stays.

// CHECK-LABEL: func.func @more
// CHECK:         vector.reduction
func.func @more(%s: vector<4xf32>, %t: vector<4xf32>) -> (f32, vector<4xf16>) {
  %e = math.exp2 %s : vector<4xf32>
  %none = arith.constant dense<0.0> : vector<8xf32>
  %half = vector.insert_strided_slice %e, %none offsets = [0], strides = [1] : vector<4xf32> into vector<8xf32>
  %both = vector.insert_strided_slice %t, %half offsets = [4], strides = [1] : vector<4xf32> into vector<8xf32>
  %sum = vector.reduction <add>, %both : vector<8xf32> into f32
  %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
  return %sum, %p : f32, vector<4xf16>
}

// Where exponents were multiplied, probabilities stay rounded to the nearest.

// CHECK-LABEL: func.func @multiplied
// CHECK:         %[[P:.+]] = arith.truncf %{{.+}} : vector<4xf32> to vector<4xf16>
// CHECK:         %[[P0:.+]] = vector.extract_strided_slice %[[P]] offsets = [0], sizes = [2]
// CHECK:         llvm.call_intrinsic "llvm.amdgcn.fdot2"(%[[P0]],
// CHECK-NOT:     vector.reduction
// PAIRS-LABEL: func.func @multiplied
// PAIRS:         llvm.call_intrinsic "llvm.amdgcn.fdot2"
func.func @multiplied(%s: vector<4xf32>) -> (f32, vector<4xf16>) {
  %two = arith.constant dense<2.0> : vector<4xf32>
  %t = arith.mulf %s, %two : vector<4xf32>
  %e = math.exp2 %t : vector<4xf32>
  %sum = vector.reduction <add>, %e : vector<4xf32> into f32
  %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
  return %sum, %p : f32, vector<4xf16>
}
