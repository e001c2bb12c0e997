// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-native-bf16))' --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-native-bf16))' | FileCheck %s --check-prefix=OTHER
// RUN: bankwise-opt %s --iree-gpu-test-target=sm_90 --pass-pipeline='builtin.module(func.func(bankwise-native-bf16{same-nans=true}))' | FileCheck %s --check-prefix=SAME

// OTHER-NOT: llvm.fptrunc

// CHECK-LABEL: func.func @pair
// CHECK-SAME:    (%[[X:.+]]: vector<2xf32>)
// CHECK-NEXT:    %[[B:.+]] = llvm.fptrunc %[[X]] : vector<2xf32> to vector<2xbf16>
// CHECK-NEXT:    return %[[B]]

// 0x7FFF becomes IREE's NaN, which is 0x7FC0; no other result is more as a signed integer.

// SAME-LABEL: func.func @pair
// SAME:         %[[B:.+]] = llvm.fptrunc %{{.+}} : vector<2xf32> to vector<2xbf16>
// SAME:         %[[BITS:.+]] = arith.bitcast %[[B]] : vector<2xbf16> to vector<2xi16>
// SAME:         %[[NAN:.+]] = arith.constant dense<32704> : vector<2xi16>
// SAME:         %[[LEAST:.+]] = arith.minsi %[[BITS]], %[[NAN]] : vector<2xi16>
// SAME:         %[[R:.+]] = arith.bitcast %[[LEAST]] : vector<2xi16> to vector<2xbf16>
// SAME-NEXT:    return %[[R]]
// expected-remark @+1 {{2 numbers are rounded by cvt.rn.bf16x2.f32}}
func.func @pair(%x: vector<2xf32>) -> vector<2xbf16> {
  %0 = arith.truncf %x : vector<2xf32> to vector<2xbf16>
  return %0 : vector<2xbf16>
}

// CHECK-LABEL: func.func @scalar
// CHECK:         llvm.fptrunc %{{.+}} : f32 to bf16
// SAME-LABEL: func.func @scalar
// SAME:         arith.minsi %{{.+}}, %{{.+}} : i16
// expected-remark @+1 {{1 number is rounded}}
func.func @scalar(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}

// LLVM has vectors of one dimension only.

// CHECK-LABEL: func.func @ranks
// CHECK-SAME:    (%[[X:.+]]: vector<2x1x3xf32>, %[[Y:.+]]: vector<f32>)
// CHECK-NEXT:    %[[FLAT:.+]] = vector.shape_cast %[[X]] : vector<2x1x3xf32> to vector<6xf32>
// CHECK-NEXT:    %[[B:.+]] = llvm.fptrunc %[[FLAT]] : vector<6xf32> to vector<6xbf16>
// CHECK-NEXT:    %[[R:.+]] = vector.shape_cast %[[B]] : vector<6xbf16> to vector<2x1x3xbf16>
// CHECK-NEXT:    %[[ONE:.+]] = vector.shape_cast %[[Y]] : vector<f32> to vector<1xf32>
// CHECK-NEXT:    llvm.fptrunc %[[ONE]] : vector<1xf32> to vector<1xbf16>
// expected-remark @+1 {{7 numbers are rounded}}
func.func @ranks(%x: vector<2x1x3xf32>, %y: vector<f32>) -> (vector<2x1x3xbf16>, vector<bf16>) {
  %0 = arith.truncf %x : vector<2x1x3xf32> to vector<2x1x3xbf16>
  %1 = arith.truncf %y : vector<f32> to vector<bf16>
  return %0, %1 : vector<2x1x3xbf16>, vector<bf16>
}

// Other types and other roundings stay.

// CHECK-LABEL: func.func @kept
// CHECK-NOT:     llvm.fptrunc
// CHECK:         return
func.func @kept(%a: vector<2xf64>, %b: vector<2xf32>, %c: vector<[2]xf32>, %d: tensor<2xf32>) -> (vector<2xbf16>, vector<2xf16>, vector<2xbf16>, vector<[2]xbf16>, tensor<2xbf16>) {
  %0 = arith.truncf %a : vector<2xf64> to vector<2xbf16>
  %1 = arith.truncf %b : vector<2xf32> to vector<2xf16>
  %2 = arith.truncf %b to_nearest_away : vector<2xf32> to vector<2xbf16>
  %3 = arith.truncf %c : vector<[2]xf32> to vector<[2]xbf16>
  %4 = arith.truncf %d : tensor<2xf32> to tensor<2xbf16>
  return %0, %1, %2, %3, %4 : vector<2xbf16>, vector<2xf16>, vector<2xbf16>, vector<[2]xbf16>, tensor<2xbf16>
}
