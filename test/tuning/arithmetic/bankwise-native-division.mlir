// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-native-division))' --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-native-division))' | FileCheck %s --check-prefix=AMD

// AMD-NOT: llvm.nvvm.div
// AMD-NOT: bankwise.rounded_quotient

// CHECK-LABEL: func.func @sigmoid
// CHECK-SAME:    (%[[X:.+]]: vector<2xf32>)
// CHECK:         %[[ONE:.+]] = arith.constant dense<1.0
// CHECK:         %[[E:.+]] = math.exp
// CHECK:         %[[D:.+]] = arith.addf %[[E]]
// CHECK-DAG:     %[[X0:.+]] = vector.extract %[[X]][0] : f32 from vector<2xf32>
// CHECK-DAG:     %[[X1:.+]] = vector.extract %[[X]][1] : f32 from vector<2xf32>
// CHECK-DAG:     %[[D0:.+]] = vector.extract %[[D]][0] : f32 from vector<2xf32>
// CHECK-DAG:     %[[D1:.+]] = vector.extract %[[D]][1] : f32 from vector<2xf32>
// CHECK:         %[[Q0:.+]] = llvm.call_intrinsic "llvm.nvvm.div.full"(%[[X0]], %[[D0]]) : (f32, f32) -> f32
// CHECK:         %[[Q1:.+]] = llvm.call_intrinsic "llvm.nvvm.div.full"(%[[X1]], %[[D1]]) : (f32, f32) -> f32
// CHECK:         %[[Q:.+]] = vector.from_elements %[[Q0]], %[[Q1]] : vector<2xf32>
// CHECK:         return %[[Q]]
// expected-remark @+1 {{2 quotients are computed by div.full.f32}}
func.func @sigmoid(%x: vector<2xf32>) -> vector<2xf32> {
  %one = arith.constant dense<1.0> : vector<2xf32>
  %n = arith.negf %x : vector<2xf32>
  %e = math.exp %n : vector<2xf32>
  %d = arith.addf %e, %one : vector<2xf32>
  %q = arith.divf %x, %d : vector<2xf32>
  return %q : vector<2xf32>
}

// Behind the pass that makes instructions of exponentials, too.

// CHECK-LABEL: func.func @behind_native_exp2
// CHECK:         llvm.call_intrinsic "llvm.nvvm.div.full.ftz"
// CHECK-NOT:     arith.divf
func.func @behind_native_exp2(%x: f32, %y: f32) -> f32 attributes {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">} {
  // expected-remark @-1 {{1 quotient is}}
  %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%x) : (f32) -> f32
  %d = arith.addf %e, %y : f32
  %q = arith.divf %y, %d : f32
  return %q : f32
}

// A quotient of bf16 is rounded once.

// CHECK-LABEL: func.func @narrow
// CHECK-SAME:    (%[[X:.+]]: bf16)
// CHECK:         %[[E:.+]] = math.exp2 %[[X]] : bf16
// CHECK-DAG:     %[[WX:.+]] = arith.extf %[[X]] : bf16 to f32
// CHECK-DAG:     %[[WE:.+]] = arith.extf %[[E]] : bf16 to f32
// CHECK:         %[[Q:.+]] = llvm.call_intrinsic "llvm.nvvm.div.full"(%[[WX]], %[[WE]]) : (f32, f32) -> f32
// CHECK:         arith.truncf %[[Q]] : f32 to bf16
// expected-remark @+1 {{1 quotient is}}
func.func @narrow(%x: bf16) -> bf16 {
  %e = math.exp2 %x : bf16
  %q = arith.divf %x, %e : bf16
  return %q : bf16
}

// IREE approximates the error function by a quotient of polynomials; another division of the same
// kernel stays as it is.

// CHECK-LABEL: func.func @error_function
// CHECK-NOT:     math.erf
// CHECK:         llvm.call_intrinsic "llvm.nvvm.div.full"
// CHECK-NOT:     bankwise.rounded_quotient
// CHECK:         arith.divf %{{.+}}, %{{.+}} : f32
// CHECK-NOT:     arith.divf
// expected-remark @+1 {{1 quotient is}}
func.func @error_function(%x: f32, %y: f32) -> f32 {
  %e = math.erf %x : f32
  %q = arith.divf %y, %x : f32
  %s = arith.addf %e, %q : f32
  return %s : f32
}

// Where the dividend alone is an exponential, the quotient by a number of the program is exact, as is
// one whose divisor comes from memory. There is no instruction for f64.

// CHECK-LABEL: func.func @exact
// CHECK-COUNT-3: arith.divf
// CHECK-NOT:     llvm.call_intrinsic
func.func @exact(%x: f32, %m: memref<4xf32>, %i: index, %z: f64) -> (f32, f32, f64) {
  %three = arith.constant 3.0 : f32
  %e = math.exp %x : f32
  %q = arith.divf %e, %three : f32
  %d = memref.load %m[%i] : memref<4xf32>
  %r = arith.divf %x, %d : f32
  %w = math.exp %z : f64
  %s = arith.divf %z, %w : f64
  return %q, %r, %s : f32, f32, f64
}
