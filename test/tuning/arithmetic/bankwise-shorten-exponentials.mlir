// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-shorten-exponentials))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --split-input-file --verify-diagnostics --bankwise-remarks | FileCheck %s

// The maximum of a lane's own elements, of other lanes and of what was before is taken away, so that
// no operand is positive. One clamp is left of four, and a sum that is rounded down makes the floor.

// CHECK-LABEL: func.func @maximum
//       CHECK:   %[[X:.+]] = arith.subf
//   CHECK-NOT:   math.exp2
//       CHECK:   %[[Y:.+]] = arith.mulf %[[X]], %{{.+}} : vector<2xf32>
//       CHECK:   arith.cmpf olt, %[[Y]]
//  CHECK-NEXT:   arith.select
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.fma.rm.f"
//   CHECK-NOT:   arith.select
//       CHECK:   arith.shli
//       CHECK:   return
// expected-remark @+1 {{2 exponentials are shortened: no operand is positive}}
func.func @maximum(%s: vector<2x2xf32>, %before: vector<1xf32>) -> vector<2xf32> {
  %least = arith.constant 0xFF800000 : f32
  %one = arith.constant 1 : i32
  %lanes = arith.constant 32 : i32
  %a = vector.extract %s[0] : vector<2xf32> from vector<2x2xf32>
  %b = vector.extract %s[1] : vector<2xf32> from vector<2x2xf32>
  %ab = arith.maximumf %a, %b : vector<2xf32>
  %own = vector.reduction <maximumf>, %ab, %least : vector<2xf32> into f32
  %others, %valid = gpu.shuffle xor %own, %one, %lanes : f32
  %all = arith.maximumf %own, %others : f32
  %v = vector.broadcast %all : f32 to vector<1xf32>
  %m = arith.maximumf %v, %before : vector<1xf32>
  %e = vector.extract %m[0] : f32 from vector<1xf32>
  %max = vector.broadcast %e : f32 to vector<2xf32>
  %x = arith.subf %a, %max : vector<2xf32>
  %r = math.exp2 %x : vector<2xf32>
  return %r : vector<2xf32>
}

// -----

// CHECK-LABEL: func.func @what_may_be_positive
//       CHECK:   math.exp2
func.func @what_may_be_positive(%s: vector<2x2xf32>, %before: vector<1xf32>) -> vector<2xf32> {
  %least = arith.constant 0xFF800000 : f32
  %one = arith.constant 1 : i32
  %lanes = arith.constant 32 : i32
  %a = vector.extract %s[0] : vector<2xf32> from vector<2x2xf32>
  %b = vector.extract %s[1] : vector<2xf32> from vector<2x2xf32>
  %ab = arith.maximumf %a, %b : vector<2xf32>
  %own = vector.reduction <maximumf>, %ab, %least : vector<2xf32> into f32
  %others, %valid = gpu.shuffle xor %own, %one, %lanes : f32
  %all = arith.maximumf %own, %others : f32
  %v = vector.broadcast %all : f32 to vector<1xf32>
  %m = arith.maximumf %v, %before : vector<1xf32>
  %e = vector.extract %m[0] : f32 from vector<1xf32>
  %max = vector.broadcast %e : f32 to vector<2xf32>
  %x = arith.subf %max, %a : vector<2xf32>
  %r = math.exp2 %x : vector<2xf32>
  return %r : vector<2xf32>
}
