// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-order-contractions))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// The second contraction has two steps for each of two tiles. The steps of both tiles come together, each
// behind its own exponential. The shuffle does not part them.

// CHECK-LABEL: func.func @attention
//       CHECK:   %[[S0:.+]] = nvgpu.mma.sync(%arg0, %arg1, %arg2)
//       CHECK:   %[[S1:.+]] = nvgpu.mma.sync(%arg0, %arg1, %[[S0]])
//       CHECK:   %[[E0:.+]] = math.exp2 %[[S0]]
//   CHECK-NOT:   math.exp2
//       CHECK:   %[[T0:.+]] = arith.truncf %[[E0]]
//       CHECK:   %[[P0:.+]] = vector.shape_cast
//       CHECK:   %[[O00:.+]] = nvgpu.mma.sync(%[[A0:.+]], %arg1, %arg2)
//       CHECK:   %[[O10:.+]] = nvgpu.mma.sync(%[[A0]], %arg3, %arg2)
//       CHECK:   math.exp2
//       CHECK:   %[[O01:.+]] = nvgpu.mma.sync(%[[A1:.+]], %arg1, %[[O00]])
//       CHECK:   %[[O11:.+]] = nvgpu.mma.sync(%[[A1]], %arg3, %[[O10]])
//       CHECK:   gpu.shuffle
//       CHECK:   return %[[O01]], %[[O11]]
func.func @attention(%q: vector<4x2xf16>, %v0: vector<2x2xf16>, %c: vector<2x2xf32>, %v1: vector<2x2xf16>, %x: f32) -> (vector<2x2xf32>, vector<2x2xf32>, f32) {
  // expected-remark @+1 {{6 products come in the order of their operands}}
  %s0 = nvgpu.mma.sync(%q, %v0, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %s1 = nvgpu.mma.sync(%q, %v0, %s0) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %one = arith.constant 1 : i32
  %width = arith.constant 32 : i32
  %m, %ok = gpu.shuffle xor %x, %one, %width : f32
  %e0 = math.exp2 %s0 : vector<2x2xf32>
  %e1 = math.exp2 %s1 : vector<2x2xf32>
  %t0 = arith.truncf %e0 : vector<2x2xf32> to vector<2x2xf16>
  %t1 = arith.truncf %e1 : vector<2x2xf32> to vector<2x2xf16>
  %f0 = vector.shape_cast %t0 : vector<2x2xf16> to vector<4xf16>
  %f1 = vector.shape_cast %t1 : vector<2x2xf16> to vector<4xf16>
  %h0:4 = vector.to_elements %f0 : vector<4xf16>
  %h1:4 = vector.to_elements %f1 : vector<4xf16>
  %a0 = vector.from_elements %h0#0, %h0#1, %h0#2, %h0#3, %h0#0, %h0#1, %h0#2, %h0#3 : vector<4x2xf16>
  %a1 = vector.from_elements %h1#0, %h1#1, %h1#2, %h1#3, %h1#0, %h1#1, %h1#2, %h1#3 : vector<4x2xf16>
  %o00 = nvgpu.mma.sync(%a0, %v0, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %o01 = nvgpu.mma.sync(%a1, %v0, %o00) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %o10 = nvgpu.mma.sync(%a0, %v1, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %o11 = nvgpu.mma.sync(%a1, %v1, %o10) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %o01, %o11, %m : vector<2x2xf32>, vector<2x2xf32>, f32
}

// A barrier may not be passed: the exponentials before it stay there, and so do all contractions.

// CHECK-LABEL: func.func @barrier
//       CHECK:   nvgpu.mma.sync(%arg0, %arg1, %arg2)
//       CHECK:   math.exp2
//       CHECK:   gpu.barrier
//       CHECK:   nvgpu.mma.sync(%arg0, %arg1, %{{.+}})
func.func @barrier(%q: vector<4x2xf16>, %v: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %s = nvgpu.mma.sync(%q, %v, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %e = math.exp2 %s : vector<2x2xf32>
  gpu.barrier
  %o = nvgpu.mma.sync(%q, %v, %e) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %o : vector<2x2xf32>
}

// Products of which none uses another one keep their order.

// CHECK-LABEL: func.func @matmul
//       CHECK:   %[[A:.+]] = nvgpu.mma.sync(%arg0, %arg1, %arg2)
//       CHECK:   %[[B:.+]] = nvgpu.mma.sync(%arg0, %arg1, %[[A]])
//       CHECK:   %[[C:.+]] = nvgpu.mma.sync(%arg0, %arg1, %arg2)
func.func @matmul(%q: vector<4x2xf16>, %v: vector<2x2xf16>, %c: vector<2x2xf32>) -> (vector<2x2xf32>, vector<2x2xf32>) {
  %a = nvgpu.mma.sync(%q, %v, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %b = nvgpu.mma.sync(%q, %v, %a) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %d = nvgpu.mma.sync(%q, %v, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %b, %d : vector<2x2xf32>, vector<2x2xf32>
}
